"""The check of a proof for somebody who does not say who he is: in a process of its own, and few at once.

Anybody may have a proof verified, and the largest costs a hundred milliseconds of the processor. So strangers have a worker that nobody
else uses, below the priority of all others, and no queue that could grow: who finds it full is turned away at once. What they ask
for never stands before a proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from identity_core.domain.verification import ProofQuestion, ProofVerification
from identity_core.errors import Overloaded
from identity_core.use_cases.proofs.check import CheckProof
from identity_core.use_cases.proofs.verify import ReceivedProof


@dataclass(slots=True)
class CheckAnonymously:
    """``check`` over the strangers' own worker; at most ``most`` are unfinished at once. One for an event loop."""

    check: CheckProof
    most: int
    _unfinished: int = 0

    async def __call__(self, received: ReceivedProof, question: ProofQuestion, now: datetime) -> ProofVerification:
        """Raises ``Overloaded``, and what ``CheckProof`` does."""
        if self._unfinished >= self.most:
            raise Overloaded(details={"retryAfter": 1})
        self._unfinished += 1
        try:
            return await self.check(received, question, now)
        finally:
            self._unfinished -= 1
