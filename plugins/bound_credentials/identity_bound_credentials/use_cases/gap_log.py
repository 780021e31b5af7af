"""Published lists of signed gaps in the transparency log: recording them, and getStatusGapsProof.

A list is published first and then recorded, so an unavailable ledger does not delay a revocation; only the proof has to wait. The
store contains what is recorded. After a restore from a copy, the ledger shows it.
"""

from __future__ import annotations

from typing import Final

from identity_transparency.domain import gap_record
from identity_transparency.domain.gap_record import GapRecord
from msgspec import Struct

from identity_bound_credentials.domain.gap_log import record_of
from identity_bound_credentials.domain.gap_shards import Manifest
from identity_bound_credentials.ports import Published
from identity_bound_credentials.store.status_gaps import StoredStatusGaps
from identity_codec.multibase import base64url_decode
from identity_codec.values import replace
from identity_core.errors import StatusListNotFound, VersionConflict
from identity_core.ports.ledger import LedgerBackend
from identity_core.use_cases.transparency import LogPlaces

LOOK_BACK: Final = 256
"""How many of the newest entries of a list are read, where the store does not know an edition: those of at least as many epochs as are
kept, but for a list that is published again every few minutes."""


class RecordGaps(Struct, frozen=True):
    """The recording of an epoch's newest edition in the log, once."""

    gaps: StoredStatusGaps
    ledger: LedgerBackend

    async def __call__(self, list_id: str, epoch: int) -> None:
        """Record the edition. If it is recorded already or not published, do nothing. Raises ``LedgerUnavailable``; a retry is
        safe."""
        published = await self.gaps.published(list_id, epoch)
        if published is None:
            return
        record = record_of(Manifest.from_octets(published.manifest))
        if await self.gaps.recorded(list_id, record.digest) is not None:
            return
        subject = gap_record.subject(list_id)
        size = (await self.ledger.log_size(subject)).entries
        newest = 0
        for line in await self.ledger.entries(subject, after=max(0, size - LOOK_BACK)):
            known = GapRecord.parse(line.entry)
            if known == record:
                # The answer of the ledger was lost, or what the store knew of it.
                await self.gaps.record(list_id, epoch, record.digest, line.receipt.sequence)
                return
            if known.epoch == epoch:
                newest = max(newest, known.edition)
        if newest >= record.edition:
            await self._again(list_id, published, newest)
            return
        try:
            receipt = await self.ledger.append(subject, record.encoded, expected_version=size)
        except VersionConflict:
            # Another process has recorded meanwhile, likely the same: the next step looks again.
            return
        await self.gaps.record(list_id, epoch, record.digest, receipt.sequence)

    async def _again(self, list_id: str, published: Published, newest: int) -> None:
        """Publish the list as the edition after ``newest``, because a store that was then restored from a copy recorded another
        one. Two lists of one edition in the log would count as a forgery. The next step records it."""
        manifest = Manifest.from_octets(published.manifest)
        shards = [await self.gaps.shard(list_id, digest) for digest in manifest.digests]
        data = [one for one in shards if one is not None]
        if len(data) == len(shards):
            next_one = replace(manifest, edition=newest + 1)
            await self.gaps.publish(next_one, data, published.version, after=manifest.edition)


class GetStatusGapsProof(Struct, frozen=True):
    """The C2SP tlog-proof of an edition, by the digest of its manifest. Raises ``StatusListNotFound``: also before
    it is recorded, and without a log."""

    gaps: StoredStatusGaps
    places: LogPlaces

    async def __call__(self, list_id: str, digest: str) -> bytes:
        try:
            sequence = await self.gaps.recorded(list_id, base64url_decode(digest))
        except ValueError:
            raise StatusListNotFound from None
        if sequence is None or self.places.prove is None:
            raise StatusListNotFound
        return await self.places.prove(sequence)
