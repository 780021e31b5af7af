"""Why a document is not taken. The reasons are texts of this plugin and quote nothing of what was given."""

from __future__ import annotations

from typing import NoReturn


class Malformed(Exception):
    """It is no credential of this format, or one beyond its limits. ``args[0]`` is the reason."""


class Unverified(Exception):
    """It is one, and does not verify. ``args[0]`` is the reason."""


def malformed(reason: str) -> NoReturn:
    """Raises ``Malformed``."""
    raise Malformed(reason)
