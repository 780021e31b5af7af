"""Consent: an agent's request, read by the holder in words, and approved by a delegation of its own and tokens that the page signs.

An agent that the holder knows puts its request into her list. Any other agent gives her a JSON object (``AgentRequest``), pasted or
behind the ``#`` of a link to this page, which sends it to be read at once. She hands the approval back the same way, or the page sends it
if the agent fetches it according to the request (``reply``, the extension ``consents``). Each approval makes a delegation for exactly
these actions, as often as there are tokens and as long as they are good, so that stopping it stops what was approved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from identity_consents.requests import AgentRequest, read_request
from identity_consents.waiting import ConsentRequests, WaitingRequest
from msgspec import Struct

from identity_core.api.credentials import CredentialHandlers
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.errors import AuthRequired, IdentityError, InvalidRequest
from identity_core.wire import ListCredentialsQuery
from identity_ui.names import Names, titles_of
from identity_ui.operations import ask
from identity_ui.render import page
from identity_ui.session import Session, Sessions

NOTHING: Final[dict[str, Any]] = {"text": "", "found": None, "fitting": (), "refusal": None, "waiting": ()}
CREDENTIALS: Final = 200
"""How many of her credentials are looked through for one that has the attributes."""


class ConsentPages(Struct, frozen=True):
    """The form for a request, and the request in words."""

    credentials: CredentialHandlers
    sessions: Sessions
    requests: ConsentRequests
    names: Names

    async def form(self, request: Request, session: Session) -> Answer:
        """Return the requests that wait, or the one of her list that the query names."""
        if id := request.query.get("id"):
            found, _ = await self.requests.get(id, session.caller)
            return await self._show_request(request, session, found.text)
        listed = await self.waiting(session)
        return await self._page(request, session, [one.shown for one in listed], waiting=listed)

    async def waiting(self, session: Session) -> list[WaitingRequest]:
        """Return the requests of her list that have no answer."""
        return [one for one in await self.requests.list(session.caller) if one.status == "waiting"]

    async def read(self, request: Request, session: Session) -> Answer:
        """Return the request in words, with the credentials of hers that could answer it."""
        self.sessions.require_own_page(request)
        return await self._show_request(request, session, request.body.get("request", ""))

    async def _show_request(self, request: Request, session: Session, text: str) -> Answer:
        try:
            found = read_request(text)
            if found.reply:
                self._require_asked(found, session)
        except IdentityError as error:
            return await self._page(request, session, (), 422, text=text, refusal=error)
        fitting = await self._fitting(request, session, found)
        titles = titles_of(request, await self.names.schemas(request, (one["schemaId"] for one in fitting)))
        parties = [{"agentDid": found.agent}, *fitting]
        return await self._page(request, session, parties, text=text, found=found, fitting=fitting, titles=titles)

    async def _page(self, request: Request, session: Session, parties: Any, status: int = 200, **shown: Any) -> Answer:
        """Return the page with the names of the DIDs in ``parties``."""
        shown["labels"] = await self.names.labels(request, session)
        shown["described"] = await self.names.describe(request, session, parties)
        return page("consent.html", request, status=status, signed_in=session.target, **(NOTHING | shown))

    def _require_asked(self, found: AgentRequest, session: Session) -> None:
        """Raise ``InvalidRequest`` for the request of another agent, or to another holder."""
        asked = self.requests.consents.open_reply(found.reply)
        if (asked.agent, asked.holder) != (found.agent, str(session.did)):
            raise InvalidRequest("The agent has sent the request to another holder.")

    async def reply(self, request: Request) -> Answer:
        """204: her answer is kept for the agent. Raises ``Forbidden``, ``StorageMismatch``, ``AuthRequired``, ``InvalidRequest``,
        ``IbctInvalid``."""
        self.sessions.require_change(request)
        session = await self.sessions.find(request)
        if session is None:
            raise AuthRequired
        reply, answer = request.body.get("reply", ""), request.body.get("answer", "")
        await self.requests.consents.answer(reply, str(session.did), answer)
        return Answer(204, headers=[NO_STORE])

    async def _fitting(self, request: Request, session: Session, found: AgentRequest) -> list[Mapping[str, Any]]:
        query = ListCredentialsQuery(limit=CREDENTIALS, holder_did=str(session.did), status="active")
        handler = self.credentials.list_credentials
        listed = await ask(handler, "listCredentials", request, query=query, caller=session.caller)
        return [one for one in listed["items"] if found.attributes <= {*one["attributeNames"]}]
