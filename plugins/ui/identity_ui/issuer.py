"""Pages of an issuer: its credential types, the form of a credential, and the credentials that it issued."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from identity_records.wire import GetCredentialStatsQuery
from msgspec import Struct

from identity_core.api.request import Answer, Request
from identity_core.wire import ListCredentialSchemasQuery
from identity_ui.holder import HolderPages, types_of
from identity_ui.names import Title, title_of
from identity_ui.operations import ask, ask_until
from identity_ui.session import Session

STATUSES: Final = ("active", "suspended", "revoked")


class IssuerPages(Struct, frozen=True):
    """Pages of a DID that issues."""

    holder: HolderPages

    async def types(self, request: Request, session: Session) -> Answer:
        """Return the credential types that the issuer registered."""
        types, (counts, _) = await self._types(request, session), await self._counts(request, session)
        chosen = request.query.get("type")
        return await self.holder.page("issuer_types.html", request, session, types=types, counts=counts, chosen=chosen)

    async def form(self, request: Request, session: Session) -> Answer:
        """Return the form of a credential of the type that the query names, else the choice of a type."""
        types = await self._types(request, session)
        known = await self.holder.names.schemas(request, filter(None, [request.query.get("type", "")]))
        chosen = next(iter(known.values()), None)
        fields = [
            one | {"label": title_of(request, one) or Title(one["name"])}
            for one in (chosen or {}).get("attributes", ())
        ]
        return await self.holder.page("issuer_issue.html", request, session, types=types, chosen=chosen, fields=fields)

    async def issued(self, request: Request, session: Session) -> Answer:
        """Return the credentials that the issuer issued, of one status, type or holder if the query names it."""
        query = {name: request.query.get(name) or None for name in ("status", "holder", "type")}
        status = query["status"] if query["status"] in STATUSES else None
        found = await self.holder.credentials_of(
            request, session, issuer_did=session.target, status=status, holder_did=query["holder"]
        )
        shown = [one for one in found["items"] if query["type"] in (None, one["schemaId"])]
        types = await self._types(request, session)
        schemas = [*types_of(found), *(one["id"] for one in types)]
        values = {"shown": shown, "types": types, "chosen": query, "cursor": found["nextCursor"]}
        counts, values["published"] = await self._counts(request, session)
        members = ("valid", "suspended", "revoked", "endingIn30Days")
        values["counts"] = {name: sum(one[name] for one in counts.values()) for name in members}
        return await self.holder.page("issued.html", request, session, schemas, **values)

    async def _counts(self, request: Request, session: Session) -> tuple[dict[str, Mapping[str, Any]], str | None]:
        """Return how many credentials there are, by the id of their type, and when the newest list of gaps was published."""
        wanted = GetCredentialStatsQuery(issuer_did=session.target)
        found = await ask(self.holder.names.records.get_credential_stats, request, query=wanted, caller=session.caller)
        return {one["schemaId"]: one for one in found["items"]}, found["statusList"]["publishedAt"]

    async def _types(self, request: Request, session: Session) -> list[Mapping[str, Any]]:
        listed, query = self.holder.names.credentials.list_credential_schemas, ListCredentialSchemasQuery(limit=200)
        found, _ = await ask_until(
            listed,
            request,
            query,
            session.caller,
            lambda one: one["createdBy"].get("did") == session.target,
            sys.maxsize,
        )
        return [{**one, "name": title_of(request, one)} for one in found]
