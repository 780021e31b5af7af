"""The one way from a DID to what is recorded about it.

Versions that exist by definition (the end of a grace period, before anybody wrote it) are computed here for every
reader alike, so that resolution, history and writers never disagree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from identity_core.domain import history
from identity_core.domain.did import Did
from identity_core.domain.times import printed
from identity_core.errors import (
    DidDeactivated,
    DidNotFound,
    InvalidDocument,
    NotAcceptable,
    PluginTimeout,
    PluginUnavailable,
)
from identity_core.ports.clock import Clock
from identity_core.ports.did_method import DidMethod, ResolvingDidMethod
from identity_core.ports.repositories import DocumentIndex, IndexedVersion
from identity_core.use_cases.dids.head_check import HeadCheck


@dataclass(frozen=True, slots=True)
class CurrentVersion:
    """The newest written version, and those after it that exist by definition, oldest first."""

    recorded: IndexedVersion
    due: tuple[IndexedVersion, ...]

    @property
    def head(self) -> IndexedVersion:
        """The version in force."""
        return self.due[-1] if self.due else self.recorded


@dataclass(frozen=True, slots=True)
class DidReader:
    """Reads recorded and due versions. ``registered_callers``: whether a DID must be recorded here to authenticate."""

    methods: Mapping[str, DidMethod]
    index: DocumentIndex
    clock: Clock
    check: HeadCheck
    registered_callers: bool = True

    def parse(self, text: str) -> Did:
        """Raises ``InvalidDid`` for bad syntax, also that of the DID's own method; foreign methods are merely unknown."""
        did = Did.parse(text)
        method = self.methods.get(did.method)
        if method is not None:
            method.check(did)
        return did

    async def recorded(self, did: Did, *, decides: bool = False) -> IndexedVersion | None:
        """The newest version that was written, or what the identifier alone tells, or None. ``decides`` as for ``HeadCheck.head``,
        and raises what that does."""
        method = self.methods.get(did.method)
        if method is None:
            # Of a plugin that is not loaded now: nothing is decided by what nobody can check.
            return None if decides else await self.index.head(str(did))
        head = await self.check.head(did, decides=decides)
        if head is not None:
            return head
        state = method.expand(did)
        return None if state is None else IndexedVersion(state, None, (), None)

    async def version(self, did: Did, version_id: int) -> IndexedVersion:
        """A version that the recorded one follows. Raises ``DidQuarantined`` when it is not there."""
        found = await self.index.version(str(did), version_id)
        if found is None:
            raise self.check.incomplete(did, version_id)
        return found

    async def standing(self, did: Did, *, decides: bool = False) -> CurrentVersion:
        """What is recorded and what is due. Raises ``DidNotFound``, ``DidQuarantined``."""
        recorded = await self.recorded(did, decides=decides)
        if recorded is None:
            raise DidNotFound(details={"did": str(did)})
        return CurrentVersion(recorded, self.due(recorded, self.clock.now()))

    async def active(self, did: Did) -> CurrentVersion:
        """The same for a DID that may be used, and is about to be: it is as the ledger has it now. Raises ``DidNotFound``,
        ``DidDeactivated``, ``DidQuarantined``, and ``PluginUnavailable`` where the ledger would have to be asked and cannot."""
        standing = await self.standing(did, decides=True)
        state = standing.head.state
        if state.deactivated:
            raise DidDeactivated(
                details={
                    "did": str(did),
                    "deactivatedAt": printed(state.updated_at),
                    "versionId": state.version_id,
                }
            )
        return standing

    async def caller(self, did: Did) -> CurrentVersion:
        """The same for a DID that signs in. Anybody can make a did:key, so one that is only expanded from its identifier is nobody's
        here. Raises ``DidNotFound`` for it too: that it is not recorded, its history tells anyway."""
        standing = await self.active(did)
        if self.registered_callers and standing.recorded.receipt is None:
            raise DidNotFound(
                "The DID is not registered here; whoever has an API key registers it with createDid.",
                details={"did": str(did)},
            )
        return standing

    async def elsewhere(self, did: Did) -> IndexedVersion | None:
        """What the DID's own method finds of it in the network, for one that is not recorded here.

        Raises ``PluginUnavailable`` when that could not be learnt, ``NotAcceptable`` for a document that no media type of
        this service can show.
        """
        method = self.methods.get(did.method)
        if not isinstance(method, ResolvingDidMethod):
            return None
        try:
            state = await method.resolve(did)
        except InvalidDocument as error:
            raise NotAcceptable(str(error), details={"did": str(did), **error.details}) from error
        except PluginTimeout as error:
            raise PluginUnavailable(details=error.details) from error
        return None if state is None else IndexedVersion(state, None, (), None)

    def due(self, recorded: IndexedVersion, now: datetime) -> tuple[IndexedVersion, ...]:
        """The versions after ``recorded`` that exist by definition at ``now`` and are not written yet."""
        before = recorded.state
        versions = []
        for state in history.expired(before, now):
            versions.append(IndexedVersion(state, None, history.changes(before, state), None))
            before = state
        return tuple(versions)
