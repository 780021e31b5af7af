"""Pages of a DID that signed in. They read and can stop agents; every other change is signed in the page and sent to the API."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from identity_records.handlers import RecordsHandlers
from identity_records.wire import GetDashboardTimelineQuery, SuspendDelegationsRequest
from identity_verification.handlers import VerificationHandlers
from msgspec import Struct

from identity_client.presentation import sentence
from identity_core.api.credentials import CredentialHandlers
from identity_core.api.delegations import DelegationHandlers
from identity_core.api.dids import DidHandlers
from identity_core.api.request import Answer, Handler, Request
from identity_core.errors import Conflict, ProofNotFound
from identity_core.wire import ListCredentialsQuery, ListDelegationsQuery, ResolveDidQuery
from identity_ui.consent import ConsentPages
from identity_ui.names import Names, title_of, titles_of
from identity_ui.operations import ask
from identity_ui.render import page, redirect
from identity_ui.session import Session, Sessions

ROWS: Final = 25
LATEST: Final = 8
"""Rows of the timeline on the page Home."""

STOPS: Final = 200
"""Delegations that a page reads."""

MAX_ID: Final = 256
"""Characters of the id of a proof, as the document has it."""

STOPPABLE: Final = ("active", "scheduled")
ENDED: Final = ("expired", "revoked")
PLACES: Final = (
    "home",
    "agents",
    "consent",
    "activity",
    "credentials",
    "keys",
    "issued",
    "types",
    "issue",
    "results",
    "ask",
)

Show = Callable[[Request, Session], Awaitable[Answer]]


class HolderPages(Struct, frozen=True):
    """Pages of a DID that signed in; no Consent without the extension ``consents``."""

    dids: DidHandlers
    delegations: DelegationHandlers
    credentials: CredentialHandlers
    proofs: VerificationHandlers
    records: RecordsHandlers
    consent: ConsentPages | None
    sessions: Sessions
    names: Names

    def signed_in(self, show: Show) -> Handler:
        """``show`` for who is signed in; everybody else is asked to sign in."""

        async def handler(request: Request) -> Answer:
            session = await self.sessions.find(request)
            if session is None:
                # The last word of the path, so that there is no redirect to a foreign place.
                place = request.raw_path.rpartition(b"/")[2].decode("ascii", "replace")
                return redirect(f"/ui/sign-in?to={place}" if place in PLACES else "/ui/sign-in")
            return await show(request, session)

        return handler

    async def sign_in(self, request: Request) -> Answer:
        place = request.query.get("to", "home")
        place = place if place in PLACES else "home"
        signed_in = await self.sessions.did(request)
        return page("sign_in.html", request, signed_in=signed_in, place=place, origin=self.sessions.origin)

    async def recover(self, request: Request) -> Answer:
        """Show the page for the holder of a recovery key, signed in or not."""
        return page("recover.html", request, signed_in=await self.sessions.did(request))

    async def sign_out(self, request: Request) -> Answer:
        await self.sessions.end(request)
        return redirect("/ui")

    async def home(self, request: Request, session: Session) -> Answer:
        """Return the agents that may act, and the newest rows of the timeline."""
        rows, _ = await self._rows(request, session, GetDashboardTimelineQuery(limit=LATEST))
        own = await self._delegations(request, session, holder_did=session.target)
        last = next((row for row in rows if row["kind"] == "proof.generated"), None)
        waiting = [] if self.consent is None else await self.consent.waiting(session)
        values = {"rows": rows, "own": own["items"], "last": last, "waiting": waiting}
        return await self.page("home.html", request, session, **values)

    async def activity(self, request: Request, session: Session) -> Answer:
        """Return the timeline, of one kind if the query names it."""
        kind = request.query.get("kind") or None
        query = GetDashboardTimelineQuery(kind=kind, limit=ROWS, cursor=request.query.get("cursor"))
        rows, cursor = await self._rows(request, session, query)
        return await self.page("activity.html", request, session, rows=rows, cursor=cursor, kind=kind)

    async def proof(self, request: Request, session: Session) -> Answer:
        path = {"proofId": request.path["proof"]}
        if len(path["proofId"]) > MAX_ID:
            raise ProofNotFound
        found = await self._proof(request, session, path["proofId"])
        item = {"kind": "proof.generated", "outcome": "", "code": None, "actor": None, **found}
        said = sentence(item, session.target, facts_of(found))
        return await self.page("proof.html", request, session, [found["schemaId"]], proof=found, said=said)

    async def agents(self, request: Request, session: Session) -> Answer:
        """Return a card for each delegation: those of hers that can be used, that ended, or that others gave her."""
        state = request.query.get("state", "acting")
        party = "agent_did" if state == "given" else "holder_did"
        found = await self._delegations(request, session, cursor=request.query.get("cursor"), **{party: session.target})
        shown = [one for one in found["items"] if state == "given" or (one["status"] in ENDED) is (state == "ended")]
        values = {"shown": shown, "cursor": found["nextCursor"], "state": state, "narrowed": narrowed}
        stoppable = [one for one in shown if one["status"] in STOPPABLE and state == "acting"]
        schemas = [schema for one in shown for schema in one["schemaIds"] or ()]
        return await self.page("agents.html", request, session, schemas, stoppable=stoppable, **values)

    async def new_agent(self, request: Request, session: Session) -> Answer:
        """Return the form of a delegation, with the attributes of her credentials and their types."""
        found = await self.credentials_of(request, session, holder_did=session.target, status="active")
        schemas = [one["schemaId"] for one in found["items"]]
        read = (await self.names.schemas(request, schemas)).values()
        attributes = {
            each["name"]: each | {"title": title_of(request, each)} for one in read for each in one["attributes"]
        }
        values = {"credentials": found["items"], "attributes": attributes}
        return await self.page("agent_new.html", request, session, schemas, **values)

    async def stop(self, request: Request, session: Session) -> Answer:
        """Suspend one delegation of hers, or all that are active or scheduled. A refusal of one does not keep the others from it."""
        self.sessions.require_change(request)
        caller, stopped, failed = session.caller, [request.body.get("id", "")], []
        if request.body.get("all"):
            handler, body = self.records.suspend_delegations, SuspendDelegationsRequest(all=True)
            found = await ask(handler, "suspendDelegations", request, body=body, caller=caller)
            stopped, failed = found["suspended"], found["failed"]
        else:
            one, path = self.delegations.suspend_delegation, {"delegationId": stopped[0]}
            await ask(one, "suspendDelegation", request, path=path, caller=caller)
        if stopped:
            await self.sessions.record_stop(session, request, stopped)
        if failed:
            raise Conflict("Not every delegation could be stopped.", details={"delegations": failed})
        return redirect("/ui/agents")

    async def credential_list(self, request: Request, session: Session) -> Answer:
        found = await self.credentials_of(request, session, holder_did=session.target)
        return await self.page("credentials.html", request, session, types_of(found), found=found)

    async def keys(self, request: Request, session: Session) -> Answer:
        """Her keys, as her document names them now."""
        path = {"did": session.target}
        found = await ask(self.dids.resolve_did, "resolveDid", request, path=path, query=ResolveDidQuery())
        document = found["didDocument"]
        return await self.page("keys.html", request, session, document=document, session_key=session.key)

    async def page(
        self, template: str, request: Request, session: Session, schemas: Iterable[str] = (), **values: Any
    ) -> Answer:
        """Return the page with the names of the DIDs on it and the titles of these credential types."""
        titles = titles_of(request, await self.names.schemas(request, schemas))
        labels = await self.names.labels(request, session)
        described = await self.names.describe(request, session, values)
        names: dict[str, Any] = {"titles": titles, "labels": labels, "described": described}
        return page(template, request, signed_in=session.target, **names, **values)

    async def _rows(
        self, request: Request, session: Session, query: GetDashboardTimelineQuery
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Return the rows of the timeline with their sentences, and the cursor of the next page."""
        handler = self.records.get_dashboard_timeline
        found = await ask(handler, "getDashboardTimeline", request, query=query, caller=session.caller)
        named = {one["proofId"] for one in found["items"] if one["proofId"] and one["kind"] != "proof.refused"}
        proofs = dict[str, dict[str, Any]]()
        for each in named:
            # A row outlives a proof that was erased, and its sentence then has fewer facts.
            with contextlib.suppress(ProofNotFound):
                proofs[each] = facts_of(await self._proof(request, session, each))
        rows = [one | {"said": sentence(one, session.target, proofs.get(one["proofId"], {}))} for one in found["items"]]
        return [row for row in rows if row["said"]], found["nextCursor"]

    async def _proof(self, request: Request, session: Session, proof_id: str) -> Mapping[str, Any]:
        return await ask(self.proofs.get_proof, "getProof", request, path={"proofId": proof_id}, caller=session.caller)

    async def credentials_of(self, request: Request, session: Session, **query: Any) -> Mapping[str, Any]:
        wanted = ListCredentialsQuery(limit=ROWS, cursor=request.query.get("cursor"), **query)
        handler = self.credentials.list_credentials
        return await ask(handler, "listCredentials", request, query=wanted, caller=session.caller)

    async def _delegations(self, request: Request, session: Session, **query: Any) -> Mapping[str, Any]:
        wanted, handler = ListDelegationsQuery(limit=STOPS, **query), self.delegations.list_delegations
        return await ask(handler, "listDelegations", request, query=wanted, caller=session.caller)


def types_of(credentials: Mapping[str, Any]) -> list[str]:
    """Return the schemas of a page of credentials."""
    return [one["schemaId"] for one in credentials["items"]]


def facts_of(proof: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sentence about a ProofRecord."""
    return {"question": proof["predicates"], "verifier": proof["domain"]}


def narrowed(delegation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request of a delegation that allows no more than ``delegation`` still does: what its holder cannot change in the
    form. Of limits it has what is left; the scope of credentials, schemas and verifiers stays."""
    terms = {name: delegation[name] for name in ("holderDid", "agentDid", "credentialIds", "schemaIds", "verifiers")}
    terms["maxDepth"] = delegation["maxDepth"]
    for limit, used in (("maxRefusals", "refusals"), ("maxThresholds", "thresholds")):
        terms[limit] = None if delegation[limit] is None else max(delegation[limit] - delegation[used], 0)
    if delegation["status"] == "scheduled":
        terms["notBefore"] = delegation["notBefore"]
    return terms | ({"purpose": delegation["purpose"]} if delegation["purpose"] else {})
