"""Queue of the calls that wait for a worker, and the choice of calls that are sent together.

A call that waits alone is sent alone. If several wait, each worker gets its share: proofs to read, because one of
them costs less than a message; proofs to verify, if the prover is a ``BatchVerifier``; and proofs to make. A message
costs more than its bytes: it wakes the server, which takes the processor from a prover, and both continue with cold
caches.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from identity_codec.values import Hidden
from identity_core.ports.prover import CallKind
from identity_isolation.calls import (
    Extended,
    Prove,
    ProveTogether,
    Read,
    ReadTogether,
    Single,
    Together,
    Verify,
    VerifyTogether,
    encode_call,
    encode_several,
)
from identity_isolation.messages import Failed, Raised, Returned, frame

# The maximum of proofs that a worker reads, verifies or makes together. More save little, and the first waits for the
# last.
MOST_TOGETHER: Final = 16

# The target duration of a batch of proofs to make, estimated from recent ones. A slow prover makes each proof alone.
MAKING_SECONDS: Final = 0.05

_KINDS: Final[dict[type[Any], CallKind]] = {Prove: "prove", Read: "read", Verify: "verify"}
_TOGETHER: Final[dict[str, type[Together]]] = {"prove": ProveTogether, "read": ReadTogether, "verify": VerifyTogether}

Outcome = Returned | Raised | Failed


class Job(Hidden, Struct, eq=False):
    """A call that waits for a worker, or is running there. ``together``: the message type of several calls of its
    kind, None if it is sent alone. Its repr omits the call, which may contain an open witness."""

    call: bytes
    together: type[Together] | None
    answer: asyncio.Future[Outcome]

    @classmethod
    def from_call(cls, call: Single, answer: asyncio.Future[Outcome], *, batches: bool) -> Job:
        """Return the job of ``call``. ``batches``: the prover is a ``BatchVerifier``."""
        kind = call.call.batch if isinstance(call, Extended) else _KINDS.get(type(call))
        together = None if kind is None or (kind == "verify" and not batches) else _TOGETHER[kind]
        return cls(encode_call(call), together, answer)

    def end(self, outcome: Outcome | Exception) -> None:
        """Set the outcome for the caller, unless it was cancelled."""
        if self.answer.done():
            return
        if isinstance(outcome, Exception):
            self.answer.set_exception(outcome)
        else:
            self.answer.set_result(outcome)


def message_of(jobs: Sequence[Job]) -> bytes:
    """Return the message to the worker for these calls."""
    together = jobs[0].together
    if len(jobs) > 1 and together is not None:
        return frame(encode_several(together, [job.call for job in jobs]))
    (job,) = jobs
    data = frame(job.call)
    # The call contains the witness and has been sent. Calls of a batch are needed again if each must be sent alone.
    job.call = b""
    return data


class WaitingJobs(deque[Job]):
    """First-in, first-out queue of jobs."""

    def __init__(self) -> None:
        super().__init__()
        # Seconds per proof that is made; until one is measured, proofs are sent alone.
        self._proof_seconds = MAKING_SECONDS

    def share(self, workers: int) -> list[Job]:
        """Remove and return the job that has waited longest, with its share of similar jobs for one of ``workers``."""
        first = self.popleft()
        together = first.together
        others = [job for job in self if job.together is together] if together else []
        most = MOST_TOGETHER
        if others and together is ProveTogether:
            most = max(1, min(most, int(MAKING_SECONDS / self._proof_seconds)))
        jobs = [first, *others[: min(most, -(-(1 + len(others)) // workers)) - 1]]
        for job in jobs[1:]:
            self.remove(job)
        return jobs

    def learn(self, jobs: Sequence[Job], seconds: float) -> None:
        """Record that ``jobs`` were answered after ``seconds``."""
        if jobs[0].together is ProveTogether:
            # The minimum of recent values: a worker is slow mostly because other processes use the processor.
            self._proof_seconds = min(seconds / len(jobs), self._proof_seconds * 1.02)


def patience_of(jobs: Sequence[Job], deadline_seconds: float) -> float:
    """Return the timeout of a batch in seconds, if one call has ``deadline_seconds``."""
    if len(jobs) > 1 and jobs[0].together is ProveTogether:
        # A batch is late long before its callers' deadline; the remaining time is for sending each call alone.
        return deadline_seconds / 4
    return deadline_seconds * len(jobs)
