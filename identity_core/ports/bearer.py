"""The socket for bearer tokens: three answers, not two."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol, runtime_checkable

from identity_core.domain.callers import Caller


@runtime_checkable
class BearerVerifier(Protocol):
    """What a plugin's ``identity_verify_bearer`` is."""

    def __call__(self, token: str, now: datetime) -> Caller | None:
        """The caller; None for "not mine, ask the next"; raises ``AuthFailed`` for "mine, and bad"."""
        ...
