"""What ``identity doctor`` finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from identity_core.settings import StartError

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. ``remedy`` says what to do unless it is ok."""

    check: str
    state: State
    says: str
    remedy: str = ""

    @classmethod
    def of(cls, check: str, error: StartError, remedy: str) -> Finding:
        """What keeps an installation from starting; most of it knows its place and remedy itself."""
        says = f"{error.what} It is in: {error.where}" if error.where else error.what
        return cls(check, "fail", " ".join(says.split()), error.fix or remedy)
