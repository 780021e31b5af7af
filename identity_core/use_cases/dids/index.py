"""Reads of DIDs: the recorded versions, and those that exist by definition.

Versions that exist by definition (the end of a grace period, before it is written) are computed here for every reader, so that
resolution, history and writers always agree.

The module also updates the document index from the ledger: at every startup, and while the service runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from msgspec import Struct

from identity_codec.times import printed
from identity_core.domain.dids import logs
from identity_core.domain.dids import state as history
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.logs import check_not_retired
from identity_core.domain.dids.state import DidState
from identity_core.errors import (
    DidDeactivated,
    DidNotFound,
    DidQuarantined,
    IdentityError,
    InvalidDocument,
    NotAcceptable,
    PluginTimeout,
    PluginUnavailable,
)
from identity_core.ports.clock import Clock
from identity_core.ports.did_method import DidMethod, ResolvingDidMethod
from identity_core.ports.ledger import LedgerBackend, LedgerEntry
from identity_core.ports.repositories import DocumentIndex, IndexedVersion
from identity_core.use_cases.background import Repeating
from identity_core.use_cases.dids.head_check import HeadCheck


class CurrentVersion(Struct, frozen=True):
    """The newest written version, and the later versions that exist by definition, oldest first."""

    recorded: IndexedVersion
    due: tuple[IndexedVersion, ...]

    @property
    def head(self) -> IndexedVersion:
        """The version in force."""
        return self.due[-1] if self.due else self.recorded


class DidReader(Struct, frozen=True):
    """A reader of recorded and due versions. ``registered_callers``: whether a DID must be recorded here to authenticate."""

    methods: Mapping[str, DidMethod]
    index: DocumentIndex
    clock: Clock
    check: HeadCheck
    registered_callers: bool = True

    def parse(self, text: str) -> Did:
        """Parse a DID. Raises ``InvalidDid``: when its syntax is invalid, also by the rules of its method. A DID of a foreign method
        passes."""
        did = Did.parse(text)
        method = self.methods.get(did.method)
        if method is not None:
            method.check(did)
        return did

    async def recorded(self, did: Did, *, decides: bool = False) -> IndexedVersion | None:
        """Return the newest written version, or the state that the identifier alone determines, or None. ``decides`` is that of
        ``HeadCheck.head``, whose errors it raises."""
        method = self.methods.get(did.method)
        if method is None:
            # The plugin of the method is not loaded: no decision may depend on a head that cannot be checked.
            return None if decides else await self.index.head(str(did))
        head = await self.check.head(did, decides=decides)
        if head is not None:
            return head
        state = method.expand(did)
        return None if state is None else IndexedVersion(state, None)

    async def followed(
        self, did: Did, version_id: int, recorded: IndexedVersion
    ) -> tuple[IndexedVersion, IndexedVersion]:
        """Return a version before ``recorded``, and the next one. Raises ``DidQuarantined``: when one of them is missing."""
        is_last = version_id + 1 == recorded.state.version_id
        stored = await self.index.versions(str(did), after=version_id - 1, limit=1 if is_last else 2, descending=False)
        found = [*stored, recorded] if is_last else stored
        numbers = [version.state.version_id for version in found]
        for number in (version_id, version_id + 1):
            if number not in numbers:
                raise self.check.incomplete(did, number)
        return found[0], found[1]

    async def read_current(self, did: Did, *, decides: bool = False) -> CurrentVersion:
        """Return the recorded and the due versions. Raises ``DidNotFound``, ``DidQuarantined``."""
        recorded = await self.recorded(did, decides=decides)
        if recorded is None:
            raise DidNotFound(details={"did": did.safe_text})
        return CurrentVersion(recorded, self.find_due_versions(recorded, self.clock.now()))

    async def active(self, did: Did) -> CurrentVersion:
        """Return the current version of an active DID before it is used: its state on the ledger now. Raises ``DidNotFound``,
        ``DidDeactivated``, ``DidQuarantined``. Raises ``PluginUnavailable``: when the ledger is needed and unavailable."""
        recorded = self.check.find_cached_head(did) if did.method in self.methods else None
        if recorded is not None:
            return in_use(did, CurrentVersion(recorded, self.find_due_versions(recorded, self.clock.now())))
        return in_use(did, await self.read_current(did, decides=True))

    async def caller(self, did: Did) -> CurrentVersion:
        """Return the current version of a DID that signs in, as ``active`` does. Any client can make a did:key, so one that is only
        expanded from its identifier has no owner here. Raises ``DidNotFound`` for it too, if callers must be registered: its history
        is public and shows that it is not recorded."""
        standing = await self.active(did)
        if self.registered_callers and standing.recorded.receipt is None:
            raise DidNotFound(
                "The DID is not registered here; the owner of an API key registers it with createDid.",
                details={"did": str(did)},
            )
        return standing

    async def elsewhere(self, did: Did) -> IndexedVersion | None:
        """Return the version that the DID's own method finds in the network, for a DID that is not recorded here.

        Raises ``PluginUnavailable``: when the network did not answer. Raises ``NotAcceptable``: when no media type of this service can
        show the document.
        """
        method = self.methods.get(did.method)
        # First, because any client could otherwise trigger the resolution again and again with unknown DIDs.
        if not hasattr(method, "resolve") or not isinstance(method, ResolvingDidMethod):
            return None
        try:
            state = await method.resolve(did)
        except InvalidDocument as error:
            raise NotAcceptable(str(error), details={"did": str(did), **error.details}) from error
        except PluginTimeout as error:
            raise PluginUnavailable(details=error.details) from error
        return None if state is None else IndexedVersion(state, None)

    def find_due_versions(self, recorded: IndexedVersion, now: datetime) -> tuple[IndexedVersion, ...]:
        """Return the versions after ``recorded`` that exist by definition at ``now`` and are not written yet."""
        before = recorded.state
        versions = []
        for state in history.expired(before, now):
            versions.append(IndexedVersion(state, None, logs.changes(before, state)))
            before = state
        return tuple(versions)


def in_use(did: Did, standing: CurrentVersion) -> CurrentVersion:
    """Return ``standing`` if the DID is active. Raises ``DidDeactivated``."""
    state = standing.head.state
    if state.deactivated:
        raise DidDeactivated(
            details={"did": str(did), "deactivatedAt": printed(state.updated_at), "versionId": state.version_id}
        )
    return standing


PAGE = 500


class CatchUp(Struct, frozen=True):
    """The fold of every ledger entry after the index's cursor. A DID becomes suspect and is skipped if no method accepts its
    entries, because another program wrote to the ledger, or if its rows are not ours. All others continue."""

    methods: Mapping[str, DidMethod]
    ledger: LedgerBackend
    index: DocumentIndex
    check: HeadCheck

    async def __call__(self) -> int:
        """Index the entries after the cursor. Return their number."""
        done = 0
        cursor = await self.index.cursor()
        while lines := await self.ledger.entries_after(cursor, PAGE):
            await self.check.generations.now()
            versions, withheld = await self._folded(lines)
            await self.index.record(versions)
            cursor = lines[-1].receipt.sequence
            if withheld:
                await self.index.pass_over(cursor)
            done += len(versions)
        return done

    async def _folded(self, lines: Sequence[LedgerEntry]) -> tuple[list[IndexedVersion], set[str]]:
        """Return the versions of the lines, and the DIDs that are withheld."""
        states: dict[str, DidState] = {}
        versions: list[IndexedVersion] = []
        withheld: set[str] = set()
        for line in lines:
            if line.did in withheld:
                continue
            if Did.parse(line.did).method not in self.methods:
                # The plugin of the method is not loaded, which is not suspicious; ``HeadCheck`` updates the index when it is. Or the text
                # is not a DID (`plugins/transparency`).
                withheld.add(line.did)
                continue
            try:
                before = states.get(line.did) or await self._before(line)
                after = await self._after(before, line)
            except DidQuarantined:
                withheld.add(line.did)
                continue
            versions.append(IndexedVersion(after, line.receipt, logs.changes(before, after)))
            states[line.did] = after
        return versions, withheld

    async def _after(self, before: DidState | None, line: LedgerEntry) -> DidState:
        try:
            after = self.methods[Did.parse(line.did).method].apply(before, line.entry)
            check_not_retired(self.check.retired, line.entry, line.receipt.sequence - 1)
            return after
        except history.HistoryNeeded:
            return (await self.check.folded(Did.parse(line.did)))[line.version - 1].state
        except IdentityError as error:
            reason = f"entry {line.version} of its log is not valid: {error}"
            self.check.quarantine.suspect(line.did, reason)
            raise DidQuarantined(details={"did": line.did}) from error

    async def _before(self, line: LedgerEntry) -> DidState | None:
        if line.version == 1:
            return None
        known = await self.index.version(line.did, line.version - 1)
        if known is not None:
            return known.state
        # Rows from before the cursor were deleted.
        folded = await self.check.folded(Did.parse(line.did))
        await self.index.record(folded)
        if len(folded) < line.version:
            self.check.quarantine.suspect(line.did, f"entry {line.version} of its log has none before it")
            raise DidQuarantined(details={"did": line.did})
        return folded[line.version - 2].state


@dataclass(slots=True)
class IndexRepair(Repeating):
    """A background task that indexes ledger entries without a row in the index: a disk was full, a process died in between, or an
    append with an unknown outcome succeeded later (a failover, a slow chain).

    A writer's row follows its entry. So an entry counts as missing if one inspection finds it and it is still not in the index at
    the next inspection.
    """

    complaint = "the document index does not follow the ledger"

    catch_up: CatchUp
    _seen: int = field(default=0, init=False)
    _indexed: int = field(default=0, init=False)

    async def step(self) -> float | None:
        await self.look()
        return None if self._indexed >= self._seen else self.interval_seconds / 2

    async def look(self) -> int:
        """Inspect the ledger once. Return the number of indexed entries."""
        self._indexed = await self.catch_up.index.cursor()
        done = await self.catch_up() if self._indexed < self._seen else 0
        self._seen = (await self.catch_up.ledger.head()).sequence
        return done
