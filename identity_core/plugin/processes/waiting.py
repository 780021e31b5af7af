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
from dataclasses import dataclass
from typing import Any, Final

from identity_core.plugin.processes.channel import (
    Failed,
    Prove,
    ProveTogether,
    Raised,
    Read,
    ReadTogether,
    Returned,
    Single,
    Together,
    Verify,
    VerifyTogether,
    encode_call,
    encode_several,
    frame,
)
from identity_core.plugin.processes.extended import Extended
from identity_core.ports.prover import CallKind

MOST_TOGETHER: Final = 16
"""Proofs that a worker reads, verifies or makes together. More save little, and the first waits for the last."""

MAKING_SECONDS: Final = 0.05
"""How long a worker is to be at proofs that it makes together, by what the last ones took: a slow prover makes each by itself."""

_KINDS: Final[dict[type[Any], CallKind]] = {Prove: "prove", Read: "read", Verify: "verify"}
_TOGETHER: Final[dict[str, type[Together]]] = {"prove": ProveTogether, "read": ReadTogether, "verify": VerifyTogether}

Outcome = Returned | Raised | Failed


@dataclass(slots=True, eq=False, repr=False)
class Job:
    """A call that waits for a worker, or the worker for it; ``together`` is the message of several of its kind, None where it goes
    alone. It is printed without the call, in which a witness may lie open."""

    call: bytes
    together: type[Together] | None
    answer: asyncio.Future[Outcome]

    @classmethod
    def of(cls, call: Single, answer: asyncio.Future[Outcome], *, batches: bool) -> Job:
        """``batches``: the prover is a ``BatchVerifier``."""
        kind = call.call.batch if isinstance(call, Extended) else _KINDS.get(type(call))
        together = None if kind is None or (kind == "verify" and not batches) else _TOGETHER[kind]
        return cls(encode_call(call), together, answer)

    def end(self, outcome: Outcome | Exception) -> None:
        """For the caller, unless that has gone away."""
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
    # The witness is in it, and its way is done. Of several each may have to be asked anew.
    job.call = b""
    return data


class WaitingJobs:
    """First come, first served."""

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()
        # Of a proof that is made; until one is, none goes with another.
        self._proof_seconds = MAKING_SECONDS

    def __len__(self) -> int:
        return len(self._jobs)

    def append(self, job: Job) -> None:
        """Append a job to the queue."""
        self._jobs.append(job)

    def append_first(self, job: Job) -> None:
        """For one that had its turn, and has no answer."""
        self._jobs.appendleft(job)

    def remove(self, job: Job) -> bool:
        """Forget one, if it still waits; whether it did."""
        waited = job in self._jobs
        if waited:
            self._jobs.remove(job)
        return waited

    def pop(self) -> Job:
        """The one that waits for longest."""
        return self._jobs.popleft()

    def share(self, workers: int) -> list[Job]:
        """The one that waits for longest, and what goes with it: the share of one of so many ``workers`` of those like it."""
        first = self._jobs.popleft()
        together = first.together
        others = [job for job in self._jobs if job.together is together] if together else []
        most = MOST_TOGETHER
        if others and together is ProveTogether:
            most = max(1, min(most, int(MAKING_SECONDS / self._proof_seconds)))
        jobs = [first, *others[: min(most, -(-(1 + len(others)) // workers)) - 1]]
        if len(jobs) > 1:
            taken = set(jobs)
            self._jobs = deque(job for job in self._jobs if job not in taken)
        return jobs

    def learn(self, jobs: Sequence[Job], seconds: float) -> None:
        """``jobs`` were answered after ``seconds``."""
        if jobs[0].together is ProveTogether:
            # The least of late: what holds a worker up is mostly others, who want the processor too.
            self._proof_seconds = min(seconds / len(jobs), self._proof_seconds * 1.02)


def patience_of(jobs: Sequence[Job], deadline_seconds: float) -> float:
    """How long a worker may be at them, when it may be at one for ``deadline_seconds``."""
    if len(jobs) > 1 and jobs[0].together is ProveTogether:
        # A batch is late long before its callers' deadline; the remaining time is for sending each call alone.
        return deadline_seconds / 4
    return deadline_seconds * len(jobs)
