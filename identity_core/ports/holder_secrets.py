"""Which generation of a holder's secret new credentials are bound to, where a custodian keeps it. Only numbers are kept here: the secrets
follow from the custodian's own key. Every write is durable on return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from identity_codec.values import value_class
from identity_core.domain.activity import EventRecord


@value_class
class BoundCredential:
    """A credential and the name of the secret that it is bound to (``domain/credentials/holder_secret.py``)."""

    id: str
    issuer: str
    secret: str


@value_class
class SecretRotation:
    """The present ``generation``, and the credentials in force that are bound to another one, the oldest first; ``is_last``: those are
    all."""

    generation: int
    credentials: Sequence[BoundCredential]
    is_last: bool


Tell = Callable[[SecretRotation], EventRecord]
"""The event of a change; its rows are stored with it, or neither is."""


class HolderSecretGenerations(Protocol):
    """The generation of each holder's secret, 1 for a holder who never rotated. It never becomes less."""

    async def generation(self, holder: str) -> int:
        """That of the credentials that are issued now."""
        ...

    async def rotate(self, holder: str, root: int, now: datetime, tell: Tell, *, limit: int) -> SecretRotation:
        """The next generation, and at most ``limit`` of the credentials that stay bound to former ones, or to secrets that follow from
        another key of the custodian's than the present ``root``."""
        ...

    async def forget(self, holder: str, root: int, now: datetime, tell: Tell, *, limit: int) -> SecretRotation:
        """Nothing is proved any more with what is bound to former generations. What that is, at most ``limit``; it is all forgotten."""
        ...
