"""``/mcp``: where agents call tools by the Model Context Protocol with an access token, as its revision 2026-07-28 has it ("Transports",
"Authorization"). The protocol is that of an ASGI application (``plugins/mcp``); here is who asks, what it costs, and what a tool may do.

A tool asks operations of the document in process, in the name of who was admitted here. The token itself goes no further, and it
is good for this resource alone (RFC 8707).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from identity_core.api.header_credentials import BEARER
from identity_core.api.pages import resource_metadata_url
from identity_core.api.promises import Run
from identity_core.api.request import NOTHING, Admission, Answer, Operation, Request
from identity_core.api.transport import Message, Receive, Scope, Send, read_body
from identity_core.codec import strict_json
from identity_core.codec.multibase import base64url_encode
from identity_core.codec.structs import encode
from identity_core.codec.times import printed
from identity_core.domain.callers import OF_AGENTS, Caller
from identity_core.domain.tokens import scope_text
from identity_core.errors import AuthFailed, Forbidden, IdentityError, InternalError, InvalidRequest
from identity_core.use_cases.consents import AskedConsent, HolderConsents
from identity_core.use_cases.proofs.steps import PROVE_SCOPE
from identity_core.values import value_class

SERVICE: Final = "identity.service"
"""Where the scope of the application has the ``AskedService`` of a request."""

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
"""What tools may ask. Each admits the bearer of a token, and none changes a DID, issues or revokes."""

# What an answer of HTTP says better than the result of a tool: sign in again, wait, or that the fault is ours.
_BEYOND_TOOLS: Final = frozenset({401, 429})

# Credentials stay here, and a cookie says nothing to a program.
MCP: Final = "callMcp"
"""The operation as which a request of the Model Context Protocol is counted and logged; it pays for the operation that it calls."""
A2A: Final = "callA2a"
"""The same for a request of the Agent2Agent protocol."""
_KEPT_BACK: Final = frozenset({b"authorization", b"x-api-key", b"cookie", b"proxy-authorization"})

# JSON-RPC 2.0 §5.1: what is no JSON has no id that could be told.
NO_JSON: Final = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}

Application = Callable[[Scope, Receive, Send], Awaitable[None]]


@value_class
class AskHolder:
    """Asks a holder on the page of consent (the extension ``ui``) of ``origin``. ``check`` reads a request as the page does, and raises
    ``InvalidRequest`` for one that it would not show."""

    consents: HolderConsents
    origin: str
    check: Callable[[str], object]

    async def __call__(self, agent: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """``status`` and what goes with it: ``approved``, ``declined``, ``waiting`` where the holder has been asked before, and
        ``consent_required``. ``given`` are the arguments of a request for a proof. Raises ``InvalidRequest``."""
        shown = {"agentDid": agent, "predicates": given.get("predicates", [given.get("predicate")])}
        shown |= {name: given[name] for name in ("domain", "purpose") if name in given}
        holder, reply = given["holderDid"], given.get("consentId")
        if reply is None:
            self.check(orjson.dumps(shown).decode())
            asked = self.consents.ask(agent, holder, shown)
            return self._wanted("consent_required", asked, shown)
        asked, is_answered, approval = await self.consents.find(reply, agent, holder, shown)
        if not is_answered:
            return self._wanted("waiting", asked, shown)
        if approval is None:
            return {"status": "declined"}
        return {"status": "approved", "credentialId": approval.credential_id, "ibct": approval.ibct}

    def _wanted(self, status: str, asked: AskedConsent, shown: Mapping[str, Any]) -> dict[str, Any]:
        """Behind the # of the link, so that it stays in the browser; of the holder it says nothing."""
        linked = base64url_encode(orjson.dumps({**shown, "reply": asked.reply}))
        url = f"{self.origin}/ui/consent#{linked}"
        return {"status": status, "consentId": asked.reply, "consentUrl": url, "expiresAt": printed(asked.expires_at)}


@dataclass(slots=True)
class AskedService:
    """The operations, asked for the agent ``did``. ``holders`` asks for the consent of one, None where there are no pages. ``beyond`` is
    the refusal of an operation that no result of a tool tells."""

    did: str
    caller: Caller
    outer: Request
    operations: Mapping[str, Run]
    holders: AskHolder | None
    beyond: Exception | None = field(default=None, init=False)

    async def ask(
        self, operation: str, body: Any = None, *, path: Mapping[str, str] = NOTHING, query: Mapping[str, Any] = NOTHING
    ) -> Any:
        """The JSON of what the operation answers. Raises its refusals as ``IdentityError``."""
        try:
            if operation not in ASKED:
                raise InternalError
            return await self._asked(operation, body, path, query)
        except IdentityError as error:
            if error.status in _BEYOND_TOOLS or error.status >= 500 or _lacks_a_scope(error):
                self.beyond = error
            raise
        except Exception as error:
            self.beyond = error
            raise

    async def consent(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """As ``AskHolder``. Raises ``Forbidden`` without the right to ask for proofs."""
        if self.holders is None:
            raise InvalidRequest("ibct is missing: the holder signs one, and this service has no pages to ask for it.")
        try:
            self.caller.require_scope(PROVE_SCOPE)
        except Forbidden as error:
            self.beyond = error
            raise
        return await self.holders(self.did, given)

    async def _asked(self, operation: str, body: Any, path: Mapping[str, str], query: Mapping[str, Any]) -> Any:
        octets = b"" if body is None else orjson.dumps(body)
        headers = {"accept": "application/json"}
        if body is not None:
            headers |= {"content-type": "application/json", "content-length": str(len(octets))}
        request = Request(
            request_id=self.outer.request_id,
            method="GET" if body is None else "POST",
            client_address=self.outer.client_address,
            headers=headers,
            arrived=self.outer.arrived,
            path=dict(path),
            caller=self.caller,
        )

        async def receive() -> Message:
            return {"type": "http.request", "body": octets, "more_body": False}

        text = urlencode({name: value for name, value in query.items() if value is not None})
        answer = await self.operations[operation](request, {"query_string": text.encode("ascii")}, receive)
        return orjson.loads(answer.body if isinstance(answer.body, bytes) else encode(answer.body))


def _lacks_a_scope(error: IdentityError) -> bool:
    return isinstance(error, Forbidden) and "scope" in error.details


@dataclass(frozen=True, slots=True, eq=False)
class AgentDoor:
    """Who may call at ``place``, a path that is a resource of its own, and what is asked for him; ``name`` is what his requests are counted
    as. ``origin`` is the service's own; ``max_body`` caps bodies in bytes."""

    name: str
    place: str
    gate: Admission
    operations: Mapping[str, Run]
    holders: AskHolder | None
    origin: str
    max_body: int
    operation: Operation = field(init=False)

    def __post_init__(self) -> None:
        challenge = f'{BEARER} realm="identity", resource_metadata="{resource_metadata_url(self.origin, self.place)}"'
        wanted = f'{challenge}, scope="{scope_text(OF_AGENTS)}"'
        operation = Operation(
            self.name, "POST", self.place, frozenset({BEARER}), wanted, bearer=challenge, resource=self.place
        )
        object.__setattr__(self, "operation", operation)

    async def admit(self, request: Request, receive: Receive) -> AskedService:
        """What the agent of ``request`` may ask. Raises the refusals of the gate, and ``Forbidden`` for a page of another origin."""
        request.operation, request.operation_id = self.operation, self.name
        request.body_octets = await read_body(request, receive, self.max_body)
        caller, request.answer_headers = await self.gate.admit(self.operation, request)
        did = None if caller is None else caller.person
        if caller is None or did is None:
            raise AuthFailed
        # A page that a browser shows must not speak for the agent (Transports, "Security Warning").
        if request.header("origin") not in (None, self.origin):
            raise Forbidden("The request comes from a page of another origin.", details={"origin": self.origin})
        return AskedService(str(did), caller, request, self.operations, self.holders)


@dataclass(frozen=True, slots=True, eq=False)
class AgentEndpoint:
    """The pass of ``POST /mcp``."""

    door: AgentDoor
    application: Application

    async def __call__(self, request: Request, scope: Scope, receive: Receive) -> Answer:
        """Raises the refusals of the door, and of an operation what no tool tells."""
        service = await self.door.admit(request, receive)
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
            "path": self.door.place,
            "raw_path": self.door.place.encode(),
            "query_string": b"",
            "root_path": "",
            # Blanks around a value are no part of it (RFC 9110 §5.5), and the application compares values with the body.
            "headers": [(name, value.strip(b" \t")) for name, value in scope["headers"] if name not in _KEPT_BACK],
            SERVICE: service,
        }
        told = _Collected(request.body_octets)
        await self.application(inner, told.receive, told.send)
        if service.beyond is not None:
            raise service.beyond
        return told.answer()


class _Collected:
    """The application's side of one exchange: a body that is there, and an answer that is gathered."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._head: Message = {}
        self._parts: list[bytes] = []

    async def receive(self) -> Message:
        if self._body is None:
            # The client is there until it is answered: the server tells us otherwise by ending this task.
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
