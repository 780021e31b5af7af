"""What ``identity doctor`` finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. ``remedy`` says what to do unless it is ok."""

    check: str
    state: State
    says: str
    remedy: str = ""
