"""What the settings say, where more than one noun asks for it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from identity_core.domain.autonomy import AutonomyTable
from identity_core.settings import Settings


def origin_of(settings: Settings) -> str:
    """The service's own name: challenges, ``iss`` and ``aud`` are made of it, never of a Host header."""
    return settings.server.public_url or f"http://{settings.server.host}:{settings.server.port}"


def checkpoint_file_of(settings: Settings) -> Path:
    """Where the last checkpoint is remembered: never in the data directory, with which it would be put back. Several installations
    may share a settings file, hence the digest of the path."""
    if settings.ledger.checkpoint_path is not None:
        return settings.ledger.checkpoint_path
    data_dir = settings.data_dir.resolve()
    if settings.file is None:
        return data_dir.with_name(f"{data_dir.name}.checkpoint")
    digest = hashlib.sha256(str(data_dir).encode()).hexdigest()
    return settings.file.resolve().with_name(f"{data_dir.name}-{digest[:8]}.checkpoint")


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
