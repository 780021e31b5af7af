"""What the settings say, where more than one noun asks for it."""

from __future__ import annotations

from identity_core.domain.autonomy import AutonomyTable
from identity_core.settings import Settings


def origin_of(settings: Settings) -> str:
    """The service's own name: challenges, ``iss`` and ``aud`` are made of it, never of a Host header."""
    return settings.server.public_url or f"http://{settings.server.host}:{settings.server.port}"


def shows_deactivated(settings: Settings) -> bool:
    """Whether history and log of a deactivated DID can be read."""
    return settings.history.after_deactivation == "visible"


def autonomy_of(settings: Settings) -> AutonomyTable:
    """How much autonomy a request needs."""
    chosen = settings.delegation
    return AutonomyTable(
        metadata=chosen.autonomy_metadata,
        pinned=chosen.autonomy_pinned,
        chosen=chosen.autonomy_chosen,
        anchor=chosen.autonomy_anchor,
        delegate=chosen.autonomy_delegate,
        ceiling=chosen.autonomy_ceiling,
    )
