"""Requests over HTTP by a stranger: ids that were guessed or cut, texts that deceive, and what is stored."""

from __future__ import annotations

import json

import pytest

from tests.attack.delegated.scene import AGE, Scene
from tests.attack.stranger import PREFIX

SHOP = "https://shop.example"


def send_question(scene: Scene, **more: object) -> tuple[int, dict[str, str]]:
    body = {"domain": SHOP, "predicates": [AGE]} | more
    answer = scene.target.wire.call("POST", f"{PREFIX}/verifier-requests", body, scene.by(scene.agent))
    return answer.status, answer.json


@pytest.mark.parametrize(
    "name", ["", "A", "%00", "..%2f..%2fhealth", "'%20OR%201=1--", "x" * 128, "\u202e".encode().hex()]
)
def test_made_up_id_reads_no_request(scene: Scene, name: str) -> None:
    assert send_question(scene)[0] == 201
    for method, path, body in (
        ("GET", f"/verifier-requests/{name}", None),
        ("POST", f"/verifier-requests/{name}/proof", b'{"proof": "AAAA"}'),
        ("GET", f"/consents/{name}", None),
    ):
        answer = scene.target.wire.call(method, PREFIX + path, body, {})
        assert answer.status in (400, 401, 404, 405), (path, answer.body)


def test_stranger_finds_neither_reference_nor_result(scene: Scene) -> None:
    status, made = send_question(scene, reference="order 4711")
    assert (status, made["reference"]) == (201, "order 4711")
    path = f"{PREFIX}/verifier-requests/{made['id']}"
    for headers in ({}, scene.by(scene.holder)):
        read = scene.target.wire.call("GET", path, None, headers)
        assert (read.status, read.json["reference"], read.json["result"]) == (200, None, None)
    assert scene.target.wire.call("DELETE", path, None, {}).status == 401
    assert scene.target.wire.call("DELETE", path, None, scene.by(scene.holder)).status == 404


@pytest.mark.parametrize("proof", ["AAAA", "....", "\u0000", "e30"])
def test_text_that_is_no_proof_leaves_the_request_open(scene: Scene, proof: str) -> None:
    _, made = send_question(scene)
    path = f"{PREFIX}/verifier-requests/{made['id']}"
    answer = scene.target.wire.call("POST", f"{path}/proof", json.dumps({"proof": proof}).encode(), {})
    assert answer.status == 200, answer.body
    assert answer.json["verdict"] == "invalid"
    assert scene.target.wire.call("GET", path, None, {}).json["status"] == "waiting"


@pytest.mark.parametrize("member", ["challenge", "domain", "predicates", "issuerDid", "requires"])
def test_question_cannot_be_replaced_by_the_one_who_answers(scene: Scene, member: str) -> None:
    _, made = send_question(scene)
    body = json.dumps({"proof": "AAAA", member: made.get(member) or []}).encode()
    answer = scene.target.wire.call("POST", f"{PREFIX}/verifier-requests/{made['id']}/proof", body, {})
    assert answer.outcome == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("text", ["\u202ereversed", "two\nlines", "\u2066isolate"])
@pytest.mark.parametrize("member", ["purpose", "reference"])
def test_text_that_deceives_is_refused(scene: Scene, member: str, text: str) -> None:
    status, answer = send_question(scene, **{member: text})
    assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")  # type: ignore[index]


def test_page_of_a_request_shows_markup_as_text(scene: Scene) -> None:
    _, made = send_question(scene, purpose='"><script>alert(1)</script>', reference="<b>mine</b>")
    answer = scene.target.wire.call("GET", f"/ui/request/{made['id']}", None, {})
    assert answer.status == 200
    shown = answer.body.decode()
    assert "<script>alert" not in shown
    assert "mine" not in shown
    own = {"Content-Type": "application/x-www-form-urlencoded"}
    foreign = scene.target.wire.call(
        "POST", f"/ui/request/{made['id']}", b"proof=x", own | {"Sec-Fetch-Site": "cross-site"}
    )
    assert foreign.status == 403


def test_rows_show_neither_question_nor_reference(scene: Scene) -> None:
    assert send_question(scene, purpose="To sell wine", reference="order 4711")[0] == 201
    stored = b"".join(path.read_bytes() for path in scene.target.data_dir.glob("identity.sqlite*"))
    assert b"consents_requests" in stored
    for text in (b"To sell wine", b"order 4711"):
        assert text not in stored
