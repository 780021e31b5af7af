"""The requests of agents to /mcp, over an application of our own in place of the protocol's: which refusals become what
HTTP says."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from identity_agents.endpoints import SERVICE, AgentEndpoint, AskedService, agent_gate

from identity_core.api.request import Answer, Operation, Request
from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import (
    AuthFailed,
    Forbidden,
    IdentityError,
    InternalError,
    Overloaded,
    ProofNotFound,
    RateLimited,
)
from identity_core.settings import Settings

ORIGIN = "https://id.example"
AKI = Caller(
    subject=Did.parse("did:ids:QmPvhbZpVZBeJcTVUcMJgfSDgxs8ymKZJzSYhkXmiNUNhS"), scopes=frozenset({"zkp:prove"})
)
SECRET = b"Bearer of-aki"


class Door:
    """Admits one caller."""

    def __init__(self, caller: Caller | None = AKI) -> None:
        self.caller = caller
        self.asked: list[Operation] = []

    async def admit(self, operation: Operation, request: Request) -> tuple[Caller | None, Any]:
        self.asked.append(operation)
        return self.caller, ()

    async def charge(self, request: Request, tokens: int = 1) -> None:
        raise AssertionError("the gate has been paid")


class Application:
    """Asks an operation, and answers what a tool would; what it was given is in ``scope``."""

    def __init__(self, operation: str = "getProof", **how: Any) -> None:
        self.operation, self.how = operation, how
        self.scope: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scope = scope
        service: AskedService = scope[SERVICE]
        try:
            found = await service.ask(self.operation, **self.how)
        except Exception as error:
            found = {"isError": type(error).__name__}
        data = json.dumps({"body": (await receive())["body"].decode(), "found": found}).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": data})


def call(application: Application, operation: Any, caller: Caller | None = AKI, **headers: str) -> Any:
    async def receive() -> Any:
        return {"type": "http.request", "body": b'{"id":1}', "more_body": False}

    request = Request(request_id="r1", method="POST", headers=headers, client_address="192.0.2.1")
    raw = [(b"authorization", SECRET), (b"cookie", b"c=1"), (b"x-api-key", b"k"), (b"mcp-method", b"tools/call")]
    door = Door(caller)
    kernel: Any = SimpleNamespace(
        settings=Settings(),
        origin=ORIGIN,
        operations={application.operation: operation},
        need=lambda service: door,
        find=lambda service: None,
    )
    endpoint = AgentEndpoint(agent_gate("/mcp", "callMcp", kernel), application)
    answer = asyncio.run(endpoint(request, {"headers": raw, "http_version": "1.1"}, receive))
    assert [one.resource for one in door.asked] == ["/mcp"]
    return json.loads(answer.body)


def refusing(error: Exception) -> Any:
    async def run(request: Request, scope: Any, receive: Any) -> Answer:
        raise error

    return run


def test_operation_runs_as_admitted_caller() -> None:
    seen: list[Request] = []

    async def run(request: Request, scope: Any, receive: Any) -> Answer:
        seen.append(request)
        assert (await receive())["body"] == b'{"a":1}'
        assert scope["query_string"] == b"x=1+2"
        return Answer(200, {"proofId": request.path["proofId"]})

    application = Application(body={"a": 1}, path={"proofId": "a/b"}, query={"x": "1 2", "y": None})
    assert call(application, run) == {"body": '{"id":1}', "found": {"proofId": "a/b"}}
    (request,) = seen
    assert (request.caller, request.request_id, request.client_address) == (AKI, "r1", "192.0.2.1")
    assert "authorization" not in request.headers
    assert [name for name, _ in application.scope["headers"]] == [b"mcp-method"]
    assert SECRET not in repr(application.scope["headers"]).encode()


@pytest.mark.parametrize("error", [ProofNotFound(), Forbidden("Not yours.")])
def test_correctable_error_is_a_tool_result(error: IdentityError) -> None:
    assert call(Application(), refusing(error))["found"] == {"isError": type(error).__name__}


@pytest.mark.parametrize(
    "error",
    [
        RateLimited(details={"retryAfter": 3}),
        Overloaded(details={"retryAfter": 1}),
        Forbidden(details={"scope": "zkp:verify"}),
        AuthFailed(),
        RuntimeError("a fault of ours"),
    ],
)
def test_http_error_is_no_tool_result(error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        call(Application(), refusing(error))
    assert raised.value is error


def test_no_tool_asks_for_anything_else() -> None:
    for operation in ("revokeProof", "createApiKey", "issueCredential", "nothing"):
        with pytest.raises(InternalError):
            call(Application(operation), refusing(AssertionError("asked")))


@pytest.mark.parametrize("caller", [None, Caller(name="a caller")])
def test_caller_without_did_is_refused(caller: Caller | None) -> None:
    with pytest.raises(AuthFailed):
        call(Application(), refusing(AssertionError("asked")), caller)


def test_a_page_of_another_origin_is_refused_and_our_own_is_not() -> None:
    with pytest.raises(Forbidden):
        call(Application(), refusing(AssertionError("asked")), origin="https://evil.example")
    assert call(Application(), refusing(ProofNotFound()), origin=ORIGIN)["found"]


def test_an_application_that_says_nothing_is_a_fault_of_ours() -> None:
    class Silent(Application):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            return

    with pytest.raises(InternalError):
        call(Silent(), refusing(AssertionError("asked")))
