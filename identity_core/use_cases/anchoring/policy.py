"""The installation's choices about batches."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class AnchoringPolicy:
    """A batch is sealed at ``batch_size`` leaves or when its oldest has waited for ``seal_after``; what the ledger reports as failed is
    tried ``most_attempts`` times, ``retry_seconds`` apart."""

    batch_size: int
    seal_after: timedelta
    most_attempts: int
    retry_seconds: float
