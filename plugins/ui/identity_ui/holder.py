"""Pages of a DID that signed in. They read and can stop agents; every other change is signed in the page and sent to the API."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import count
from typing import Any, Final

from identity_consents.waiting import ConsentRequests
from identity_records.wire import GetDashboardTimelineQuery, ListVerificationHistoryQuery, SuspendDelegationsRequest
from identity_verification.handlers import VerificationHandlers
from msgspec import Struct

from identity_client.presentation import sentence
from identity_core.api.delegations import DelegationHandlers
from identity_core.api.dids import DidHandlers
from identity_core.api.request import Answer, Handler, Request
from identity_core.errors import Conflict, CredentialNotFound, DelegationNotFound, ProofNotFound
from identity_core.wire import ListCredentialsQuery, ListDelegationsQuery, ListDidHistoryQuery, ResolveDidQuery
from identity_ui.history import key_lives
from identity_ui.names import Names, title_of, titles_of
from identity_ui.operations import ask, ask_until
from identity_ui.render import page, redirect
from identity_ui.session import Session, Sessions

ROWS: Final = 25
LATEST: Final = 8
"""Rows of the timeline on the page Home."""

STOPS: Final = 200
"""Delegations that a page reads, and rows of the histories that it searches for one proof or counts."""


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
    """Pages of a DID that signed in; no requests without the extension ``consents``."""

    dids: DidHandlers
    delegations: DelegationHandlers
    proofs: VerificationHandlers
    requests: ConsentRequests | None
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
        own = await self._acting(request, session)
        proofs, _ = await self._rows(request, session, GetDashboardTimelineQuery(kind="proof.generated", limit=1))
        return await self.page("home.html", request, session, rows=rows, own=own, last=next(iter(proofs), None))

    async def activity(self, request: Request, session: Session) -> Answer:
        """Return the timeline, of one kind, with one agent and before a day if the query names them."""
        kind, agent, day, cursor = (request.query.get(name) or None for name in ("kind", "agent", "before", "cursor"))
        wanted = GetDashboardTimelineQuery(kind=kind, limit=ROWS, before=day and f"{day}T00:00:00Z", cursor=cursor)
        rows, cursor = await self._rows(request, session, wanted, agent)
        chosen = {"kind": kind, "agent": agent, "before": day}
        return await self.page("activity.html", request, session, rows=rows, cursor=cursor, chosen=chosen)

    async def proof(self, request: Request, session: Session) -> Answer:
        path = {"proofId": request.path["proof"]}
        if len(path["proofId"]) > MAX_ID:
            raise ProofNotFound
        found = await self._proof(request, session, path["proofId"])
        item = {"kind": "proof.generated", "outcome": "", "code": None, "actor": None, **found}
        values: dict[str, Any] = {
            "proof": found,
            "said": sentence(item, session.target, facts_of(found)),
            "under": None,
        }
        wanted = ListVerificationHistoryQuery(from_=found["createdAt"], issuer_did=found["issuerDid"], limit=STOPS)
        listed = self.names.records.list_verification_history
        checked = await ask(listed, request, query=wanted, caller=session.caller)
        values["checked"] = [one for one in checked["items"] if one["proofId"] == found["proofId"]]
        # A proof outlives the permission that was erased.
        with contextlib.suppress(DelegationNotFound):
            values["under"] = await self._delegation(request, session, found["delegationId"])
        return await self.page("proof.html", request, session, [found["schemaId"]], **values)

    async def agents(self, request: Request, session: Session) -> Answer:
        """Return a card for each delegation: those of hers that can be used, that ended, or that others gave her."""
        state = request.query.get("state", "acting")
        own, given, cursor = {"holder_did": session.target}, {"agent_did": session.target}, request.query.get("cursor")
        (given if state == "given" else own)["cursor"] = cursor
        listed, acting = await self._delegations(request, session, **own), await self._acting(request, session)
        others = await self._delegations(request, session, **given)
        ended = [one for one in listed["items"] if one["status"] in ENDED]
        tabs = {"acting": acting, "ended": ended, "given": others["items"]}
        shown, cursor = tabs.get(state, acting), (others if state == "given" else listed)["nextCursor"]
        values = {"shown": shown, "cursor": cursor, "state": state, "tabs": tabs, "narrowed": narrowed}
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
            body = SuspendDelegationsRequest(all=True)
            found = await ask(self.names.records.suspend_delegations, request, body=body, caller=caller)
            stopped, failed = found["suspended"], found["failed"]
        else:
            path = {"delegationId": stopped[0]}
            await ask(self.delegations.suspend_delegation, request, path=path, caller=caller)
        if stopped:
            await self.sessions.record_stop(session, request, stopped)
        if failed:
            raise Conflict("Not every delegation could be stopped.", details={"delegations": failed})
        return redirect("/ui/agents")

    async def credential_list(self, request: Request, session: Session) -> Answer:
        found = await self.credentials_of(request, session, holder_did=session.target)
        wanted = GetDashboardTimelineQuery(kind="proof", limit=STOPS)
        read = self.names.records.get_dashboard_timeline
        asked = await ask(read, request, query=wanted, caller=session.caller)
        return await self.page("credentials.html", request, session, types_of(found), found=found, asked=asked)

    async def keys(self, request: Request, session: Session) -> Answer:
        """Return the page of her keys, as her document names them now, with the times at which they were added."""
        path, newest = {"did": session.target}, ListDidHistoryQuery(limit=STOPS, order="desc")
        found = await ask(self.dids.resolve_did, request, path=path, query=ResolveDidQuery())
        versions = (await ask(self.dids.list_did_history, request, path=path, query=newest))["items"]
        at, lives = {one["versionId"]: one["timestamp"] for one in versions}, key_lives(versions)
        since = {key: at[life["added"]] for key, life in lives.items() if "added" in life}
        values = {"document": found["didDocument"], "session_key": session.key, "since": since}
        return await self.page("keys.html", request, session, **values)

    async def page(
        self, template: str, request: Request, session: Session, schemas: Iterable[str] = (), **values: Any
    ) -> Answer:
        """Return the page with the names of the DIDs on it and the titles of these credential types."""
        titles = titles_of(request, await self.names.schemas(request, schemas))
        labels = await self.names.labels(request, session)
        asked = () if self.requests is None else await self.requests.list(session.caller)
        waiting = [one for one in asked if one.status == "waiting"]
        parties = {**values, "did": session.target, "waiting": [one.shown for one in waiting]}
        described = await self.names.describe(request, session, parties)
        names: dict[str, Any] = {"titles": titles, "labels": labels, "described": described, "waiting": waiting}
        return page(template, request, signed_in=session.target, **names, **values)

    async def _rows(
        self, request: Request, session: Session, query: GetDashboardTimelineQuery, agent: str | None = None
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Return the rows of the timeline with their sentences, and the cursor of the next page."""
        listed, most = self.names.records.get_dashboard_timeline, ROWS if agent else 0
        rows, cursor = await ask_until(
            listed, request, query, session.caller, lambda one: agent in (None, one["agentDid"]), most
        )
        rows = [one | {"said": sentence(one, session.target, await self._facts(request, session, one))} for one in rows]
        return [row for row in rows if row["said"]], cursor

    async def _facts(self, request: Request, session: Session, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the sentence of a row may state. A row outlives what was erased, and has fewer facts then."""
        with contextlib.suppress(ProofNotFound, DelegationNotFound, CredentialNotFound):
            if row["kind"] == "delegation.created":
                return permitted(await self._delegation(request, session, row["delegationId"]))
            if row["kind"] == "credential.issued":
                path, read = {"credentialId": row["credentialId"]}, self.names.credentials.get_credential
                schema = (await ask(read, request, path=path, caller=session.caller))["schemaId"]
                return {"type": titles_of(request, await self.names.schemas(request, [schema])).get(schema)}
            if row["proofId"] and row["kind"] != "proof.refused":
                return facts_of(await self._proof(request, session, row["proofId"]))
        return {}

    async def _proof(self, request: Request, session: Session, proof_id: str) -> Mapping[str, Any]:
        return await ask(self.proofs.get_proof, request, path={"proofId": proof_id}, caller=session.caller)

    async def _delegation(self, request: Request, session: Session, id: str) -> Mapping[str, Any]:
        path = {"delegationId": id}
        return await ask(self.delegations.get_delegation, request, path=path, caller=session.caller)

    async def credentials_of(self, request: Request, session: Session, **query: Any) -> Mapping[str, Any]:
        wanted = ListCredentialsQuery(limit=ROWS, cursor=request.query.get("cursor"), **query)
        return await ask(self.names.credentials.list_credentials, request, query=wanted, caller=session.caller)

    async def _acting(self, request: Request, session: Session) -> list[dict[str, Any]]:
        """Return the permissions of hers that have not ended: all that she gave, and the newest that agents passed on."""
        passed_on, found, listed = count(), list[dict[str, Any]](), self.delegations.list_delegations
        for status in ("active", "scheduled", "suspended", "exhausted"):
            query = ListDelegationsQuery(limit=STOPS, holder_did=session.target, status=status)

            def accept(one: Mapping[str, Any]) -> bool:
                return one["parentId"] is None or next(passed_on) < STOPS

            found += (await ask_until(listed, request, query, session.caller, accept, sys.maxsize))[0]
        return found

    async def _delegations(self, request: Request, session: Session, **query: Any) -> Mapping[str, Any]:
        wanted = ListDelegationsQuery(limit=STOPS, **query)
        return await ask(self.delegations.list_delegations, request, query=wanted, caller=session.caller)


def types_of(credentials: Mapping[str, Any]) -> list[str]:
    """Return the schemas of a page of credentials."""
    return [one["schemaId"] for one in credentials["items"]]


def permitted(delegation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts about a delegation: its question if all values are fixed, and its only verifier."""
    fixed = [one | {"value": one["values"][0]} for one in delegation["predicates"] if len(one["values"]) == 1]
    verifiers = delegation["verifiers"] or []
    asked = fixed if len(fixed) == len(delegation["actions"]) else None
    return {"question": asked, "verifier": verifiers[0] if len(verifiers) == 1 else None}


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
