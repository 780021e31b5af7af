"""What a holder sees when she is signed in. Every page reads; what changes something is signed in the page and sent to the API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal

from identity_records.handlers import RecordsHandlers
from identity_records.wire import GetDashboardTimelineQuery

from identity_codec.values import value_class
from identity_core.api.credentials import CredentialHandlers
from identity_core.api.delegations import DelegationHandlers
from identity_core.api.dids import DidHandlers
from identity_core.api.proofs import ProofHandlers
from identity_core.api.request import Answer, Handler, Request
from identity_core.errors import ProofNotFound
from identity_core.wire import ListCredentialsQuery, ListDelegationsQuery, ResolveDidQuery
from identity_ui.consent import ConsentPages
from identity_ui.operations import ask
from identity_ui.render import page, to
from identity_ui.session import Session, Sessions

ROWS: Final = 25
CARDS: Final = 50
"""How many delegations the agents' cards are made of; a holder with more sees them on the page of delegations."""

STOPS: Final = 200
"""How many delegations of a status are stopped at once; where there are more the button is there again."""

MAX_ID: Final = 256
"""Characters of the id of a proof, as the document has it."""

STOPPABLE: Final[tuple[Literal["active", "scheduled"], ...]] = ("active", "scheduled")
PLACES: Final = ("home", "agents", "consent", "delegations", "proofs", "credentials", "keys", "export")

Show = Callable[[Request, Session], Awaitable[Answer]]


@value_class
class HolderPages:
    """Home, Agents, Consent, Delegations, Proofs, Credentials, Keys, Export, Recover; no Consent without the extension ``consents``."""

    dids: DidHandlers
    delegations: DelegationHandlers
    credentials: CredentialHandlers
    proofs: ProofHandlers
    records: RecordsHandlers
    consent: ConsentPages | None
    sessions: Sessions

    def signed_in(self, show: Show) -> Handler:
        """``show`` for who is signed in; everybody else is asked to sign in."""

        async def handler(request: Request) -> Answer:
            session = await self.sessions.find(request)
            if session is None:
                # The last word of the path, so that no one is sent to a place of somebody else's choosing.
                place = request.raw_path.rpartition(b"/")[2].decode("ascii", "replace")
                return to(f"/ui/sign-in?to={place}" if place in PLACES else "/ui/sign-in")
            return await show(request, session)

        return handler

    async def sign_in(self, request: Request) -> Answer:
        place = request.query.get("to", "home")
        place = place if place in PLACES else "home"
        signed_in = await self.sessions.did(request)
        return page("sign_in.html", request, signed_in=signed_in, place=place, origin=self.sessions.origin)

    async def recover(self, request: Request) -> Answer:
        """For who holds a recovery key, signed in or not."""
        return page("recover.html", request, signed_in=await self.sessions.did(request))

    async def export(self, request: Request, session: Session) -> Answer:
        """Gathered in the page, by her key."""
        return page("export.html", request, signed_in=str(session.did))

    async def sign_out(self, request: Request) -> Answer:
        await self.sessions.end(request)
        return to("/ui")

    async def home(self, request: Request, session: Session) -> Answer:
        """What was done in her name, newest first."""
        return await self._timeline("home.html", request, session, kind=None)

    async def proof_list(self, request: Request, session: Session) -> Answer:
        """Proofs that were made, refused, verified and revoked."""
        return await self._timeline("proofs.html", request, session, kind="proof")

    async def proof(self, request: Request, session: Session) -> Answer:
        path = {"proofId": request.path["proof"]}
        if len(path["proofId"]) > MAX_ID:
            raise ProofNotFound
        found = await ask(self.proofs.get_proof, "getProof", request, path=path, caller=session.caller)
        return page("proof.html", request, signed_in=str(session.did), proof=found)

    async def agents(self, request: Request, session: Session) -> Answer:
        """A card for each agent that holds a delegation of hers."""
        found = await self._delegations(request, session, limit=CARDS, own=True)
        stoppable: list[str] = []
        for status in STOPPABLE:
            of_status = await self._delegations(request, session, limit=STOPS, own=True, status=status)
            stoppable += [one["id"] for one in of_status["items"]]
        return page(
            "agents.html",
            request,
            signed_in=str(session.did),
            cards=agent_cards(found["items"]),
            stoppable=stoppable,
            more=found["nextCursor"] is not None,
        )

    async def delegation_list(self, request: Request, session: Session) -> Answer:
        found = await self._delegations(request, session, limit=ROWS, own=False)
        return page("delegations.html", request, signed_in=str(session.did), found=found, narrowed=narrowed)

    async def credential_list(self, request: Request, session: Session) -> Answer:
        query = ListCredentialsQuery(limit=ROWS, cursor=request.query.get("cursor"))
        found = await ask(
            self.credentials.list_credentials, "listCredentials", request, query=query, caller=session.caller
        )
        return page("credentials.html", request, signed_in=str(session.did), found=found)

    async def keys(self, request: Request, session: Session) -> Answer:
        """Her keys, as her document names them now."""
        path = {"did": str(session.did)}
        found = await ask(self.dids.resolve_did, "resolveDid", request, path=path, query=ResolveDidQuery())
        return page(
            "keys.html", request, signed_in=str(session.did), document=found["didDocument"], session_key=session.key
        )

    async def _timeline(self, template: str, request: Request, session: Session, *, kind: str | None) -> Answer:
        query = GetDashboardTimelineQuery(kind=kind, limit=ROWS, cursor=request.query.get("cursor"))
        found = await ask(
            self.records.get_dashboard_timeline, "getDashboardTimeline", request, query=query, caller=session.caller
        )
        return page(template, request, signed_in=str(session.did), found=found)

    async def _delegations(
        self,
        request: Request,
        session: Session,
        *,
        limit: int,
        own: bool,
        status: Literal["active", "scheduled"] | None = None,
    ) -> Mapping[str, Any]:
        query = ListDelegationsQuery(
            limit=limit,
            cursor=request.query.get("cursor") if status is None else None,
            holder_did=str(session.did) if own else None,
            status=status,
        )
        return await ask(
            self.delegations.list_delegations, "listDelegations", request, query=query, caller=session.caller
        )


def agent_cards(delegations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One card an agent, in the order of its newest delegation: ``{agent, delegations, stoppable}``, the last the ids of what a stop
    suspends."""
    cards: dict[str, dict[str, Any]] = {}
    for one in delegations:
        card = cards.setdefault(one["agentDid"], {"agent": one["agentDid"], "delegations": [], "stoppable": []})
        card["delegations"].append(one)
        if one["status"] in STOPPABLE:
            card["stoppable"].append(one["id"])
    return list(cards.values())


def narrowed(delegation: Mapping[str, Any]) -> dict[str, Any]:
    """The request of a delegation that allows no more than ``delegation`` still does: what its holder cannot change in the form. Of limits
    it has what is left; the scope of credentials, schemas and verifiers stays."""
    terms = {name: delegation[name] for name in ("holderDid", "agentDid", "credentialIds", "schemaIds", "verifiers")}
    terms["maxDepth"] = delegation["maxDepth"]
    for limit, used in (("maxRefusals", "refusals"), ("maxThresholds", "thresholds")):
        terms[limit] = None if delegation[limit] is None else max(delegation[limit] - delegation[used], 0)
    if delegation["status"] == "scheduled":
        terms["notBefore"] = delegation["notBefore"]
    return terms | ({"purpose": delegation["purpose"]} if delegation["purpose"] else {})
