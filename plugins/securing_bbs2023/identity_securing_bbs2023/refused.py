"""Why a document is not taken. The reasons are texts of this plugin and quote nothing of what was given."""

from __future__ import annotations

from typing import NoReturn


class Malformed(Exception):
    """The credential is malformed, or beyond the limits of this format. ``args[0]`` is the reason."""


class Unverified(Exception):
    """The credential is well-formed, and its signature is invalid. ``args[0]`` is the reason."""


def malformed(reason: str) -> NoReturn:
    """Raise ``Malformed``."""
    raise Malformed(reason)
