"""Answers that are given before a request goes through the layers: the same as theirs, and none where a layer has something to say."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from identity_core.api.cross_origin import Origins
from identity_core.api.guard import Guard
from identity_core.api.quick import Reads
from identity_core.api.request import Answer, Headers, Operation, Request
from identity_core.domain.callers import Caller
from identity_core.errors import (
    AuthAmbiguous,
    AuthFailed,
    AuthRequired,
    DidDeactivated,
    DidNotFound,
    IdentityError,
    InvalidRequest,
    PluginUnavailable,
    RateLimited,
)
from tests.toy import DID, KEY, ToyGate, ToyHandlers, ask, build_toy

TARGET = f"/api/v1/dids/{DID}"
HEADERS = [("ETag", '"1"'), ("Vary", "Accept")]
ANSWERS = [Answer(200, b'{"a":1}', "application/did", HEADERS), Answer(304, b"", "application/did", HEADERS)]


class Paying(ToyGate):
    """Has every stranger pay, or none, or refuses all."""

    def __init__(self, *, pays: bool = True, is_empty: bool = False) -> None:
        super().__init__()
        self.pays = pays
        self.is_empty = is_empty
        self.paid = 0

    async def admit(self, operation: Operation, request: Request) -> tuple[Caller | None, Headers]:
        admitted = await super().admit(operation, request)
        if self.is_empty:
            request.paid = True
            raise RateLimited(details={"retryAfter": 2})
        return admitted

    def pays_at_once(self, operation: Any, request: Request) -> bool:
        self.paid += self.pays
        request.answer_headers = [("RateLimit", '"key";r=1;t=1')]
        if self.is_empty:
            request.paid = True
            raise RateLimited(details={"retryAfter": 2})
        return self.pays


class Resolving(ToyHandlers):
    """Resolves to ``answer``."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer

    async def resolve_did(self, request: Request) -> Answer:
        self.calls.append(request)
        return self.answer

    def at_once(self, request: Request, pays: Callable[[], bool]) -> Answer | None:
        assert request.path == {"did": DID}
        return self.answer if pays() else None


def made(
    answer: Answer = ANSWERS[0], gate: ToyGate | None = None, **options: Any
) -> tuple[Guard, Resolving, list[tuple[str, int]]]:
    handlers, seen = Resolving(answer), list[tuple[str, int]]()
    at_once = {"resolveDid": handlers.at_once}
    return build_toy(handlers, observed=seen, gate=gate or Paying(), at_once=at_once, **options), handlers, seen


def scope(
    target: str = TARGET, *fields: tuple[bytes, bytes], method: str = "GET", host: bytes = b"toy", query: bytes = b""
) -> dict[str, Any]:
    return {
        "type": "http",
        "method": method,
        "http_version": "1.1",
        "raw_path": target.encode(),
        "query_string": query,
        "headers": [(b"host", host), *fields],
        "client": ("192.0.2.7", 4711),
    }


@pytest.mark.parametrize("answer", ANSWERS, ids=["200", "304"])
@pytest.mark.parametrize("origins", [(), ("*",), ("https://a.example",)], ids=["none", "all", "one"])
@pytest.mark.parametrize("fields", [[], [("x-request-id", "mine")], [("origin", "https://a.example")]])
def test_it_is_the_answer_of_all_the_layers(
    answer: Answer, origins: tuple[str, ...], fields: list[tuple[str, str]]
) -> None:
    app, handlers, seen = made(answer, origins=Origins(origins))
    at_once = app.at_once(scope(TARGET, *((name.encode(), value.encode()) for name, value in fields)))
    assert at_once is not None
    assert handlers.calls == []
    fresh, _, slowly_seen = made(answer, origins=Origins(origins))
    slowly = ask(fresh, "GET", TARGET, headers=fields)
    status, lines, count, body = at_once
    assert (status, body) == (slowly.status, slowly.body)
    assert sorted(lines.splitlines()) == sorted(b"%b: %b" % each for each in slowly.raw_headers)
    assert count == len(slowly.raw_headers)
    assert seen == slowly_seen == [("resolveDid", answer.status)]


@pytest.mark.parametrize(
    "asked",
    [
        scope(method="HEAD"),
        scope(method="DELETE"),
        scope(method="OPTIONS"),
        scope(query=b"versionId=1"),
        scope("/api/v1/dids"),
        scope("/api/v1/health"),
        scope("/nowhere"),
        scope("/api/v1/dids/%ff"),
        scope(host=b""),
        scope(TARGET, (b"host", b"another")),
        scope(TARGET, (b"accept", b"\xff")),
        scope(TARGET, (b"x-api-key", KEY.encode())),
        scope(TARGET, (b"authorization", b"")),
        scope(TARGET, (b"content-length", b"0")),
        scope(TARGET, (b"transfer-encoding", b"chunked")),
        scope(TARGET, (b"x-big", b"x" * 40_000)),
    ],
    ids=str,
)
def test_what_a_layer_may_refuse_goes_through_all(asked: dict[str, Any]) -> None:
    gate = Paying()
    app, _, seen = made(gate=gate)
    assert app.at_once(asked) is None
    assert (seen, gate.paid) == ([], 0)


def test_what_nobody_has_paid_for_goes_through_all() -> None:
    app, _, seen = made(gate=Paying(pays=False))
    assert app.at_once(scope()) is None
    assert seen == []


def test_who_asks_too_often_is_refused_as_by_all_the_layers() -> None:
    fields = [("x-request-id", "mine"), ("origin", "https://a.example")]
    app, handlers, seen = made(gate=Paying(is_empty=True), origins=Origins(("*",)))
    at_once = app.at_once(scope(TARGET, *((name.encode(), value.encode()) for name, value in fields)))
    assert at_once is not None
    slowly = ask(app, "GET", TARGET, headers=fields)
    status, lines, count, body = at_once
    assert (status, body) == (slowly.status, slowly.body)
    assert slowly.error["code"] == "RATE_LIMITED"
    assert sorted(lines.splitlines()) == sorted(b"%b: %b" % each for each in slowly.raw_headers)
    assert count == len(slowly.raw_headers)
    assert seen == [("resolveDid", 429)] * 2
    assert handlers.calls == []


def test_what_is_not_remembered_is_asked_of_the_layers_as_one_request() -> None:
    class Empty(Paying):
        def look_at_once(self, operation: Operation, request: Request) -> None:
            if self.is_empty:
                request.paid = True
                raise RateLimited(details={"retryAfter": 2})

    gate = Empty()
    handlers = Resolving(ANSWERS[0])
    app = build_toy(handlers, gate=gate, at_once={"resolveDid": lambda request, pays: None})
    asked, sent = scope(TARGET, (b"accept", b"application/did")), []

    async def send(message: Any) -> None:
        sent.append(message)

    assert app.at_once(asked) is None
    asyncio.run(app(asked, None, send))  # type: ignore[arg-type]
    assert (sent[0]["status"], gate.paid) == (200, 0)
    (request,) = handlers.calls
    assert request.headers == {"host": "toy", "accept": "application/did"}
    gate.is_empty = True
    refused = app.at_once(scope())
    assert refused is not None
    assert refused[0] == 429


class Refusing(Paying):
    """Refuses all for their credential, with what ``refused`` makes; ``is_certain``: before anything is asked."""

    def __init__(self, refused: Callable[[], IdentityError], *, is_certain: bool = True) -> None:
        super().__init__()
        self.refused = refused
        self.is_certain = is_certain

    async def admit(self, operation: Operation, request: Request) -> tuple[Caller | None, Headers]:
        request.paid = True
        raise self.refused()

    def refuse_at_once(self, operation: Operation, request: Request) -> None:
        if self.is_certain:
            self.paid += 1
            request.paid = True
            # As a gate does that looks at several things before it raises one of them.
            refusal = self.refused()
            raise refusal


REFUSALS: list[Callable[[], IdentityError]] = [
    AuthRequired,
    AuthFailed,
    lambda: AuthRequired("Another kind."),
    lambda: DidDeactivated(details={"did": DID, "versionId": 2, "more": ["a", {"b": None}]}),
    lambda: RateLimited(details={"retryAfter": 3}),
    AuthAmbiguous,
]
BODY = b'{"reason":"r"}'
ASKED = [
    ("DELETE", TARGET, BODY, [(b"content-type", b"application/json")]),
    ("DELETE", TARGET, BODY, [(b"content-type", b"application/json"), (b"authorization", b"Bearer t")]),
    ("DELETE", f"http://elsewhere{TARGET}"[16:], None, []),
    ("POST", "/api/v1/dids", b"{", [(b"content-type", b"APPLICATION/JSON"), (b"x-request-id", b"mine")]),
    ("GET", "/api/v1/dids", None, []),
]


def with_body(method: str, target: str, body: bytes | None, fields: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    length = [] if body is None else [(b"content-length", b"%d" % len(body))]
    asked = scope(target, *fields, *length, method=method)
    return asked if body is None else asked | {"identity.body": body}


@pytest.mark.parametrize("refused", REFUSALS)
@pytest.mark.parametrize(("method", "target", "body", "fields"), ASKED)
def test_who_is_refused_for_a_credential_is_answered_as_by_all_the_layers(
    refused: Callable[[], IdentityError],
    method: str,
    target: str,
    body: bytes | None,
    fields: list[tuple[bytes, bytes]],
) -> None:
    app, handlers, seen = made(gate=Refusing(refused), origins=Origins(("*",)))
    # Twice: the second time of what the first has left.
    for number in (1, 2):
        at_once = app.at_once(with_body(method, target, body, fields))
        assert at_once is not None
        slow, _, slowly_seen = made(gate=Refusing(refused), origins=Origins(("*",)))
        for _ in range(number):
            slowly = ask(
                slow, method, target, body=body or b"", headers=[(name.decode(), value) for name, value in fields]
            )
        status, lines, count, octets = at_once
        assert (status, octets) == (slowly.status, slowly.body)
        assert sorted(lines.splitlines()) == sorted(b"%b: %b" % each for each in slowly.raw_headers)
        assert count == len(slowly.raw_headers)
        assert seen == slowly_seen
    assert handlers.calls == []


def test_a_refusal_that_is_kept_tells_each_its_own() -> None:
    texts = iter(["did:toy:a", "did:toy:b", "did:toy:a"])
    app, _, _ = made(gate=Refusing(lambda: DidDeactivated(details={"did": next(texts)})))
    bodies = [app.at_once(scope("/api/v1/dids", (b"x-request-id", each)))[3] for each in (b"one", b"two", b"three")]  # type: ignore[index]
    errors = [orjson.loads(body)["error"]["details"] for body in bodies]
    assert errors == [
        {"did": "did:toy:a", "requestId": "one"},
        {"did": "did:toy:b", "requestId": "two"},
        {"did": "did:toy:a", "requestId": "three"},
    ]


def test_a_refusal_that_was_answered_leaves_nothing_to_the_collector() -> None:
    raised: list[weakref.ref[IdentityError]] = []

    def refused() -> IdentityError:
        error = AuthFailed()
        error.__context__ = AuthRequired()
        raised.append(weakref.ref(error))
        return error

    app, _, _ = made(gate=Refusing(refused))
    gc.disable()
    try:
        assert app.at_once(scope("/api/v1/dids")) is not None
        assert ask(app, "GET", "/api/v1/dids").status == 401
        assert [each() for each in raised] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "asked",
    [
        with_body("DELETE", TARGET, BODY, [(b"content-type", b"text/plain")]),
        with_body("DELETE", TARGET, BODY, [(b"content-type", b"application/json"), (b"content-encoding", b"gzip")]),
        with_body("DELETE", TARGET, bytes(1025), [(b"content-type", b"application/json")]),
        with_body("DELETE", TARGET, BODY, [(b"content-type", b"application/json"), (b"x-api-key", b"k")]),
        scope(TARGET, (b"content-type", b"application/json"), (b"content-length", b"14"), method="DELETE"),
        scope(TARGET, (b"content-type", b"application/json"), (b"transfer-encoding", b"chunked"), method="DELETE"),
        scope("/api/v1/dids", (b"content-length", b"1")),
        scope("/api/v1/dids", method="HEAD"),
        scope("/api/v1/dids", method="OPTIONS"),
        scope("/api/v1/dids", method="PUT"),
        scope("/api/v1/dids", host=b""),
        scope("/api/v1/dids", (b"authorization", b"\xff")),
    ],
    ids=str,
)
def test_what_comes_before_the_gate_goes_through_all(asked: dict[str, Any]) -> None:
    gate = Refusing(AuthRequired)
    app, _, seen = made(gate=gate)
    assert app.at_once(asked) is None
    assert (seen, gate.paid) == ([], 0)


@pytest.mark.parametrize("options", [{"limit": 0}, {"verify": True}, {"apart": 8081}], ids=str)
def test_where_more_is_to_be_done_nobody_is_refused_at_once(options: dict[str, Any]) -> None:
    gate = Refusing(AuthRequired)
    app, _, seen = made(gate=gate, **options)
    assert app.at_once(scope("/api/v1/dids")) is None
    assert (seen, gate.paid) == ([], 0)


def test_whom_the_gate_does_not_refuse_is_asked_of_the_layers_once() -> None:
    gate = Refusing(AuthRequired, is_certain=False)
    app, _, seen = made(gate=gate)
    asked, sent = with_body(*ASKED[0]), []

    async def send(message: Any) -> None:
        sent.append(message)

    assert app.at_once(asked) is None
    asyncio.run(app(asked, None, send))  # type: ignore[arg-type]
    assert (sent[0]["status"], seen) == (401, [("deactivateDid", 401)])


class Reading(Paying):
    """Counts who comes in by the pass of all, and lets nobody pay twice, as the gate does."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.admitted = list[bool]()

    def pays_at_once(self, operation: Any, request: Request) -> bool:
        request.paid = super().pays_at_once(operation, request)
        return request.paid

    async def admit(self, operation: Operation, request: Request) -> tuple[Caller | None, Headers]:
        self.admitted.append(request.paid)
        return await super().admit(operation, request)


def read_by(read: Any, gate: Reading, remembered: Any = None) -> tuple[Guard, list[tuple[str, int]]]:
    seen = list[tuple[str, int]]()
    at_once = {} if remembered is None else {"resolveDid": remembered}
    handlers = Resolving(ANSWERS[0])
    return build_toy(handlers, observed=seen, gate=gate, at_once=at_once, reads=Reads({"resolveDid": read})), seen


def test_what_is_read_without_waiting_is_answered_and_paid_once() -> None:
    asked = list[Any]()

    async def read(request: Request) -> Answer:
        asked.append((request.path["did"], request.query, gate.paid))
        return Answer(200, {"a": 1}, headers=HEADERS)

    gate = Reading()
    app, seen = read_by(read, gate, remembered=lambda request, pays: None)
    for _ in range(2):
        answered = app.at_once(scope())
        assert answered is not None
        assert (answered[0], answered[3]) == (200, b'{"a":1}')
    # It is paid before anything is read.
    assert [(did, paid) for did, _, paid in asked] == [(DID, 1), (DID, 2)]
    assert (gate.paid, gate.admitted, seen) == (2, [], [("resolveDid", 200)] * 2)


async def nothing(request: Request) -> None:
    return None


async def failing(request: Request) -> Answer:
    raise PluginUnavailable


async def waiting(request: Request) -> Answer:
    try:
        await asyncio.sleep(10)
    finally:
        closed.append(request)
    return ANSWERS[0]


closed: list[Request] = []


@pytest.mark.parametrize("read", [nothing, failing, waiting])
def test_what_cannot_be_read_at_once_takes_the_other_way_and_is_not_paid_again(read: Any) -> None:
    async def story() -> None:
        asked, sent = scope(), []

        async def send(message: Any) -> None:
            sent.append(message)

        assert app.at_once(asked) is None
        assert seen == []
        await app(asked, None, send)  # type: ignore[arg-type]
        assert sent[0]["status"] == 200

    closed.clear()
    gate = Reading()
    app, seen = read_by(read, gate)
    asyncio.run(story())
    assert (gate.paid, gate.admitted, seen) == (1, [True], [("resolveDid", 200)])
    assert len(closed) == (read is waiting)


@pytest.mark.parametrize("error", [DidNotFound(details={"did": DID}), DidDeactivated(), InvalidRequest("No.")], ids=str)
def test_a_refusal_of_what_is_read_is_the_answer_of_all_the_layers(error: IdentityError) -> None:
    async def refused(request: Request) -> Answer:
        raise error

    gate = Reading()
    app, seen = read_by(refused, gate)
    at_once = app.at_once(scope(TARGET, (b"x-request-id", b"mine")))
    assert at_once is not None

    class Refusing(Resolving):
        resolve_did = staticmethod(refused)  # type: ignore[assignment]

    slowly = ask(build_toy(Refusing(ANSWERS[0]), gate=Reading()), "GET", TARGET, headers=[("x-request-id", "mine")])
    status, lines, count, body = at_once
    assert (status, body) == (slowly.status, slowly.body) == (error.status, slowly.body)
    # The gate of this test names another bucket on each way.
    shown = [line for line in lines.splitlines() if not line.startswith(b"ratelimit: ")]
    assert sorted(shown) == sorted(b"%b: %b" % each for each in slowly.raw_headers if each[0] != b"ratelimit")
    assert count == len(lines.splitlines())
    assert (gate.paid, gate.admitted, seen) == (1, [], [("resolveDid", status)])


def test_nothing_is_read_for_who_cannot_pay() -> None:
    async def read(request: Request) -> Answer:
        raise AssertionError("it was read")

    app, seen = read_by(read, Reading(is_empty=True))
    refusal = app.at_once(scope())
    assert refusal is not None
    assert (refusal[0], seen) == (429, [("resolveDid", 429)])
    app, seen = read_by(read, Reading(pays=False))
    assert app.at_once(scope()) is None
    assert seen == []


@pytest.mark.parametrize("options", [{"limit": 0}, {"verify": True}, {"apart": 8081}], ids=str)
def test_where_more_is_to_be_done_nothing_is_answered_at_once(options: dict[str, Any]) -> None:
    app, _, seen = made(**options)
    assert app.at_once(scope()) is None
    assert seen == []


def test_what_goes_wrong_is_left_to_the_pass_that_tells_of_it() -> None:
    handlers = Resolving(Answer(200, b"{}", headers=[("ETag", "\N{SNOWMAN}")]))
    app = build_toy(handlers, gate=Paying(), at_once={"resolveDid": handlers.at_once})
    assert app.at_once(scope()) is None
    assert ask(app, "GET", TARGET).status == 500
