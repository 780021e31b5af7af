"""resolveDid: the document of a DID, now, at a version or at a time (DID Resolution §4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from identity_core.domain import history
from identity_core.domain.did import Did
from identity_core.domain.times import printed
from identity_core.errors import DidNotFound
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.reader import CurrentVersion, DidReader


@dataclass(frozen=True, slots=True)
class Resolution:
    """One version of a DID, and what its metadata needs.

    ``deactivated`` is the DID's state now, whatever version was asked for. ``following`` is the version after this one.
    ``stale_at`` is when the answer may change by itself (a grace period ends), or None.
    """

    version: IndexedVersion
    deactivated: bool
    deactivated_at: datetime | None
    head_version_id: int
    following: IndexedVersion | None
    stale_at: datetime | None


@dataclass(frozen=True, slots=True)
class ResolveDid:
    """Looks one version up. Raises ``DidNotFound`` for an unknown DID or version, ``DidDeactivated`` for an unknown version of a
    deactivated DID; ``PluginUnavailable`` and ``NotAcceptable`` as ``DidReader.elsewhere`` does."""

    reader: DidReader

    async def __call__(self, did: Did, *, version_id: int | None, version_time: datetime | None) -> Resolution:
        try:
            standing = await self.reader.standing(did)
        except DidNotFound:
            # Of a DID from elsewhere only the present document is known, none by version or time.
            found = await self.reader.elsewhere(did) if version_id is None and version_time is None else None
            if found is None:
                raise
            standing = CurrentVersion(found, ())
        head = standing.head
        version = await self._wanted(did, standing, version_id, version_time)
        following = None
        if version.state.version_id < head.state.version_id:
            following = await self._by_id(did, standing, version.state.version_id + 1)
        return Resolution(
            version=version,
            deactivated=head.state.deactivated,
            deactivated_at=head.state.updated_at if head.state.deactivated else None,
            head_version_id=head.state.version_id,
            following=following,
            stale_at=history.due(head.state),
        )

    async def _wanted(
        self, did: Did, standing: CurrentVersion, version_id: int | None, version_time: datetime | None
    ) -> IndexedVersion:
        try:
            if version_id is not None:
                return await self._by_id(did, standing, version_id)
            if version_time is not None:
                # A future time is answered as of now: a pending expiry must not be predicted, and none is in ``standing``.
                return await self._by_time(did, standing, version_time)
        except DidNotFound:
            # A deactivated DID is gone, whatever version was asked for (contract §2, "deactivated").
            await self.reader.active(did)
            raise
        return standing.head

    async def _by_id(self, did: Did, standing: CurrentVersion, version_id: int) -> IndexedVersion:
        for version in (standing.recorded, *standing.due):
            if version.state.version_id == version_id:
                return version
        if 0 < version_id < standing.recorded.state.version_id:
            return await self.reader.version(did, version_id)
        raise DidNotFound(
            "The DID has no such version.", details={"did": str(did), "versionId": min(version_id, 2**53)}
        )

    async def _by_time(self, did: Did, standing: CurrentVersion, time: datetime) -> IndexedVersion:
        second = time.astimezone(UTC).replace(microsecond=0)
        for version in (*reversed(standing.due), standing.recorded):
            if version.state.updated_at.replace(microsecond=0) <= second:
                return version
        found = await self.reader.index.version_at(str(did), second)
        if found is None:
            first = await self._by_id(did, standing, 1)
            if first.state.updated_at.replace(microsecond=0) <= second:
                raise self.reader.check.incomplete(did, 1)
            raise DidNotFound(
                "The DID did not exist at this time.", details={"did": str(did), "versionTime": printed(second)}
            )
        if found.state.version_id >= standing.recorded.state.version_id:
            return found
        # The next one is later, or the row that the time selects was taken away (and if the next is gone, that is said too).
        following = await self._by_id(did, standing, found.state.version_id + 1)
        if following.state.updated_at.replace(microsecond=0) <= second:
            raise self.reader.check.incomplete(did, found.state.version_id + 1)
        return found
