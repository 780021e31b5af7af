"""The feed of the log's checkpoints to its witnesses, and the last one that a quorum cosigned (C2SP tlog-witness, tlog-policy).

At most once a second, a checkpoint over all recorded entries goes to all witnesses in parallel. It remains the candidate until a
quorum has cosigned it, or for ten seconds, so slow witnesses also cosign the same one. No write waits for the feed, and a faulty or
unreachable witness does not delay the others.

Of the processes that share a data directory, one feeds and the others read what it stores. Each of several machines feeds, which
witnesses allow.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar, Final, Protocol

from msgspec import Struct, field

from identity_core.cache import BoundedCache
from identity_core.errors import IdentityError
from identity_core.ports.clock import Clock
from identity_core.use_cases.background import Repeating
from identity_tlog.note import Checkpoint, Note, SignedCheckpoint, cosigned_at
from identity_tlog.policy import PolicyWitness, WitnessPolicy, label
from identity_tlog.proofs import consistency_spans
from identity_tlog.tree import Frontier, Malformed, Refuted
from identity_tlog.witness import Stale, Submission
from identity_transparency.cosigned import StoredCosignedCheckpoints
from identity_transparency.use_cases.project import CheckpointSigner, TransparencyLog, hashes_of

ROUND_SECONDS: Final = 10.0
MOST_PAUSE_SECONDS: Final = 8.0
LATE_SECONDS: Final = 600.0
BUSY_SECONDS: Final = 0.9
"""The pause while something is not cosigned: shorter than ``Repeating.interval_seconds``, so that it is not extended."""

log = logging.getLogger("identity.witnesses")


class WitnessFailed(Exception):
    """A witness that did not answer, refused, or returned an invalid answer of tlog-witness. The text is one line."""


class CheckpointWitness(Protocol):
    """One witness, over any transport."""

    async def add_checkpoint(self, body: bytes) -> bytes:
        """Return the answer to a submission: cosignature lines, unverified, in some kilobytes at most.

        It takes about ten seconds at most. Raises ``Stale``, with the size that the witness cosigned last; ``WitnessFailed``.
        """


class CosignedLog(Struct):
    """The checkpoints of the log of ``signer`` that a quorum of ``policy`` cosigned; ``last`` is the newest that this process
    knows.

    Stored ones are verified like any other, because a writer of the database could replace them.
    """

    policy: WitnessPolicy
    signer: CheckpointSigner
    kept: StoredCosignedCheckpoints
    last: SignedCheckpoint | None = None
    _verified: BoundedCache[bytes, SignedCheckpoint] = field(default_factory=lambda: BoundedCache(256))

    async def refresh(self) -> None:
        """Read the newest stored checkpoint, which another process may have written."""
        note = await self.kept.newest()
        if note is not None and (self.last is None or note != self.last.encoded):
            self.last = self._open(note)

    async def covering(self, index: int) -> SignedCheckpoint | None:
        """Return the earliest stored checkpoint that covers the leaf ``index``."""
        if self.last is None or self.last.checkpoint.size <= index:
            return None
        note = await self.kept.covering(index)
        return None if note is None else self._open(note)

    async def place(self, index: int) -> tuple[int, datetime] | None:
        """Return the size of the earliest stored checkpoint that covers the leaf ``index``, and the time when a quorum had cosigned
        it."""
        found = await self.covering(index)
        at = None if found is None else self.policy.met_at(found.cosigned)
        return None if found is None or at is None else (found.checkpoint.size, at)

    @property
    def size(self) -> int:
        """Return how many entries are cosigned, as far as this process knows."""
        return 0 if self.last is None else self.last.checkpoint.size

    def _open(self, note: bytes) -> SignedCheckpoint | None:
        """Open a stored checkpoint. Return None if it is of another policy or another key of the log."""
        known = self._verified.get(note)
        if known is None:
            try:
                known = self._verify(note)
            except (Malformed, Refuted):
                return None
            self._verified.store(note, known)
        return known

    def _verify(self, note: bytes) -> SignedCheckpoint:
        # Of the log's own keys those count that its service log lists, whichever the policy has.
        keys = self.signer.keys
        keys.open(note)
        return self.policy.open(note, logs=keys.counting(Checkpoint.parse(Note.parse(note).text).size))


class Candidate(Struct):
    """A signed checkpoint, with its cosignatures and their times. Times of the process are of its monotonic clock, in seconds."""

    checkpoint: Checkpoint
    note: bytes
    made_at: float
    lines: dict[str, str] = field(default_factory=dict)
    times: dict[str, datetime] = field(default_factory=dict)
    overtaken: set[str] = field(default_factory=set)
    is_quorate: bool = False
    next_made_at: float | None = None


class FedWitness(Struct):
    """One witness: the size of the log that it cosigned last, and the time since when it lags, None if it does not."""

    witness: PolicyWitness
    port: CheckpointWitness
    size: int = 0
    behind_since: float | None = None
    reason: str = ""
    failures: int = 0
    retry_at: float = 0.0
    task: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """Return its name in printable form."""
        return label(self.witness.name)


@dataclasses.dataclass(slots=True)
class WitnessFeeder(Repeating):
    """The job that feeds the witnesses. ``turn`` returns whether this process does it."""

    complaint: ClassVar[str] = "the witnesses get no checkpoints"

    cosigned: CosignedLog
    fed: Sequence[FedWitness]
    log: TransparencyLog
    clock: Clock
    turn: Callable[[], bool]
    quorum_behind_since: float | None = dataclasses.field(default=None, init=False)
    _candidate: Candidate | None = dataclasses.field(default=None, init=False)

    async def step(self) -> float | None:
        frontier = await self.log.follower.now()
        if self._candidate is None or not self.turn():
            await self.cosigned.refresh()
        if self.turn():
            await self._advance(frontier)
            self._submit_where_due()
        is_busy = frontier.size > self.cosigned.size or any(
            one.task or one.behind_since is not None for one in self.fed
        )
        return BUSY_SECONDS if is_busy else None

    async def close(self) -> None:
        """Stop at once. A witness repeats what it has cosigned by then."""
        await Repeating.close(self)
        tasks = [one.task for one in self.fed if one.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def lags(self) -> dict[str, float]:
        """Return, by witness, for how many seconds a checkpoint has waited for its cosignature."""
        return {one.name: self._since(one.behind_since) for one in self.fed}

    def quorum_lag(self) -> float:
        """Return for how many seconds a checkpoint has waited for a quorum on it or a later one."""
        return self._since(self.quorum_behind_since)

    @property
    def is_late(self) -> bool:
        """Return whether an operator should check the witnesses: the last quorum is older than ten minutes, and there are new
        entries."""
        return self.quorum_lag() > LATE_SECONDS

    def _since(self, moment: float | None) -> float:
        return 0.0 if moment is None else max(0.0, self.clock.monotonic() - moment)

    async def _advance(self, frontier: Frontier) -> None:
        """Make the next checkpoint the candidate, if there are new entries and the current one had its time."""
        now, before = self.clock.monotonic(), self._candidate
        if frontier.size <= (0 if before is None else before.checkpoint.size):
            return
        if before is not None and not before.is_quorate and now - before.made_at < ROUND_SECONDS:
            still = {one.witness.name for one in self.fed} - before.overtaken
            if self.cosigned.policy.is_met(still):
                return
        note = await self.log.signer.signed(frontier)
        self._candidate = Candidate(Checkpoint(self.log.signer.key.name, frontier.size, frontier.root), note, now)
        if before is not None:
            before.next_made_at = now
        for one in self.fed:
            one.behind_since = one.behind_since if one.behind_since is not None else now
        self.quorum_behind_since = self.quorum_behind_since if self.quorum_behind_since is not None else now
        if self.cosigned.policy.is_met(()):
            await self._publish(self._candidate)

    def _submit_where_due(self) -> None:
        candidate = self._candidate
        for one in self.fed:
            if one.task is not None and one.task.done():
                # Whatever it raised is a fault of ours, and ends this task too.
                finished, one.task = one.task, None
                finished.result()
            if candidate is None or one.task is not None or one.witness.name in candidate.lines:
                continue
            if self.clock.monotonic() >= one.retry_at:
                one.task = asyncio.create_task(self._submit(one, candidate))

    async def _submit(self, one: FedWitness, candidate: Candidate) -> None:
        try:
            answer = await self._request(one, candidate)
            self._count(one, candidate, answer)
            if self.cosigned.policy.is_met(candidate.times):
                await self._publish(candidate)
        except (WitnessFailed, Malformed, Refuted, IdentityError) as error:
            self._failed(one, str(error))
            return
        if one.failures:
            log.info("witness %s cosigns again", one.name)
        one.failures, one.reason = 0, ""

    async def _request(self, one: FedWitness, candidate: Candidate) -> bytes:
        """Return the answer of the witness to its last known size. If it reports another size, repeat once with that."""
        size = candidate.checkpoint.size
        old = min(one.size, size)
        try:
            return await one.port.add_checkpoint(await self._submission(old, candidate))
        except Stale as error:
            if error.size > size:
                candidate.overtaken.add(one.witness.name)
                raise WitnessFailed(f"it says that it has seen {error.size} entries, of {size}") from error
            old = error.size
        try:
            return await one.port.add_checkpoint(await self._submission(old, candidate))
        except Stale as error:
            raise WitnessFailed(f"it wants a proof from {old} entries and then one from {error.size}") from error

    async def _submission(self, old: int, candidate: Candidate) -> bytes:
        hashes = await hashes_of(self.log.tree, consistency_spans(old, candidate.checkpoint.size))
        return Submission(old, hashes, candidate.note).encode()

    def _count(self, one: FedWitness, candidate: Candidate, answer: bytes) -> None:
        """Take the cosignature out of an answer. Raises ``Malformed``, ``Refuted``."""
        note = Note.parse(candidate.note + answer)
        found, key = note.find_signature(one.witness.key), one.witness.key
        if found is None or note.text != candidate.checkpoint.text:
            raise Malformed("its answer is not a cosignature by its key")
        at = cosigned_at(note, key)
        if at is None:
            raise Malformed("its cosignature cannot be verified here")
        candidate.lines[one.witness.name] = key.line(found.signature)
        candidate.times[one.witness.name] = at
        one.size, one.behind_since = candidate.checkpoint.size, candidate.next_made_at

    async def _publish(self, candidate: Candidate) -> None:
        """Store the checkpoint as the last cosigned one, unless a later one is stored. For the same one, add the cosignatures."""
        last, size = self.cosigned.last, candidate.checkpoint.size
        if not candidate.is_quorate:
            candidate.is_quorate = True
            self.quorum_behind_since = candidate.next_made_at
        if last is not None and last.checkpoint.size > size:
            return
        note = candidate.note + "".join(candidate.lines.values()).encode()
        at = self.cosigned.policy.met_at(candidate.times) or self.clock.now()
        self.cosigned.last = SignedCheckpoint(candidate.checkpoint, note, dict(candidate.times))
        try:
            await self.cosigned.kept.keep(size, at, note)
        except IdentityError as error:
            # It is served all the same, and the next one is kept.
            log.error("a cosigned checkpoint cannot be kept: %s", error)

    def _failed(self, one: FedWitness, reason: str) -> None:
        one.retry_at = self.clock.monotonic() + min(2.0 ** min(one.failures, 8), MOST_PAUSE_SECONDS)
        one.failures += 1
        if reason != one.reason:
            log.warning("witness %s does not cosign: %s", one.name, reason)
        one.reason = reason
