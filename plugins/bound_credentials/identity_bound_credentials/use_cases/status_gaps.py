"""getStatusGaps, getStatusGapShard: the public lists of signed gaps, which are made before each epoch and after each change.

Every process makes missing lists. Signing is deterministic, so two processes that make one edition at once make the same bytes, and
the store accepts it once. The custodian signs, and other requests run between some of the signatures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from msgspec import Struct

from identity_bound_credentials.domain import gap_shards, status_gaps
from identity_bound_credentials.domain.gap_shards import Manifest
from identity_bound_credentials.domain.status_gaps import Gap, StatusEpoch
from identity_bound_credentials.ports import GapList, Published
from identity_bound_credentials.store.status_gaps import StoredStatusGaps
from identity_bound_credentials.use_cases.gap_log import RecordGaps
from identity_client.status_list import StatusListRefused
from identity_codec import multikey
from identity_codec.multibase import base64url_decode
from identity_codec.values import replace
from identity_core.domain.dids.did import Did
from identity_core.errors import (
    DidNotFound,
    IdentityError,
    InvalidCredential,
    InvalidDid,
    LedgerUnavailable,
    StatusListNotFound,
)
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import Custodian
from identity_core.use_cases.background import Repeating
from identity_core.use_cases.credentials.issue import newest_held_key
from identity_core.use_cases.dids.index import DidReader

LEADS: Final = {3_600: timedelta(minutes=10), 86_400: timedelta(hours=1)}
"""How long before an epoch of that many seconds begins its list is made: what is revoked from then on is seen in the next edition."""

EPOCHS_KEPT: Final = 3
"""The current epoch and those before it: a verifier may take one that has ended, and who proves has it from here."""

_LAST_EPOCH: Final = 1 << 31
_AT_ONCE: Final = 8
"""Signatures between two looks at the event loop: some 1.5 ms."""


class StatusListUnpublished(IdentityError):
    """A list that could not be published. ``details`` name the list and the reason."""

    message = "A list of revoked handles cannot be made."


class GetStatusGaps(Struct, frozen=True):
    """The published manifest of an epoch. Raises ``StatusListNotFound``."""

    gaps: StoredStatusGaps

    async def __call__(self, list_id: str, epoch: str) -> bytes:
        # One number has one address, else caches would hold it many times.
        if not (epoch.isascii() and epoch.isdecimal()) or str(int(epoch)) != epoch or int(epoch) > _LAST_EPOCH:
            raise StatusListNotFound
        found = await self.gaps.published(list_id, int(epoch))
        if found is None:
            raise StatusListNotFound
        return found.manifest


class GetStatusGapShard(Struct, frozen=True):
    """A stored shard of any edition. Raises ``StatusListNotFound``."""

    gaps: StoredStatusGaps

    async def __call__(self, list_id: str, digest: str) -> bytes:
        try:
            data = await self.gaps.shard(list_id, base64url_decode(digest))
        except ValueError:
            raise StatusListNotFound from None
        if data is None:
            raise StatusListNotFound
        return data


@dataclass(slots=True)
class PublishStatusGaps(Repeating):
    """The job that publishes the lists. One step brings every list up to date. A list that cannot be signed does not delay the
    others."""

    complaint = "a list of revoked handles is not published"
    interval_seconds = 30.0

    gaps: StoredStatusGaps
    custodian: Custodian
    clock: Clock
    key_of: Callable[[GapList], Awaitable[str]] | None = None
    """Which key signs a list now; without it a list keeps the key that it was begun with."""
    record: RecordGaps | None = None
    """What brings published lists into the transparency log, where there is one."""

    async def step(self) -> float:
        """Bring all lists up to date, and then raise the first refusal."""
        refusal: IdentityError | None = None
        for gap_list in await self.gaps.lists():
            try:
                await self.bring_up(gap_list)
                await self._record(gap_list)
            except IdentityError as error:
                refusal = refusal or error
        if refusal is not None:
            raise refusal
        return self.interval_seconds

    async def bring_up(self, gap_list: GapList) -> None:
        """Publish the list of the current epoch, and of the next one when it is time. Raises ``StatusListUnpublished``, and what
        the custodian raises."""
        try:
            await self._bring_up(gap_list)
        except StatusListRefused as refused:
            # One list, or a row of it that another program wrote, must not end the task that publishes all of them.
            raise StatusListUnpublished(details={"list": gap_list.id, "reason": str(refused)}) from refused

    async def begin_list(self, gap_list: GapList) -> None:
        """Publish the list of the current epoch if there is none yet, so that a credential never names a missing list. Raises as
        ``bring_up`` does."""
        current = status_gaps.epoch_at(self.clock.now(), gap_list.period)
        if await self.gaps.published(gap_list.id, current) is None:
            await self.bring_up(gap_list)
            # The list is there, which is what a credential needs; the next step records it where the ledger is down.
            with suppress(LedgerUnavailable):
                await self._record(gap_list)

    async def _bring_up(self, gap_list: GapList) -> None:
        now = self.clock.now()
        if self.key_of is not None and (method := await self.key_of(gap_list)) != gap_list.method:
            # The issuer has replaced the key: verifiers take the old one's gaps only as long as the document lists it.
            await self.gaps.sign_with(gap_list.id, method)
            gap_list = replace(gap_list, method=method, version=gap_list.version + 1)
        epochs = _epochs(now, gap_list.period)
        for number in epochs:
            epoch = StatusEpoch(gap_list.issuer, gap_list.method, gap_list.id, number, gap_list.period)
            await self._publish(gap_list, epoch)
        await self.gaps.forget(gap_list.id, before=epochs.start + 1 - EPOCHS_KEPT)

    async def _record(self, gap_list: GapList) -> None:
        if self.record is not None:
            for number in _epochs(self.clock.now(), gap_list.period):
                await self.record(gap_list.id, number)

    async def _publish(self, gap_list: GapList, epoch: StatusEpoch) -> None:
        before = await self.gaps.published(gap_list.id, epoch.epoch)
        if before is not None and before.version == gap_list.version:
            return
        version, handles = await self.gaps.listed(gap_list.id, last_day=epoch.earliest_last_day)
        ends = status_gaps.chain(handles)
        edition, known = 1, dict[Gap, bytes]()
        if before is not None:
            edition, known = await self._signed_before(gap_list, before)
        signatures = await self._signatures(epoch, ends, known)
        manifest, shards = gap_shards.publish(epoch, edition, ends, signatures)
        await self.gaps.publish(manifest, shards, version)

    async def _signatures(self, epoch: StatusEpoch, ends: Sequence[int], known: dict[Gap, bytes]) -> list[bytes]:
        """Return the signature of every gap, reusing those of the edition before."""
        header, signatures = epoch.header, list[bytes]()
        for index, gap in enumerate(pairwise(ends)):
            signature = known.get(Gap(*gap))
            if signature is None:
                signature = await self.custodian.sign_bbs(epoch.method, header, gap)
                if index % _AT_ONCE == 0:
                    await asyncio.sleep(0)
            signatures.append(signature)
        return signatures

    async def _signed_before(self, gap_list: GapList, before: Published) -> tuple[int, dict[Gap, bytes]]:
        """Return the number of the next edition, and the reusable signatures of the one before, which are those of the same key."""
        manifest = Manifest.from_octets(before.manifest)
        known: dict[Gap, bytes] = {}
        if manifest.epoch.method != gap_list.method:
            return manifest.edition + 1, known
        for number, digest in enumerate(manifest.digests):
            data = await self.gaps.shard(gap_list.id, digest)
            # What is not there, or not as it was published, is signed anew.
            with suppress(StatusListRefused):
                shard = manifest.open(number, data or b"")
                gaps = (Gap(*ends) for ends in pairwise(shard.ends))
                known |= zip(gaps, shard.signatures, strict=True)
        return manifest.edition + 1, known


def _epochs(now: datetime, period: int) -> range:
    """Return the epochs whose lists are published at ``now``: the current one, and the next when it is time."""
    return range(status_gaps.epoch_at(now, period), status_gaps.epoch_at(now + LEADS[period], period) + 1)


class ListKeys(Struct, frozen=True):
    """The choice of the key that signs an issuer's list of signed gaps."""

    reader: DidReader
    custodian: Custodian

    async def __call__(self, gap_list: GapList) -> str:
        """Return the id of the issuer's newest key that is held here and came with a proof of possession; the list's own if there
        is none or the issuer is not in force, because no verifier would accept any key then. Raises what the custodian does."""
        try:
            state = (await self.reader.read_current(Did.parse(gap_list.issuer))).head.state
            if state.deactivated:
                return gap_list.method
            method, key = await newest_held_key(self.custodian, state.document)
        except (DidNotFound, InvalidCredential, InvalidDid):
            return gap_list.method
        is_proven = multikey.encode_public(multikey.BLS12381G2, key.raw) in (state.proven_keys or ())
        return method if is_proven else gap_list.method
