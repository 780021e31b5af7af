"""Why the service does not start, in words for the operator; and where a value came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


class StartError(Exception):
    """The start-up stops here. The text is complete: the command line prints it as it is, without a traceback."""


class SettingsError(StartError):
    """A wrong configuration, in three lines: what is wrong, where it stands, what to do. Never holds a secret's
    value."""

    def __init__(self, what: str, where: str, fix: str) -> None:
        super().__init__(f"{what}\n  where: {where}\n  fix:   {fix}")
        self.what = what
        self.where = where
        self.fix = fix


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from. ``place`` is ``identity.toml:3``, ``IDENTITY_SERVER_PORT``, ``--port``, or empty for a
    default."""

    kind: Literal["default", "file", "environment", "command line"]
    place: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.place}" if self.place else self.kind


DEFAULT = Origin("default")
