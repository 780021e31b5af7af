"""A process that is killed before one line of chosen modules: what a crash at any line leaves can be looked at, line by line."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection
from types import FrameType
from typing import Any


def die() -> None:
    """Ends this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


class KilledBeforeALine:
    """For ``sys.settrace``: counts the lines of the files ``traced`` in ``seen``, and ends the process (SIGKILL) before the one numbered
    ``kill_at``, from 1; None only counts. ``reached`` is what is done there instead."""

    def __init__(self, traced: Collection[str | None], kill_at: int | None, reached: Callable[[], None] = die) -> None:
        self.traced = traced
        self.kill_at = kill_at
        self.reached = reached
        self.seen = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in self.traced:
            return None
        if event == "line":
            self.seen += 1
            if self.seen == self.kill_at:
                self.reached()
        return self
