"""Names for people instead of identifiers: nicknames of DIDs, and titles of credential types and attributes in the reader's language."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from identity_records.handlers import RecordsHandlers
from identity_records.wire import DescribeDidsRequest
from msgspec import Struct, field

from identity_core.api.credentials import CredentialHandlers
from identity_core.api.request import Request
from identity_core.cache import BoundedCache
from identity_core.errors import InvalidDid, SchemaNotFound
from identity_ui.catalogues import language_of
from identity_ui.operations import ask
from identity_ui.session import Session

SCHEMAS_KEPT: Final = 256
MOST_DESCRIBED: Final = 50


class Names(Struct, frozen=True):
    """Schemas are read once: they do not change."""

    credentials: CredentialHandlers
    records: RecordsHandlers
    known: BoundedCache[str, Mapping[str, Any]] = field(default_factory=lambda: BoundedCache(SCHEMAS_KEPT))

    async def labels(self, request: Request, session: Session | None) -> dict[str, str]:
        """Return the nicknames that the reader gave, by DID; none for who is not signed in."""
        if session is None:
            return {}
        found = await ask(self.records.list_labels, request, caller=session.caller)
        return {one["did"]: one["label"] for one in found["items"]}

    async def describe(self, request: Request, session: Session, values: Any) -> dict[str, Mapping[str, Any]]:
        """Return the answer of describeDids for the DIDs in ``values``, by DID; nothing if one of them is malformed user input."""
        dids = tuple(sorted(dids_in(values)))[:MOST_DESCRIBED]
        with contextlib.suppress(InvalidDid):
            body = DescribeDidsRequest(dids=dids)
            found = await ask(self.records.describe_dids, request, body=body, caller=session.caller)
            return {one["did"]: one for one in found["items"]}
        return {}

    async def schemas(self, request: Request, ids: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """Return the schemas of ``ids`` as getCredentialSchema answers, without those that are not registered here."""
        wanted = [*dict.fromkeys(ids)]
        found = await asyncio.gather(*(self._schema(request, one) for one in wanted))
        return {id: one for id, one in zip(wanted, found, strict=True) if one is not None}

    async def _schema(self, request: Request, schema_id: str) -> Mapping[str, Any] | None:
        known = self.known.get(schema_id)
        if known is not None:
            return known
        try:
            found = await ask(self.credentials.get_credential_schema, request, path={"schemaId": schema_id})
            return self.known.store(schema_id, found)
        except SchemaNotFound:
            return None


class DidName(Struct, frozen=True):
    """The name of a DID. ``kind``: ``label`` by the reader, ``domain`` proved by its website, ``claim`` of its own, or ``did``."""

    text: str
    kind: str


def name_of(did: str, labels: Mapping[str, str], described: Mapping[str, Mapping[str, Any]]) -> DidName:
    """Return the nickname, else the website that names the DID as its own, else its claim in quotation marks, else the short DID."""
    known = described.get(did, {})
    domain, claim = (known.get("domain") or {}).get("origin"), known.get("claim")
    names = {"label": labels.get(did), "domain": domain, "claim": claim and f"“{claim}”", "did": short(did)}
    return next(DidName(text, kind) for kind, text in names.items() if text)


def dids_in(value: Any) -> set[str]:
    """Return the DIDs in the members ``did`` and ``…Did`` of JSON values."""
    if isinstance(value, list | tuple):
        return set().union(*map(dids_in, value))
    if not isinstance(value, dict):
        return set()
    named = {one for name, one in value.items() if name.lower().endswith("did") and isinstance(one, str)}
    return named.union(*map(dids_in, value.values()))


def short(did: str) -> str:
    """Return a DID as people recognize it: method, first and last four characters; the whole host where it is part of the DID."""
    if did.startswith(("did:web:", "did:webvh:")):
        return re.sub("^(did:webvh:)[^:]+", r"\1…", did)
    method, _, rest = did.rpartition(":")
    return did if len(rest) < 14 else f"{method}:{rest[:4]}…{rest[-4:]}"


class Title(str):
    """A title. ``lang`` is None in the language of the reader, else the language that it is in, empty if that is unknown."""

    lang: str | None = ""


def titles_of(request: Request, schemas: Mapping[str, Mapping[str, Any]]) -> dict[str, Title]:
    """Return the title of each schema that has one, by its id."""
    return {id: title for id, one in schemas.items() if (title := title_of(request, one))}


def title_of(request: Request, titled: Mapping[str, Any]) -> Title:
    """Return the title of a schema or an attribute in the language of the reader, else its title, else one in another language."""
    language, titles = language_of(request.header("accept-language")), titled.get("titles", {})
    found = language if language in titles else "" if "title" in titled else next(iter(titles), "")
    title = Title(titles.get(found) or titled.get("title", ""))
    title.lang = None if found == language else found
    return title
