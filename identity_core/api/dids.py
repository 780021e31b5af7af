"""The handlers of the tag ``dids``, and the form of a DID's versions in answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from identity_codec.structs import UNSET, raw
from identity_codec.times import printed
from identity_core import wire
from identity_core.api import caching
from identity_core.api.caching import AnswerCache, if_match
from identity_core.api.decode import URI, cursor, page_of, position
from identity_core.api.log_answers import did_log_answer
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import Key
from identity_core.errors import InternalError
from identity_core.ports.ledger import Receipt
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.change import DeactivateDid, RecoverDid, Recovered, Rotated, RotateDidKey, UpdateDid
from identity_core.use_cases.dids.create import Created, CreateDid
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.dids.read import GetDidLog, HistoryPage, ListDidHistory, ListDids, ResolveDid

_VERSION: Final = "[1-9][0-9]{0,9}"
_NAMED: Final = frozenset({"authentication", "keyAgreement", "assertionMethod", "recovery"})


class DidHandlers(Struct, frozen=True):
    """Handlers of createDid, listDids, resolveDid, updateDid, deactivateDid, rotateDidKey, recoverDid,
    listDidHistory, getDidLog."""

    reader: DidReader
    create: CreateDid
    resolve: ResolveDid
    update: UpdateDid
    deactivate: DeactivateDid
    rotate: RotateDidKey
    recover: RecoverDid
    history: ListDidHistory
    log: GetDidLog
    owned: ListDids
    cache: AnswerCache

    async def create_did(self, request: Request) -> Answer:
        request.authenticated.require_key("dids:create")
        if request.attempt is not None:
            request.attempt.show = created
        return created(await self.create(request.body, request.context))

    async def list_dids(self, request: Request) -> Answer:
        query: wire.ListDidsQuery = request.query
        heads = await self.owned(query, request.authenticated, after=position(query.cursor, URI, "dids "))
        return listing(heads, query.limit)

    async def resolve_did(self, request: Request) -> Answer:
        media = caching.resolution_media(request.header("accept"))
        query: wire.ResolveDidQuery = request.query
        selected = query.version_id is not None or query.version_time is not None
        text = request.path["did"]
        cached = None if selected else self.cache.find(text, media)
        if cached is None:
            started = time.perf_counter_ns()
            resolution = await self.resolve(self.reader.parse(text), query)
            if resolution.deactivated:
                return caching.answer_gone(request, resolution, media, selected=selected)
            duration = (time.perf_counter_ns() - started) // 1_000_000
            cached = caching.resolution(resolution, media, duration, query, self.reader.clock.now())
            if not selected:
                self.cache.keep(text, media, cached)
        return caching.unless_known(request, cached.etag, cached.answer)

    async def update_did(self, request: Request) -> Answer:
        did = self.reader.parse(request.path["did"])
        context, expected = request.showing(updated), if_match(request)
        return updated(await self.update(did, request.body, request.authorization, context, if_match=expected))

    async def deactivate_did(self, request: Request) -> Answer:
        did = self.reader.parse(request.path["did"])
        expected = if_match(request)
        context = request.showing(deactivated)
        return deactivated(await self.deactivate(did, request.body, request.authorization, context, if_match=expected))

    async def rotate_did_key(self, request: Request) -> Answer:
        did = self.reader.parse(request.path["did"])
        expected = if_match(request)
        context = request.showing(rotated)
        return rotated(await self.rotate(did, request.body, request.authorization, context, if_match=expected))

    async def recover_did(self, request: Request) -> Answer:
        did = self.reader.parse(request.path["did"])
        return recovered(await self.recover(did, request.body, request.authorization, request.showing(recovered)))

    async def list_did_history(self, request: Request) -> Answer:
        did = self.reader.parse(request.path["did"])
        query: wire.ListDidHistoryQuery = request.query
        of = f"history {query.order} {str(did)[-200:]} "
        after = position(query.cursor, _VERSION, of)
        page = await self.history(did, query, after=None if after is None else int(after))
        return history_page(did, page, of, include_document=query.include_document)

    async def get_did_log(self, request: Request) -> Answer:
        return await did_log_answer(self.log, self.reader.parse(request.path["did"]), request)


def issued_key(did: Did, key: Key) -> wire.IssuedKey:
    """Return a key, with its private key only if there is one to return."""
    return wire.IssuedKey(
        key_id=f"{did}#{key.public}", public_key=key.public, private_key=UNSET if key.secret is None else key.secret
    )


def issued_keys(did: Did, keys: Sequence[Key]) -> wire.IssuedKeys:
    """Return the keys by their first purpose. A second key of a purpose, and keys of purposes without a member, are
    in ``additional``."""
    entries: dict[str, wire.IssuedKey] = {}
    additional: list[wire.AdditionalIssuedKey] = []
    for key in keys:
        purpose, shown = key.purposes[0], issued_key(did, key)
        if purpose in _NAMED and purpose not in entries:
            entries[purpose] = shown
        else:
            additional.append(
                wire.AdditionalIssuedKey(
                    key_id=shown.key_id, public_key=shown.public_key, private_key=shown.private_key, purpose=purpose
                )
            )
    return wire.IssuedKeys(
        authentication=entries.get("authentication", UNSET),
        key_agreement=entries.get("keyAgreement", UNSET),
        assertion_method=entries.get("assertionMethod", UNSET),
        recovery=entries.get("recovery", UNSET),
        additional=tuple(additional) or UNSET,
    )


def created(result: Created) -> Answer:
    """Return 201 with the document, the keys and the receipt."""
    version = result.version
    did, receipt = str(version.state.did), _receipt(version)
    body = wire.CreatedDid(
        did=did,
        did_document=raw(version.state.document.encoded),
        keys=issued_keys(version.state.did, result.keys),
        transaction_hash=receipt.transaction_hash,
        block_number=receipt.block_number,
    )
    return Answer(201, body, headers=[NO_STORE, ("Location", f"/api/v1/dids/{did}"), _etag(version)])


def updated(version: IndexedVersion) -> Answer:
    """Return 200 with the new state."""
    receipt = _receipt(version)
    body = wire.UpdatedDid(
        did=str(version.state.did),
        did_document=raw(version.state.document.encoded),
        version_id=version.state.version_id,
        updated=printed(version.state.updated_at),
        transaction_hash=receipt.transaction_hash,
        block_number=receipt.block_number,
    )
    return Answer(200, body, headers=[NO_STORE, _etag(version)])


def deactivated(version: IndexedVersion) -> Answer:
    """Return 200 in the form of the specification."""
    receipt = _receipt(version)
    body = wire.DeactivatedDid(
        did=str(version.state.did),
        deactivated=True,
        transaction_hash=receipt.transaction_hash,
        block_number=receipt.block_number,
    )
    return Answer(200, body, headers=[NO_STORE, _etag(version)])


def rotated(result: Rotated) -> Answer:
    """Return 200 with the new key, once, and the end of the grace period."""
    receipt = _receipt(result.version)
    body = wire.RotatedDidKey(
        new_key=issued_key(result.version.state.did, result.new_key),
        grace_period_end=printed(result.grace_period_end),
        version_id=result.version.state.version_id,
        transaction_hash=receipt.transaction_hash,
        block_number=receipt.block_number,
    )
    return Answer(200, body, headers=[NO_STORE, _etag(result.version)])


def recovered(result: Recovered) -> Answer:
    """Return 200 with the new state and the next recovery key."""
    version, receipt = result.version, _receipt(result.version)
    body = wire.RecoveredDid(
        did=str(version.state.did),
        did_document=raw(version.state.document.encoded),
        version_id=version.state.version_id,
        updated=printed(version.state.updated_at),
        keys=issued_keys(version.state.did, (result.recovery_key,)),
        transaction_hash=receipt.transaction_hash,
        block_number=receipt.block_number,
    )
    return Answer(200, body, headers=[NO_STORE, _etag(version)])


def listing(heads: Sequence[IndexedVersion], limit: int) -> Answer:
    """Return a page of DIDs, with a cursor if there are more."""
    page, following = page_of(heads, limit, lambda head: str(head.state.did), "dids ")
    items = tuple(
        wire.DidSummary(
            did=str(head.state.did),
            version_id=head.state.version_id,
            created=printed(head.state.created_at),
            updated=printed(head.state.updated_at),
            deactivated=head.state.deactivated,
        )
        for head in page
    )
    return Answer(200, wire.DidList(items=items, next_cursor=following), headers=[NO_STORE])


def history_page(did: Did, page: HistoryPage, of: str, *, include_document: bool) -> Answer:
    """Return a page of history. ``of`` names the list in its cursor."""
    body = wire.DidHistory(
        did=str(did),
        total=page.total,
        items=tuple(_history_item(version, include_document=include_document) for version in page.items),
        next_cursor=None if page.after is None else cursor(str(page.after), of),
    )
    return Answer(200, body, headers=[("Cache-Control", f"public, max-age={caching.HEAD_SECONDS}")])


def _history_item(version: IndexedVersion, *, include_document: bool) -> wire.DidVersion:
    """Return one version. ``timestamp``: when the ledger recorded it. ``effective_at``: from when it is in force. It
    has no receipt until it is written."""
    state, receipt = version.state, version.receipt
    return wire.DidVersion(
        version_id=state.version_id,
        operation=state.operation,
        timestamp=printed(state.updated_at if receipt is None else receipt.recorded_at),
        effective_at=printed(state.updated_at),
        transaction_hash=None if receipt is None else receipt.transaction_hash,
        block_number=None if receipt is None else receipt.block_number,
        previous_hash=state.previous_hash,
        entry_hash=None if receipt is None else state.entry_hash,
        key_id=state.key_id,
        changes=tuple(version.changes),
        did_document=raw(state.document.encoded) if include_document else UNSET,
    )


def _etag(version: IndexedVersion) -> tuple[str, str]:
    """Return the entity tag of a write's answer, which If-Match accepts."""
    return ("ETag", f'"{version.state.version_id}"')


def _receipt(version: IndexedVersion) -> Receipt:
    """Return the receipt of a written version."""
    if version.receipt is None:
        raise InternalError
    return version.receipt
