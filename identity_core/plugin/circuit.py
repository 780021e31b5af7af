"""Shuts a plugin's method off after failures in a row, and lets one call try again after a while."""

from __future__ import annotations

import math
from typing import Literal

from identity_core.errors import PluginUnavailable
from identity_core.ports.clock import Clock

MOST_RETRY_SECONDS = 60.0

State = Literal["closed", "open", "probing"]


class Circuit:
    """The circuit of one method. ``tripped`` is the one attribute that the good path reads."""

    __slots__ = ("_clock", "_failures_to_open", "_retry_seconds", "_until", "_wait", "failures", "probing", "tripped")

    def __init__(self, clock: Clock, *, failures_to_open: int, retry_seconds: float) -> None:
        self._clock = clock
        self._failures_to_open = failures_to_open
        self._retry_seconds = self._wait = retry_seconds
        self._until = 0.0
        self.failures = 0
        self.tripped = False
        self.probing = False

    @property
    def state(self) -> State:
        """closed: calls pass; open: they are refused; probing: one is trying."""
        return "probing" if self.probing else "open" if self.tripped else "closed"

    def admit(self, plugin: str) -> None:
        """Lets this call be the probe when it is time. Raises ``PluginUnavailable`` otherwise."""
        remaining = self._until - self._clock.monotonic()
        if self.probing or remaining > 0:
            retry = max(1, math.ceil(remaining))
            raise PluginUnavailable(
                "A component that the operation needs was shut off after repeated failures.",
                details={"plugin": plugin, "retryAfter": retry},
            )
        self.probing = True

    def succeeded(self) -> None:
        """The method answers: forget the failures."""
        self.failures = 0
        self.tripped = self.probing = False
        self._wait = self._retry_seconds

    def failed(self) -> bool:
        """Counts a failure; whether it opened the circuit. A probe that fails doubles the wait, up to a minute."""
        self.failures += 1
        opens = self.probing or (not self.tripped and self.failures >= self._failures_to_open)
        if opens:
            if self.probing:
                self._wait = min(self._wait * 2, max(MOST_RETRY_SECONDS, self._retry_seconds))
            self._until = self._clock.monotonic() + self._wait
            self.tripped = True
            self.probing = False
        return opens

    def undecided(self) -> None:
        """The caller went away before the call ended. A probe that tells nothing makes room for the next."""
        self.probing = False
