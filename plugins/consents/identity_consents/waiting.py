"""Requests of agents that a holder finds in her list: createConsentRequest, listConsentRequests, getConsentRequest, answerConsentRequest.

Only an agent that has a delegation of the holder, or a nickname by her, enters her list. Any other agent hands her the link.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import orjson
from msgspec import Struct

from identity_codec import multibase, sealing
from identity_codec.structs import UNSET, plain, value_or
from identity_codec.times import printed
from identity_consents.calls import call_operation
from identity_consents.consents import ANSWER, AskedConsent, HolderConsents
from identity_consents.requests import read_did, read_request
from identity_consents.store import CONSENT, StoredRequest, StoredRequests
from identity_consents.wire import AnswerConsentRequestRequest, CreateConsentRequestRequest, ListConsentRequestsQuery
from identity_core.api.request import Request
from identity_core.domain.activity import SERVICE, Event, RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import Forbidden, InvalidRequest, QuotaExceeded, RequestNotFound
from identity_core.extension.declaration import Kernel
from identity_core.use_cases.record import Record

OF_HOLDER: Final = 20
OF_AGENT: Final = 5
"""Open requests to one holder, and of one agent to one holder."""

PAGES: Final = 50
"""How many pages of 200 delegations of one agent are searched for one by the holder herself."""

# The call of an agent that has no Idempotency-Key of its own.
_ALONE: Final = RequestContext("createConsentRequest", SERVICE)
_BOX: Final = b"identity: request of an agent, v1"
_EVERY: Final = ListConsentRequestsQuery()


class WaitingRequest(Struct, frozen=True):
    """A request in the list of its holder. ``shown`` is as ``read_request`` takes it, without the reply; ``status`` is ``waiting``,
    ``approved``, ``declined`` or ``expired``."""

    stored: StoredRequest
    shown: Mapping[str, Any]
    reply: str
    status: str

    @property
    def text(self) -> str:
        """Return the request as the page of consent reads it."""
        return orjson.dumps({**self.shown, "reply": self.reply}).decode()


def person_of(caller: Caller) -> Did:
    """Return the DID that calls for itself. Raises ``Forbidden``: for an API key and for a program."""
    if caller.person is None or caller.client is not None:
        raise Forbidden("Only the DID itself has these requests.")
    return caller.person


class ConsentRequests(Struct, frozen=True):
    """The requests of agents in the lists of holders."""

    stored: StoredRequests
    consents: HolderConsents
    kernel: Kernel

    async def create(self, wish: CreateConsentRequestRequest, request: Request) -> WaitingRequest:
        """Store a request. Raises ``Forbidden``: when the holder does not know the agent; ``InvalidDid``, ``InvalidRequest``,
        ``DidDeactivated``, ``QuotaExceeded``."""
        agent, holder = str(person_of(request.authenticated)), str(Did.parse(wish.holder_did))
        value = plain(wish)
        shown = {"agentDid": agent} | {one: value[one] for one in ("predicates", "domain", "purpose") if one in value}
        read_request(orjson.dumps(shown).decode())
        if not await self.is_known(agent, holder, request):
            raise Forbidden("The holder has given this agent no delegation and no nickname. Hand her a link.")
        await self.kernel.dids.active(Did.parse(holder))
        asked = self.consents.ask(agent, holder, shown, timedelta(seconds=value_or(wish.lifetime, 900)))
        waiting = await self.keep(asked, shown, request.context)
        await self.record(request, holder)
        return waiting

    async def answer(self, id: str, wish: AnswerConsentRequestRequest, request: Request) -> WaitingRequest:
        """Store the answer of the holder. Raises ``RequestNotFound``, ``InvalidRequest``, ``IbctInvalid``."""
        found, _ = await self.get(id, request.authenticated)
        if value_or(wish.declined, False) is (wish.ibct is not UNSET):
            raise InvalidRequest("An answer has credentialId and ibct, or declined.", details={"member": "declined"})
        text = "null" if value_or(wish.declined, False) else request.body_octets.decode()
        await self.consents.answer(found.reply, str(person_of(request.authenticated)), text)
        await self.record(request, found.stored.agent)
        return (await self.get(id, request.authenticated))[0]

    async def is_known(self, agent: str, holder: str, request: Request) -> bool:
        """Return whether the holder has given the agent a delegation that is not over, or a nickname. A delegation by another agent does
        not count: one agent could fill her list under many DIDs."""
        run, caller = self.kernel.operations["listDelegations"], Caller(subject=Did.parse(holder))
        for status in ("active", "scheduled", "suspended"):
            query: dict[str, Any] = {"holderDid": holder, "agentDid": agent, "status": status, "limit": 200}
            for _ in range(PAGES):
                found = await call_operation(run, request, caller, query=query)
                if any(one["parentId"] is None for one in found["items"]):
                    return True
                query["cursor"] = found["nextCursor"]
                if query["cursor"] is None:
                    break
        labels = self.kernel.operations.get("listLabels")
        found = [] if labels is None else (await call_operation(labels, request, caller))["items"]
        return any(one["did"] == agent for one in found)

    async def keep(self, asked: AskedConsent, shown: Mapping[str, Any], context: RequestContext) -> WaitingRequest:
        """Put a request into the list of its holder. Raises ``QuotaExceeded``."""
        id = asked.digest.hex()
        sealed = self.consents.seal(orjson.dumps([shown, asked.reply]), _BOX + id.encode())
        now = self.kernel.clock.now()
        row = StoredRequest(id, CONSENT, asked.holder, asked.agent, sealed, None, now, asked.expires_at)
        waiting = WaitingRequest(row, shown, asked.reply, "waiting")
        with context.keeping(lambda is_kept: is_kept and waiting):
            is_kept = await self.stored.keep(row, of_owner=OF_HOLDER, of_agent=OF_AGENT)
        if not is_kept:
            raise QuotaExceeded("Too many requests wait for this holder.", details={"quota": "consents"})
        return waiting

    async def list(self, caller: Caller, query: ListConsentRequestsQuery = _EVERY) -> Sequence[WaitingRequest]:
        """Return the requests to the caller that have not expired, the newest first. Raises ``Forbidden``."""
        rows = await self.stored.list(str(person_of(caller)), CONSENT, self.kernel.clock.now())
        return [one for one in map(self._open, rows) if query.status in (None, one.status)]

    async def record(self, request: Request, target: str) -> None:
        """Write a line of the audit log."""
        await self.kernel.need(Record)(request.context, Event(target=target), self.kernel.clock.now())

    async def get(self, id: str, caller: Caller) -> tuple[WaitingRequest, Mapping[str, Any] | None]:
        """Return a request of its agent or holder, and the approval for the agent. Raises ``Forbidden``, ``RequestNotFound``."""
        row, person = await self.stored.get(id, CONSENT), str(person_of(caller))
        if row is None or person not in (row.owner, row.agent):
            raise RequestNotFound
        found = self._open(row)
        return found, self.answer_of(row) if person == row.agent else None

    def answer_of(self, row: StoredRequest) -> Mapping[str, Any] | None:
        """Return the approval in an answered request; None for no, and before the answer."""
        if row.result is None:
            return None
        plain = sealing.unseal(self.consents.secret, row.result, ANSWER + bytes.fromhex(row.id))
        approval = orjson.loads(plain)
        return approval and {"credentialId": approval["credential_id"], "ibct": approval["ibct"]}

    def _status(self, row: StoredRequest) -> str:
        if row.result is not None:
            return "declined" if self.answer_of(row) is None else "approved"
        return "waiting" if self.kernel.clock.now() < row.expires_at else "expired"

    def _open(self, row: StoredRequest) -> WaitingRequest:
        shown, reply = orjson.loads(sealing.unseal(self.consents.secret, row.sealed, _BOX + row.id.encode()))
        return WaitingRequest(row, shown, reply, self._status(row))


class HolderQuestions(Struct, frozen=True):
    """Questions that a holder answers at ``page``, a URL. The extension that serves the page provides them as a service."""

    requests: ConsentRequests
    page: str

    async def ask(self, agent: str, arguments: Mapping[str, Any], request: Request) -> dict[str, Any]:
        """Return ``status`` and its members: ``approved``, ``declined``, ``waiting`` if the holder was asked before, ``consent_required``.

        ``arguments``: those of a request for a proof. A holder who knows the agent finds the request in
        her list. Raises ``InvalidRequest``: also when the page would not show it.
        """
        shown = {"agentDid": agent, "predicates": arguments.get("predicates", [arguments.get("predicate")])}
        shown |= {name: arguments[name] for name in ("domain", "purpose") if name in arguments}
        holder, reply = arguments["holderDid"], arguments.get("consentId")
        read_request(orjson.dumps(shown).decode())
        read_did(arguments, "holderDid")
        if reply is None:
            asked = self.requests.consents.ask(agent, holder, shown)
            if await self.requests.is_known(agent, holder, request):
                with contextlib.suppress(QuotaExceeded):
                    await self.requests.keep(asked, shown, _ALONE)
            return self._link("consent_required", asked, shown)
        asked, is_answered, approval = await self.requests.consents.find(reply, agent, holder, shown)
        if not is_answered:
            return self._link("waiting", asked, shown)
        if approval is None:
            return {"status": "declined"}
        return {"status": "approved", "credentialId": approval.credential_id, "ibct": approval.ibct}

    def _link(self, status: str, asked: AskedConsent, shown: Mapping[str, Any]) -> dict[str, Any]:
        """Return the link. The request is behind its #, so that it stays in the browser; the link does not show the holder."""
        text = multibase.base64url_encode(orjson.dumps({**shown, "reply": asked.reply}))
        times = {"expiresAt": printed(asked.expires_at)}
        return {"status": status, "consentId": asked.reply, "consentUrl": f"{self.page}#{text}", **times}
