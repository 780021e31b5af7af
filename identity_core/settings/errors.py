"""Why the service does not start, in words for the operator; and where a value came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


class StartError(Exception):
    """The start-up stops here. The text is complete: the command line prints it as it is, without a traceback. Whoever knows place
    and remedy gives them too: what is wrong, where it stands, what to do."""

    def __init__(self, what: str, where: str = "", fix: str = "") -> None:
        super().__init__(f"{what}\n  where: {where}\n  fix:   {fix}" if where else what)
        self.what = what
        self.where = where
        self.fix = fix


class SettingsError(StartError):
    """A wrong configuration, always with its place and remedy. Never holds a secret's value."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from. ``place`` is ``identity.toml:3``, ``IDENTITY_SERVER_PORT``, ``--port``, or empty for a
    default."""

    kind: Literal["default", "file", "environment", "command line"]
    place: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.place}" if self.place else self.kind


DEFAULT = Origin("default")
