from typing import Any

import pytest

from tests.toy_document import KEY, Reply, ToyHandlers, ask, build_toy

GOOD = b'{"method":"toy"}'
JSON = ("content-type", "application/json")


def create(body: bytes | list[bytes], *headers: tuple[str, str], **options: Any) -> Reply:
    return ask(
        build_toy(**options), "POST", "/api/v1/dids", headers=[("x-api-key", KEY), *(headers or (JSON,))], body=body
    )


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json; foo=bar",
    ],
)
def test_json_in_utf_8_is_read(content_type: str) -> None:
    assert create(GOOD, ("content-type", content_type)).json["body"] == {"method": "toy"}


@pytest.mark.parametrize(("coding", "status"), [("identity", 200), ("gzip", 415), ("br", 415), ("", 415)])
def test_compressed_bodies_are_refused(coding: str, status: int) -> None:
    assert create(GOOD, JSON, ("content-encoding", coding)).status == status


def test_chunks_are_joined() -> None:
    assert create([b'{"me', b'thod":', b'"toy"}', b""]).json["body"] == {"method": "toy"}


def test_a_body_at_the_cap_is_read_and_one_past_it_is_not() -> None:
    room = 256 * 1024 - len(b'{"method":"toy","note":""}')
    assert create(b'{"method":"toy","note":"%s"}' % (b"x" * room)).status == 200
    one_more = b'{"method":"toy","note":"%s"}' % (b"x" * (room + 1))
    for body in (one_more, [b"x" * 100_000] * 3, [b"x" * 300_000], [b"x" * 300_000, b""]):
        reply = create(body)
        assert (reply.status, reply.error["code"]) == (413, "PAYLOAD_TOO_LARGE")
        assert reply.error["details"]["maxBytes"] == 256 * 1024


def test_caps_and_media_types_come_before_authentication() -> None:
    app = build_toy()
    assert ask(app, "POST", "/api/v1/dids", headers=[JSON], body=b"x" * 300_000).status == 413
    assert ask(app, "POST", "/api/v1/dids", headers=[("content-type", "text/plain")], body=GOOD).status == 415
    assert ask(app, "POST", "/api/v1/dids", headers=[JSON], body=b"nonsense").status == 401


def test_an_operation_may_have_its_own_cap() -> None:
    reply = ask(build_toy(), "DELETE", "/api/v1/dids/did:toy:a", headers=[JSON], body=b"x" * 1025)
    assert reply.error["details"]["maxBytes"] == 1024


def test_a_needed_body_is_missed() -> None:
    assert create(b"").error["message"] == "The operation needs a body."


def test_a_body_that_may_be_missing_is_none() -> None:
    handlers = ToyHandlers()
    reply = ask(build_toy(handlers), "DELETE", "/api/v1/dids/did:toy:a", headers=[("authorization", f"DIDAuth {KEY}")])
    assert reply.json["body"] is None


def test_an_operation_without_a_body_takes_none() -> None:
    assert ask(build_toy(), body=b"x").error["message"] == "The operation takes no body."
    assert ask(build_toy(), body=[b"x"]).status == 400
    assert ask(build_toy(), headers=[("content-length", "0")]).status == 200
