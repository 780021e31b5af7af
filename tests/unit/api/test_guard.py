import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from identity_core.api.guard import Guard, request_ids
from identity_core.api.request import Answer, Parts, Request
from identity_core.errors import Overloaded
from identity_core.ports.did_method import CLIENT
from tests.toy_document import KEY, ToyGate, ToyHandlers, ask, build_toy, call

HEALTH = "/api/v1/health"
SECRET = "z3u2en7t5LR2WtQH5PfFqMqwVHgeXouLzo6haApm8XHqvjxq"


@pytest.mark.parametrize("given", ["a", "A-b_c.9", "x" * 64])
def test_a_good_request_id_is_kept(given: str) -> None:
    assert ask(build_toy(), headers=[("x-request-id", given)]).headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "a\tb", "ä".encode(), b"\xff", "a,b", "{id}"])
def test_a_bad_request_id_is_replaced(given: str | bytes) -> None:
    reply = ask(build_toy(), headers=[("x-request-id", given)])
    assert reply.headers["x-request-id"].startswith("toy-")


def test_two_request_ids_are_none() -> None:
    reply = ask(build_toy(), headers=[("x-request-id", "a"), ("x-request-id", "b")])
    assert reply.headers["x-request-id"].startswith("toy-")


def test_request_ids_differ() -> None:
    identify = request_ids("p")
    assert [identify() for _ in range(3)] == ["p-1", "p-2", "p-3"]


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ([("x-padding", "x" * 32_768)], 431, "HEADERS_TOO_LARGE"),
        ([(f"x-{number}", "") for number in range(100)], 431, "HEADERS_TOO_LARGE"),
        ([("host", "elsewhere")], 400, "INVALID_REQUEST"),
        # The client of these tests sends one of its own.
        ([("host", "toy")], 400, "INVALID_REQUEST"),
        ([("content-type", "application/json"), ("content-type", "text/plain")], 400, "INVALID_REQUEST"),
        ([("idempotency-key", "a"), ("idempotency-key", "b")], 400, "INVALID_REQUEST"),
        ([("authorization", "ApiKey ä".encode())], 400, "INVALID_REQUEST"),
        ([("x-api-key", b"\xff")], 400, "INVALID_REQUEST"),
        ([("content-length", "-1")], 400, "INVALID_REQUEST"),
        ([("content-length", "1_0")], 400, "INVALID_REQUEST"),
        ([("content-length", "9" * 5000)], 400, "INVALID_REQUEST"),
    ],
)
def test_header_rules(headers: list[tuple[str, str | bytes]], status: int, code: str) -> None:
    reply = ask(build_toy(), headers=headers)
    assert (reply.status, reply.error["code"]) == (status, code)


@pytest.mark.parametrize(
    "headers",
    [
        [("content-type", "text/html"), ("content-type", "text/html")],
        [("content-encoding", "gzip")],
        [("user-agent", b"\xe4\xf6"), ("cookie", b"\xff")],
        [("x-api-key", "one"), ("x-api-key", "two")],
    ],
)
def test_harmless_headers_pass(headers: list[tuple[str, str | bytes]]) -> None:
    assert ask(build_toy(), headers=headers).status == 200


@pytest.mark.parametrize("host", [None, ""])
def test_a_host_is_needed(host: str | None) -> None:
    assert ask(build_toy(), host=host).error["details"]["header"] == "host"


def test_http_0_9_is_refused() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("there is nothing to receive")

    scope = {"type": "http", "http_version": "0.9", "method": "GET", "raw_path": b"/health", "query_string": b""}
    asyncio.run(build_toy()({**scope, "headers": [(b"host", b"h")]}, receive, send))
    assert sent[0]["status"] == 400


@pytest.mark.parametrize("between", ["", "?"])
def test_a_target_has_at_most_8192_octets(between: str) -> None:
    """Path and query together, with the question mark."""
    start = f"/api/v1/nowhere{between}"
    longest = start + "x" * (8192 - len(start))
    assert ask(build_toy(), target=longest).status == 404
    refused = ask(build_toy(), target=longest + "x")
    assert (refused.status, refused.error["code"]) == (400, "INVALID_REQUEST")
    assert refused.error["details"]["maxBytes"] == 8192


def test_repeated_headers_reach_the_gate_one_by_one() -> None:
    handlers = ToyHandlers()
    ask(build_toy(handlers), target="/api/v1/dids/did:toy:a", headers=[("x-api-key", "1"), ("x-api-key", "2")])
    (request,) = handlers.calls
    assert request.all_headers("x-api-key") == ["1", "2"]
    assert request.header("x-api-key") == "1, 2"
    assert request.all_headers("host") == ("toy",)
    assert request.all_headers("accept") == ()
    assert request.client_address == "192.0.2.7"


def test_an_exception_becomes_500_and_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        reply = ask(build_toy(), target="/api/v1/dids/did:toy:crash")
    assert (reply.status, reply.error["code"]) == (500, "INTERNAL_ERROR")
    assert SECRET not in reply.body.decode()
    (record,) = [record for record in caplog.records if record.name == "identity.api"]
    assert record.fields["requestId"] == reply.headers["x-request-id"]  # type: ignore[attr-defined]
    assert "ValueError" in record.getMessage()
    assert "toy_document.py" in record.getMessage()
    assert SECRET not in caplog.text


def test_overload_is_one_short_log_line(caplog: pytest.LogCaptureFixture) -> None:
    """Any client can cause one, so its line must not be long."""

    class Full(ToyHandlers):
        async def get_health(self, request: Request) -> Answer:
            raise Overloaded

    assert ask(build_toy(Full()), target=HEALTH).status == 503
    (record,) = [record for record in caplog.records if record.name == "identity.api"]
    assert "OVERLOADED" in record.getMessage()
    assert len(record.getMessage()) < 200


def test_causes_are_told_without_their_secrets(caplog: pytest.LogCaptureFixture) -> None:
    class Chained(ToyHandlers):
        async def get_health(self, request: Request) -> Answer:
            try:
                raise KeyError(SECRET)
            except KeyError as error:
                raise RuntimeError(f"line one\nINFO forged {SECRET}") from error

    ask(build_toy(Chained()), target=HEALTH)
    assert "KeyError" in caplog.text
    assert "RuntimeError" in caplog.text
    assert SECRET not in caplog.text
    assert "\nINFO forged" not in caplog.text


def test_refusal_with_500_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    from identity_core.errors import LedgerUnavailable

    class Broken(ToyHandlers):
        async def get_health(self, request: Request) -> Answer:
            raise LedgerUnavailable from OSError("disk full")

    assert ask(build_toy(Broken()), target=HEALTH).error["code"] == "BLOCKCHAIN_ERROR"
    assert "disk full" in caplog.text
    caplog.clear()
    ask(build_toy(), target="/nowhere")
    assert caplog.text == ""


def test_missing_extension_is_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    from identity_core.errors import AnchoringDisabled

    class Plain(ToyHandlers):
        async def get_health(self, request: Request) -> Answer:
            raise AnchoringDisabled

    assert ask(build_toy(Plain()), target=HEALTH).status == 501
    assert caplog.text == ""


def test_overload_is_answered_but_health_goes_on() -> None:
    async def scenario() -> None:
        gates = asyncio.Event()

        class Slow(ToyHandlers):
            async def resolve_did(self, request: Request) -> Answer:
                await gates.wait()
                return Answer(200, {})

        app = build_toy(Slow(), limit=2)
        busy = [asyncio.create_task(call(app, target="/api/v1/dids/did:toy:a")) for _ in range(2)]
        await asyncio.sleep(0)
        refused = await call(app, target="/api/v1/dids/did:toy:b")
        assert (refused.status, refused.error["code"], refused.headers["retry-after"]) == (503, "OVERLOADED", "1")
        assert (await call(app, target=HEALTH)).status == 200
        assert (await call(app, target="/health")).status == 200
        gates.set()
        assert [reply.status for reply in await asyncio.gather(*busy)] == [200, 200]
        assert (await call(app, target="/api/v1/dids/did:toy:b")).status == 200

    asyncio.run(scenario())


def test_slow_clients_do_not_count_as_load() -> None:
    async def scenario() -> None:
        app = build_toy(limit=1)
        arriving = asyncio.Event()

        async def receive() -> Any:
            await arriving.wait()
            return {"type": "http.request", "body": b'{"method":"toy"}', "more_body": False}

        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "raw_path": b"/api/v1/dids",
            "query_string": b"",
            "headers": [(b"host", b"h"), (b"content-type", b"application/json"), (b"x-api-key", KEY.encode())],
        }
        slow = [asyncio.create_task(app(dict(scope), receive, send)) for _ in range(5)]
        await asyncio.sleep(0)
        assert (await call(app, target="/api/v1/dids/did:toy:a")).status == 200
        arriving.set()
        await asyncio.gather(*slow)
        assert [message["status"] for message in sent if "status" in message] == [200] * 5
        assert app._in_progress == 0

    asyncio.run(scenario())


async def gone_after(app: Guard, messages: list[dict[str, Any]]) -> list[Any]:
    sent: list[Any] = []
    incoming = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(incoming, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "raw_path": b"/api/v1/dids",
        "query_string": b"",
        "headers": [(b"host", b"h"), (b"content-type", b"application/json"), (b"content-length", b"9")],
        "client": None,
    }
    await app(scope, receive, send)
    return sent


def test_a_client_that_goes_away_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    observed: list[tuple[str, int]] = []
    app = build_toy(observed=observed)
    half = {"type": "http.request", "body": b"{", "more_body": True}
    for messages in ([], [half], [half, half]):
        assert asyncio.run(gone_after(app, messages)) == []
    assert observed == []
    assert caplog.text == ""


def test_a_connection_that_breaks_under_the_answer_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    async def send(message: Any) -> None:
        raise OSError("gone")

    async def receive() -> Any:
        raise AssertionError("there is nothing to receive")

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "raw_path": b"/health",
        "query_string": b"",
        "headers": [(b"host", b"h")],
    }
    asyncio.run(build_toy()(scope, receive, send))
    assert caplog.text == ""


def test_a_disk_error_of_a_handler_is_one() -> None:
    class Broken(ToyHandlers):
        async def get_health(self, request: Request) -> Answer:
            raise OSError("disk")

    assert ask(build_toy(Broken()), target=HEALTH).status == 500


def test_a_websocket_is_closed() -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(build_toy()({"type": "websocket"}, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_every_answer_is_observed_once() -> None:
    observed: list[tuple[str, int]] = []
    app = build_toy(observed=observed)
    ask(app, target=HEALTH)
    ask(app, target="/nowhere")
    ask(app, "POST", "/api/v1/dids", headers=[("content-type", "application/json"), ("x-api-key", KEY)], body=b"[]")
    ask(app, host=None)
    assert observed == [("getHealth", 200), ("", 404), ("createDid", 400), ("", 400)]


def test_a_plugin_knows_the_address_of_the_client() -> None:
    """Its shares for one client are counted by it (``plugins/did_web``)."""
    found: list[str] = []

    class Noting(ToyHandlers):
        async def get_health(self, request: Request) -> Answer:
            found.append(CLIENT.get())
            return Answer(200)

    ask(build_toy(Noting()), target=HEALTH)
    assert (found, CLIENT.get()) == (["192.0.2.7"], "")


def test_cancelling_is_not_swallowed() -> None:
    class Slow(ToyHandlers):
        async def get_health(self, request: Request) -> Answer:
            await asyncio.sleep(60)
            return Answer(200)

    async def scenario() -> None:
        task = asyncio.create_task(call(build_toy(Slow())))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())


@pytest.mark.parametrize("coding", ["gzip, chunked", "chunked, chunked", "identity", "", "gzip"])
def test_a_body_is_chunked_or_has_a_length(coding: str) -> None:
    reply = ask(build_toy(), target=HEALTH, headers=[("transfer-encoding", coding)])
    assert (reply.status, reply.error["code"]) == (400, "INVALID_REQUEST")
    assert reply.error["details"]["header"] == "transfer-encoding"


PAID_BY_THE_ADDRESS: list[tuple[str, str, list[tuple[str, str | bytes]], int]] = [
    ("GET", "/nowhere", [], 404),
    ("PUT", HEALTH, [], 405),
    ("OPTIONS", HEALTH, [], 204),
    ("GET", "/openapi.json", [], 200),
    ("GET", HEALTH, [("content-length", "x")], 400),
    ("POST", "/api/v1/dids", [("content-type", "text/plain"), ("x-api-key", KEY)], 415),
]


@pytest.mark.parametrize(("method", "target", "headers", "status"), PAID_BY_THE_ADDRESS)
def test_unknown_path_is_charged_to_the_address(
    method: str, target: str, headers: list[tuple[str, str | bytes]], status: int
) -> None:
    gate = ToyGate()
    app = build_toy(gate=gate)
    answered = ask(app, method, target, headers=headers)
    assert answered.status == status
    assert answered.headers["ratelimit"] == '"address";r=1;t=1'
    gate.is_address_empty = True
    refused = ask(app, method, target, headers=headers)
    assert (refused.status, refused.error["code"], refused.headers["retry-after"]) == (429, "RATE_LIMITED", "2")


def test_an_overloaded_server_is_free() -> None:
    gate = ToyGate()
    gate.is_address_empty = True
    assert ask(build_toy(gate=gate, limit=0), target="/api/v1/dids/did:toy:a").status == 503


def refused_scope(**more: Any) -> dict[str, Any]:
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "raw_path": b"/api/v1/dids",
        "query_string": b"",
        "headers": [(b"host", b"h"), (b"content-type", b"application/json"), (b"content-length", b"9")],
        "client": ("192.0.2.1", 1),
        **more,
    }


def test_no_parts_are_made_for_a_client_that_has_gone() -> None:
    made: list[int] = []

    async def parts() -> AsyncIterator[bytes]:
        for number in range(1000):
            made.append(number)
            yield b"x"

    class Long(ToyHandlers):
        async def get_health(self, request: Request) -> Answer:
            return Answer(200, Parts(1000, parts()))

    async def send(message: Any) -> None:
        await asyncio.sleep(0)

    async def receive() -> Any:
        if not made:
            return {"type": "http.request", "body": b"", "more_body": False}
        while len(made) < 10:
            await asyncio.sleep(0)
        return {"type": "http.disconnect"}

    scope = refused_scope(method="GET", raw_path=HEALTH.encode(), headers=[(b"host", b"h")])
    app = build_toy(Long())
    asyncio.run(app(scope, receive, send))
    assert 10 <= len(made) < 20
    assert app._in_progress == 0


def test_slow_readers_do_not_count_as_load() -> None:
    async def scenario() -> None:
        app, reading = build_toy(limit=1), asyncio.Event()

        async def send(message: Any) -> None:
            await reading.wait()

        async def receive() -> Any:
            raise AssertionError("there is nothing to receive")

        scope = refused_scope(method="GET", raw_path=HEALTH.encode(), headers=[(b"host", b"h")])
        slow = [asyncio.create_task(app(dict(scope), receive, send)) for _ in range(5)]
        await asyncio.sleep(0)
        assert (await call(app, target="/api/v1/dids/did:toy:a")).status == 200
        reading.set()
        await asyncio.gather(*slow)
        assert app._in_progress == 0

    asyncio.run(scenario())
