"""The endpoint ``/a2a``: tasks of the Agent2Agent protocol (A2A 1.0 §9, JSON-RPC) from agents with an access token.

There is one task, a proof about a holder. Its message has the arguments of generateDelegatedProof or createDelegatedPresentation in one
``data``. A task that has the holder's token ends at once. Else a page asks the holder (``TASK_STATE_AUTH_REQUIRED``), and the task
continues when the agent calls ``GetTask`` or sends another message to it. No task is stored: its identifier is a sealed text, which has
the agent and the request, or the result. So any process can answer for it, and other agents cannot use it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import orjson
from msgspec import Struct

from identity_agents.card import VERSION, request_schema
from identity_agents.endpoints import NO_JSON, AgentGate, AskedService
from identity_codec import multibase, sealing, strict_json
from identity_codec.times import printed
from identity_codec.values import Hidden
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.api.transport import Receive, Scope
from identity_core.errors import IdentityError, InvalidRequest
from identity_core.ports.clock import Clock

MEMBERS: Final = frozenset(request_schema("")["properties"])
"""Members of a request for a proof, or without ``predicate`` for a presentation. ``purpose`` is shown to the holder."""

MAX_TASK: Final = 16_384
MAX_CONTEXT: Final = 128
MAX_ASKED: Final = 4_096
"""Bytes of a request that a holder is asked for."""

ASK_HOLDER: Final = "The holder decides on a page of the identity service whether this may be proved."
_SEALED: Final = b"identity: task of an agent, v1"

# A2A 1.0 §9.5 (google.rpc.ErrorInfo, whose metadata are texts).
_ERROR_INFO: Final = "type.googleapis.com/google.rpc.ErrorInfo"

# A2A 1.0 §5.4 and JSON-RPC 2.0 §5.1.
_INVALID, _NO_METHOD, _NO_PARAMS = -32600, -32601, -32602
_NOT_FOUND, _NOT_CANCELABLE, _UNSUPPORTED, _CONTENT, _VERSION = -32001, -32002, -32004, -32005, -32009
_NO_PUSH: Final = -32003
_NOT_HERE: Final = {
    "SendStreamingMessage": _UNSUPPORTED,
    "SubscribeToTask": _UNSUPPORTED,
    "ListTasks": _UNSUPPORTED,
    "GetExtendedAgentCard": _UNSUPPORTED,
    "CreateTaskPushNotificationConfig": _NO_PUSH,
    "GetTaskPushNotificationConfig": _NO_PUSH,
    "ListTaskPushNotificationConfigs": _NO_PUSH,
    "DeleteTaskPushNotificationConfig": _NO_PUSH,
}


class RpcRefused(Exception):
    """An error of the protocol: ``code``, and ``message`` for people. ``data``: the refusal of the service, if there is one."""

    def __init__(self, code: int, message: str, data: IdentityError | None = None) -> None:
        super().__init__(message)
        self.answer: dict[str, Any] = {"code": code, "message": message}
        if data is not None:
            self.answer["data"] = [
                {"@type": _ERROR_INFO, "reason": data.code, "domain": "identity", "metadata": _texts(data)}
            ]


class Task(Struct, frozen=True):
    """A task. ``context`` groups tasks as their agent chooses.

    One of the others is set: ``proof`` is the identifier of the proof that was made, ``refused`` a code and a message, ``asked`` the
    request that waits for the holder, with its ``consentId``.
    """

    context: str
    proof: str | None = None
    refused: tuple[str, str] | None = None
    asked: Mapping[str, Any] | None = None


class SealedTasks(Hidden, Struct, frozen=True):
    """Tasks as texts. ``secret``: 32 bytes that all processes derive."""

    clock: Clock
    secret: bytes
    random: Callable[[int], bytes]

    def name(self, agent: str, task: Task) -> str:
        """Return the identifier of ``task``, which opens for ``agent`` alone."""
        plain = orjson.dumps([task.context, task.proof, task.refused, task.asked])
        return multibase.base64url_encode(sealing.seal(self.secret, plain, _for(agent), random=self.random))

    def open_task(self, agent: str, identifier: object) -> Task:
        """Return the task of an identifier. Raises ``RpcRefused``: when it is not of a task of ``agent``."""
        try:
            text = identifier if isinstance(identifier, str) and len(identifier) <= MAX_TASK else ""
            fields = orjson.loads(sealing.unseal(self.secret, multibase.base64url_decode(text), _for(agent)))
        except (ValueError, sealing.BoxInvalid):
            raise RpcRefused(_NOT_FOUND, "There is no such task.") from None
        context, proof, refused, asked = fields
        return Task(context, proof, None if refused is None else (refused[0], refused[1]), asked)

    def new_context(self) -> str:
        """Return a new context."""
        return multibase.base64url_encode(self.random(16))


def _for(agent: str) -> bytes:
    return _SEALED + agent.encode()


class TaskEndpoint(Struct, frozen=True):
    """The endpoint ``POST /a2a``."""

    gate: AgentGate
    tasks: SealedTasks

    async def __call__(self, request: Request, scope: Scope, receive: Receive) -> Answer:
        """Answer one request. Raises the refusals of the gate, and those of an operation that are not a result of a task."""
        service = await self.gate.admit(request, receive)
        try:
            call = request.json()
        except strict_json.JsonRefused:
            return Answer(200, orjson.dumps(NO_JSON), headers=[NO_STORE])
        identifier = call.get("id") if isinstance(call, dict) else None
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": identifier if _is_identifier(identifier) else None}
        try:
            answer["result"] = await self._called(service, _version(scope), call)
        except RpcRefused as refused:
            answer["error"] = refused.answer
        if service.beyond is not None:
            raise service.beyond
        return Answer(200, orjson.dumps(answer), headers=[NO_STORE])

    async def _called(self, service: AskedService, version: str, call: object) -> dict[str, Any]:
        if not isinstance(call, dict) or call.get("jsonrpc") != "2.0" or not _is_identifier(call.get("id")):
            raise RpcRefused(_INVALID, "This is not a request of JSON-RPC 2.0.")
        method, params = call.get("method"), call.get("params", {})
        if version != VERSION:
            raise RpcRefused(_VERSION, f"This agent speaks version {VERSION}.")
        if not isinstance(method, str):
            raise RpcRefused(_INVALID, "This is not a request of JSON-RPC 2.0.")
        if method in _NOT_HERE:
            raise RpcRefused(_NOT_HERE[method], "This agent does not do that.")
        methods = {"SendMessage": self._send, "GetTask": self._get, "CancelTask": self._cancel}
        if method not in methods:
            raise RpcRefused(_NO_METHOD, "There is no such method.")
        if not isinstance(params, dict):
            raise RpcRefused(_NO_PARAMS, "params is an object.")
        run: Callable[[AskedService, dict[str, Any]], Awaitable[dict[str, Any]]] = methods[method]
        return await run(service, params)

    async def _send(self, service: AskedService, params: dict[str, Any]) -> dict[str, Any]:
        """``SendMessage`` (§3.1.1)."""
        message, chosen = params.get("message"), params.get("configuration", {})
        if not isinstance(message, dict) or not isinstance(chosen, dict):
            raise RpcRefused(_NO_PARAMS, "message and configuration are objects.")
        if chosen.get("taskPushNotificationConfig"):
            raise RpcRefused(_NO_PUSH, "This agent does not push.")
        if message.get("role") != "ROLE_USER" or not isinstance(message.get("messageId"), str):
            raise RpcRefused(_NO_PARAMS, "A message has a messageId, and its role is ROLE_USER.")
        if message.get("taskId"):
            found = self.tasks.open_task(service.did, message["taskId"])
            if found.asked is None:
                raise RpcRefused(_UNSUPPORTED, "The task has ended.")
            return {"task": await self._gone_on(service, message["taskId"], found)}
        context = message.get("contextId") or self.tasks.new_context()
        if not isinstance(context, str) or len(context) > MAX_CONTEXT:
            raise RpcRefused(_NO_PARAMS, f"A contextId has at most {MAX_CONTEXT} characters.")
        arguments = _arguments(message.get("parts"))
        if "ibct" in arguments:
            return {"task": await self._proved(service, context, arguments)}
        return {"task": await self._ask_holder(service, context, arguments)}

    async def _get(self, service: AskedService, params: dict[str, Any]) -> dict[str, Any]:
        """``GetTask`` (§3.1.3)."""
        found = self.tasks.open_task(service.did, params.get("id"))
        return await self._gone_on(service, params["id"], found)

    async def _cancel(self, service: AskedService, params: dict[str, Any]) -> dict[str, Any]:
        """``CancelTask`` (§3.1.5): pending requests expire, and the holder can decline."""
        self.tasks.open_task(service.did, params.get("id"))
        raise RpcRefused(
            _NOT_CANCELABLE, "The task has ended, or waits for the holder: it ends when she has not answered in time."
        )

    async def _ask_holder(self, service: AskedService, context: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return a task that waits for the holder."""
        if (
            not isinstance(arguments.get("holderDid"), str)
            or not arguments.keys() & {"predicate", "predicates"}
            or len(orjson.dumps(arguments)) > MAX_ASKED
        ):
            raise RpcRefused(
                _NO_PARAMS, f"Without ibct: a holderDid, a predicate or predicates, at most {MAX_ASKED} bytes."
            )
        try:
            consent = await service.consent(arguments)
        except InvalidRequest as error:
            raise RpcRefused(_NO_PARAMS, str(error), error) from None
        task = Task(context, asked={**arguments, "consentId": consent["consentId"]})
        return self._waiting(self.tasks.name(service.did, task), context, consent["consentUrl"])

    async def _gone_on(self, service: AskedService, identifier: str, task: Task) -> dict[str, Any]:
        """Return the task as it is now. Raises ``RpcRefused``: when the holder has not answered in time."""
        if task.proof is not None:
            made = await self._or_not_found(service.ask("getProof", path={"proofId": task.proof}))
            return self._completed(identifier, task.context, made)
        if task.asked is None:
            return self._rejected(identifier, task.context, *(task.refused or ("", "")))
        try:
            consent = await service.consent(task.asked)
        except InvalidRequest:
            raise RpcRefused(_NOT_FOUND, "The holder has not answered in time.") from None
        if consent["status"] == "waiting":
            return self._waiting(identifier, task.context, consent["consentUrl"])
        if consent["status"] == "declined":
            return self._rejected(identifier, task.context, "CONSENT_DECLINED", "The holder has declined.")
        arguments = {name: value for name, value in task.asked.items() if name != "consentId"}
        arguments |= {name: consent[name] for name in ("ibct", "credentialId")}
        return await self._proved(service, task.context, arguments, identifier)

    async def _proved(
        self, service: AskedService, context: str, arguments: Mapping[str, Any], identifier: str | None = None
    ) -> dict[str, Any]:
        """Return the task, which ends with the proof or its refusal; ``identifier`` is that of an existing task."""
        body = {name: value for name, value in arguments.items() if name != "purpose"} | {"agentDid": service.did}
        try:
            operation = "generateDelegatedProof" if "predicate" in body else "createDelegatedPresentation"
            made = await service.ask(operation, body)
        except InvalidRequest as error:
            raise RpcRefused(_NO_PARAMS, str(error), error) from None
        except IdentityError as error:
            code, words = (
                error.code,
                " ".join([str(error), *(f"{name}: {text}" for name, text in _texts(error).items())]),
            )
            task = Task(context, refused=(code, words))
            return self._rejected(identifier or self.tasks.name(service.did, task), context, code, words)
        task = Task(context, proof=made["proofId"])
        return self._completed(identifier or self.tasks.name(service.did, task), context, made)

    async def _or_not_found(self, asked: Awaitable[Any]) -> Any:
        try:
            return await asked
        except IdentityError:
            raise RpcRefused(_NOT_FOUND, "There is no such task.") from None

    def _completed(self, identifier: str, context: str, made: Mapping[str, Any]) -> dict[str, Any]:
        part = {"data": made["proof"], "mediaType": "application/json"}
        about = {name: made[name] for name in ("delegationId", "anchor") if made.get(name) is not None}
        artifact = {"artifactId": made["proofId"], "name": "proof", "parts": [part]} | (
            {"metadata": about} if about else {}
        )
        return self._task(identifier, context, "COMPLETED") | {"artifacts": [artifact]}

    def _rejected(self, identifier: str, context: str, code: str, words: str) -> dict[str, Any]:
        return self._task(identifier, context, "REJECTED", {"text": f"{code}: {words}"})

    def _waiting(self, identifier: str, context: str, url: str) -> dict[str, Any]:
        page = {"url": url, "mediaType": "text/html"}
        return self._task(identifier, context, "AUTH_REQUIRED", {"text": ASK_HOLDER}, page)

    def _task(self, identifier: str, context: str, state: str, *parts: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``Task`` (§4.1.1) with the time now; ``parts`` are the message to the agent."""
        status: dict[str, Any] = {"state": f"TASK_STATE_{state}", "timestamp": printed(self.tasks.clock.now())}
        if parts:
            message = {"messageId": self.tasks.new_context(), "taskId": identifier, "contextId": context}
            status["message"] = {**message, "role": "ROLE_AGENT", "parts": parts}
        return {"id": identifier, "contextId": context, "status": status}


def _version(scope: Scope) -> str:
    """Return the version of the header ``A2A-Version`` (§3.2.6) without a third number; 0.3 without the header."""
    versions = [value.decode("latin-1") for name, value in scope["headers"] if name == b"a2a-version"]
    return ".".join(", ".join(versions or ["0.3"]).strip(" \t").split(".")[:2])


def _texts(error: IdentityError) -> dict[str, str]:
    """Return the details of a refusal, the remedy among them, as texts."""
    details = error.answer_details().items()
    return {name: value if isinstance(value, str) else orjson.dumps(value).decode() for name, value in details}


def _is_identifier(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _arguments(parts: object) -> dict[str, Any]:
    """Return the request of a message: its one part, which is JSON. Raises ``RpcRefused``."""
    if not isinstance(parts, list) or not parts or not all(isinstance(part, dict) for part in parts):
        raise RpcRefused(_NO_PARAMS, "A message has parts.")
    if len(parts) != 1 or not isinstance(parts[0].get("data"), dict):
        raise RpcRefused(_CONTENT, "This agent takes one part, whose data is a request for a proof.")
    arguments: dict[str, Any] = parts[0]["data"]
    if not arguments.keys() <= MEMBERS:
        raise RpcRefused(_NO_PARAMS, f"A request for a proof has no other members than {', '.join(sorted(MEMBERS))}.")
    return arguments
