"""Endpoints that an agent calls with an access token, and ``/mcp``: tools of the Model Context Protocol, revision 2026-07-28 ("Transports",
"Authorization").

The protocol is that of an ASGI application of another distribution. These modules authenticate the agent, charge the request, and limit
what a tool may call. A tool calls operations of the document in process, as the agent. The token is not passed on; it is accepted at this
resource only (RFC 8707).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import orjson
from identity_consents.calls import call_operation
from identity_consents.waiting import HolderQuestions
from identity_oauth.metadata import resource_metadata_url
from msgspec import Struct

from identity_codec import strict_json
from identity_core.api.auth import BEARER
from identity_core.api.request import NOTHING, Answer, Operation, Request
from identity_core.api.security import Gate
from identity_core.api.transport import Message, Receive, Run, Scope, Send, read_body
from identity_core.domain.callers import OF_AGENTS, Caller, scope_text
from identity_core.errors import AuthFailed, Forbidden, IdentityError, InternalError, InvalidRequest
from identity_core.extension.declaration import Kernel
from identity_core.use_cases.proofs.steps import PROVE_SCOPE

AGENTS: Final = "/mcp"
"""The path where agents call tools. No token for it is accepted at the interface, and none for the interface is accepted there."""
TASKS: Final = "/a2a"
"""The path where agents give tasks, also a resource of its own."""

SERVICE: Final = "identity.service"
"""The member of the application's scope with the ``AskedService`` of a request."""

ASKED: Final = frozenset(
    {
        "resolveDid",
        "checkDelegatedProof",
        "listDelegations",
        "generateDelegatedProof",
        "createDelegatedPresentation",
        "verifyProof",
        "verifyStoredProof",
        "getProof",
        "createVerifierChallenge",
    }
)
"""Operations that tools may call. Each admits the bearer of a token, and none changes a DID, issues or revokes."""

# Statuses that are an answer of HTTP and not the result of a tool: sign in again, or wait.
_BEYOND_TOOLS: Final = frozenset({401, 429})

MCP: Final = "callMcp"
"""The operationId as which a request of the Model Context Protocol is counted and logged; the operation that it calls is charged."""
A2A: Final = "callA2a"
"""The same for a request of the Agent2Agent protocol."""
# Credentials are not passed on, and a cookie has no meaning for a program.
_KEPT_BACK: Final = frozenset({b"authorization", b"x-api-key", b"cookie", b"proxy-authorization"})

# JSON-RPC 2.0 §5.1: invalid JSON has no id that an answer could repeat.
NO_JSON: Final = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}

Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class AskedService(Struct):
    """The operations, called as the agent ``did``.

    ``questions`` ask a holder for consent, None without a page. ``beyond`` is the refusal of an operation that is not a result of a tool.
    """

    did: str
    caller: Caller
    outer: Request
    operations: Mapping[str, Run]
    questions: HolderQuestions | None
    beyond: Exception | None = None

    async def ask(
        self, operation: str, body: Any = None, *, path: Mapping[str, str] = NOTHING, query: Mapping[str, Any] = NOTHING
    ) -> Any:
        """Return the JSON of the operation's answer. Raises ``IdentityError``: the refusals of the operation."""
        try:
            if operation not in ASKED:
                raise InternalError
            run = self.operations[operation]
            return await call_operation(run, self.outer, self.caller, body, path=path, query=query)
        except IdentityError as error:
            if error.status in _BEYOND_TOOLS or error.status >= 500 or _lacks_a_scope(error):
                self.beyond = error
            raise
        except Exception as error:
            self.beyond = error
            raise

    async def consent(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return as ``HolderQuestions.ask``. Raises ``Forbidden``: when the token may not ask for proofs."""
        if self.questions is None:
            raise InvalidRequest("ibct is missing: the holder signs one, and this service has no pages to ask for it.")
        try:
            self.caller.require_scope(PROVE_SCOPE)
        except Forbidden as error:
            self.beyond = error
            raise
        return await self.questions.ask(self.did, arguments, self.outer)


def _lacks_a_scope(error: IdentityError) -> bool:
    return isinstance(error, Forbidden) and "scope" in error.details


class AgentGate(Struct, frozen=True, eq=False):
    """Authenticates the agents that call ``operation``, whose path is a resource of its own."""

    operation: Operation
    kernel: Kernel

    async def admit(self, request: Request, receive: Receive) -> AskedService:
        """Return what the agent of ``request`` may call. Raises the refusals of the gate; ``Forbidden``: for a page of another origin."""
        origin = self.kernel.origin
        request.operation, request.operation_id = self.operation, self.operation.operation_id
        request.body_octets = await read_body(request, receive, self.kernel.settings.server.max_body_bytes)
        caller, request.answer_headers = await self.kernel.need(Gate).admit(self.operation, request)
        did = None if caller is None else caller.person
        if caller is None or did is None:
            raise AuthFailed
        # A page that a browser shows must not speak for the agent (Transports, "Security Warning").
        if request.header("origin") not in (None, origin):
            raise Forbidden("The request comes from a page of another origin.", details={"origin": origin})
        return AskedService(str(did), caller, request, self.kernel.operations, self.kernel.find(HolderQuestions))


def agent_gate(path: str, name: str, kernel: Kernel) -> AgentGate:
    """Return the gate of an endpoint; ``name`` is the operationId as which its requests are counted."""
    challenge = f'{BEARER} realm="identity", resource_metadata="{resource_metadata_url(kernel.origin, path)}"'
    wanted = f'{challenge}, scope="{scope_text(OF_AGENTS)}"'
    operation = Operation(name, "POST", path, frozenset({BEARER}), wanted, bearer=challenge, resource=path)
    return AgentGate(operation, kernel)


class AgentEndpoint(Struct, frozen=True, eq=False):
    """The endpoint ``POST /mcp``."""

    gate: AgentGate
    application: Application

    async def __call__(self, request: Request, scope: Scope, receive: Receive) -> Answer:
        """Answer one request. Raises the refusals of the gate, and those of an operation that are not a result of a tool."""
        service = await self.gate.admit(request, receive)
        try:
            request.json()
        except strict_json.JsonRefused:
            return Answer(400, orjson.dumps(NO_JSON))
        return await self._answered(request, scope, service)

    async def _answered(self, request: Request, scope: Scope, service: AskedService) -> Answer:
        inner = {
            "type": "http",
            "http_version": scope["http_version"],
            "method": "POST",
            "scheme": "http",
            "path": self.gate.operation.path,
            "raw_path": self.gate.operation.path.encode(),
            "query_string": b"",
            "root_path": "",
            # Blanks around a value are not part of it (RFC 9110 §5.5), and the application compares values with the body.
            "headers": [(name, value.strip(b" \t")) for name, value in scope["headers"] if name not in _KEPT_BACK],
            SERVICE: service,
        }
        collected = _Collected(request.body_octets)
        await self.application(inner, collected.receive, collected.send)
        if service.beyond is not None:
            raise service.beyond
        return collected.answer()


class _Collected:
    """One exchange with the application: a complete body, and an answer that is collected."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._head: Message = {}
        self._parts: list[bytes] = []

    async def receive(self) -> Message:
        if self._body is None:
            # The client is connected until it is answered: else the server cancels this task.
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._head = message
        else:
            self._parts.append(message.get("body", b""))

    def answer(self) -> Answer:
        if "status" not in self._head:
            raise InternalError
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self._head["headers"]}
        media_type = headers.pop("content-type", "")
        headers.pop("content-length", None)
        headers.setdefault("cache-control", "no-store")
        return Answer(self._head["status"], b"".join(self._parts), media_type, [*headers.items()])
