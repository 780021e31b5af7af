"""A service whose clock is in the hands of the test, so that none has to be quick before a time or to sleep until it has come."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tests.fault import service_process
from tests.fault.service_process import Running


@dataclass(frozen=True)
class Turned:
    """The service, and the file that its clock (``turned_clock``) reads."""

    running: Running
    data_dir: Path
    clock: Path

    def turn(self, seconds: float) -> None:
        """Sets the clock so many seconds beside the true time."""
        tell(self.clock, f"{seconds}")

    def wait(self, seconds: float) -> None:
        """So much time has passed since the start: the counter of the machine tells it too."""
        tell(self.clock, f"{seconds} passed")

    def stop(self, at: datetime) -> None:
        """The clock stands still at this time."""
        tell(self.clock, at.isoformat())


def tell(clock: Path, text: str) -> None:
    # In one step, so that the service never reads half of it.
    clock.with_suffix(".new").write_text(text)
    clock.with_suffix(".new").replace(clock)


@contextlib.contextmanager
def turned_service(folder: Path) -> Iterator[Turned]:
    """With the true time at first."""
    clock = folder / "clock"
    tell(clock, "0")
    environment = {"IDENTITY_PLUGINS_MODULES": "tests.fault.turned_clock", "IDENTITY_TEST_CLOCK": str(clock)}
    with service_process.service(folder / "data", environment=environment) as running:
        yield Turned(running, folder / "data", clock)
