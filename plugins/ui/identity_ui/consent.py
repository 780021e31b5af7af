"""Consent: an agent's request, read by the holder in words, and approved by a delegation of its own and tokens that the page signs.

An agent that the holder knows puts its request into her list. Any other agent gives her a JSON object (``AgentRequest``), pasted or
behind the ``#`` of a link to this page, which sends it to be read at once. She hands the approval back the same way, or the page sends it
if the agent fetches it according to the request (``reply``, the extension ``consents``). Each approval makes a delegation for exactly
these actions, as often as there are tokens and as long as they are good, so that stopping it stops what was approved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from identity_consents.requests import AgentRequest, read_request
from identity_consents.waiting import ConsentRequests
from msgspec import Struct

from identity_codec.times import printed
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.errors import AuthRequired, IdentityError, InvalidRequest
from identity_core.wire import ListCredentialsQuery
from identity_ui.holder import HolderPages, types_of
from identity_ui.operations import ask_until
from identity_ui.session import Session

NOTHING: Final[dict[str, Any]] = {"text": "", "found": None, "fitting": (), "cursor": None, "refusal": None}
CREDENTIALS: Final = 200
"""How many of her credentials are read at once."""


def unknown_attributes(predicates: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the attributes whose values do not follow from the answers: those with bounds on one side, with one list of several
    values, or with values that they do not have."""
    asked: dict[str, list[Mapping[str, Any]]] = {}
    for one in predicates:
        asked.setdefault(one["attributeName"], []).append(one)
    return [name for name, questions in asked.items() if not _tell_value(questions)]


def _tell_value(questions: Sequence[Mapping[str, Any]]) -> bool:
    types = {one["type"] for one in questions}
    if types == {"neq"}:
        return any(isinstance(one["value"], bool) for one in questions)
    if types == {"set_member"}:
        return len(questions) > 1 or len({str(one).strip() for one in questions[0]["value"]}) < 2
    return not (types <= {"gte", "gt"} or types <= {"lte", "lt"})


class ConsentPages(Struct, frozen=True):
    """The form for a request, and the request in words."""

    holder: HolderPages
    requests: ConsentRequests

    async def form(self, request: Request, session: Session) -> Answer:
        """Return the requests that wait, or the one of her list that the query names."""
        if id := request.query.get("id"):
            found, _ = await self.requests.get(id, session.caller)
            return await self._show_request(request, session, found.text)
        return await self.holder.page("consent.html", request, session, **NOTHING)

    async def read(self, request: Request, session: Session) -> Answer:
        """Return the request in words, with the credentials of hers that could answer it."""
        self.holder.sessions.require_own_page(request)
        return await self._show_request(request, session, request.body.get("request", ""))

    async def _show_request(self, request: Request, session: Session, text: str) -> Answer:
        shown = NOTHING | {"text": text}
        try:
            found = read_request(text)
            if found.reply:
                self._require_asked(found, session)
        except IdentityError as error:
            shown |= {"refusal": error, "status": 422}
            return await self.holder.page("consent.html", request, session, **shown)
        fitting = await self._fitting(request, session, found)
        shown |= {"found": found, "agentDid": found.agent, "unknown": unknown_attributes(found.predicates), **fitting}
        return await self.holder.page("consent.html", request, session, types_of({"items": shown["fitting"]}), **shown)

    def _require_asked(self, found: AgentRequest, session: Session) -> None:
        """Raise ``InvalidRequest`` for the request of another agent, or to another holder."""
        asked = self.requests.consents.open_reply(found.reply)
        if (asked.agent, asked.holder) != (found.agent, str(session.did)):
            raise InvalidRequest("The agent has sent the request to another holder.")

    async def reply(self, request: Request) -> Answer:
        """204: her answer is kept for the agent. Raises ``Forbidden``, ``StorageMismatch``, ``AuthRequired``, ``InvalidRequest``,
        ``IbctInvalid``."""
        self.holder.sessions.require_change(request)
        session = await self.holder.sessions.find(request)
        if session is None:
            raise AuthRequired
        reply, answer = request.body.get("reply", ""), request.body.get("answer", "")
        await self.requests.consents.answer(reply, str(session.did), answer)
        return Answer(204, headers=[NO_STORE])

    async def _fitting(self, request: Request, session: Session, found: AgentRequest) -> dict[str, Any]:
        """Return the newest credentials of hers that have the attributes and still hold, and the cursor of older ones. Any issuer adds to
        the list, so the newest page alone could have none."""
        now, cursor = printed(self.requests.kernel.clock.now()), (request.body or {}).get("cursor") or None
        query = ListCredentialsQuery(limit=CREDENTIALS, holder_did=str(session.did), status="active", cursor=cursor)

        def fits(one: Mapping[str, Any]) -> bool:
            return found.attributes <= {*one["attributeNames"]} and (one.get("validUntil") or now) >= now

        listed = self.holder.names.credentials.list_credentials
        fitting, cursor = await ask_until(listed, request, query, session.caller, fits, 1)
        return {"fitting": fitting, "cursor": cursor}
