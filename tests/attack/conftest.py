"""The running services that the attacks over HTTP share; each is started when the first test asks for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.attack.stranger import GENEROUS, Stranger, Wire
from tests.memory import folder_in_memory
from tests.servers import local_server

TRIES = "hostile presentations"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how many presentations were tried and refused, over all processes of the run."""
    passed = terminalreporter.stats.get("passed", [])
    tries = sum(value for report in passed for name, value in report.user_properties if name == TRIES)
    if tries:
        terminalreporter.write_line(f"{tries:,} {TRIES} were tried, and none was accepted")


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """In memory, where there is such a place: that things are on a disk in time is tested elsewhere (``tests/fault``)."""
    with folder_in_memory(tmp_path) as found:
        yield found


@dataclass(frozen=True)
class Target:
    """A service under attack, its data directory, and a client that has one of its API keys."""

    wire: Wire
    stranger: Stranger
    data_dir: Path
    processes: int


class Targets:
    """The services of this process by their number of processes."""

    def __init__(self) -> None:
        self.stack = contextlib.ExitStack()
        self._running: dict[int, Target] = {}

    def __call__(self, processes: int) -> Target:
        if processes not in self._running:
            environment = GENEROUS | {"IDENTITY_HISTORY_AFTER_DEACTIVATION": "visible"}
            server = self.stack.enter_context(local_server("--workers", str(processes), environment=environment))
            wire = Wire(server.url)
            self.stack.callback(wire.close)
            wire.await_processes(processes)
            self._running[processes] = Target(wire, Stranger(wire, server.api_key), server.data_dir, processes)
        return self._running[processes]


SHARED = pytest.StashKey[Targets]()


@pytest.fixture(scope="session")
def targets(request: pytest.FixtureRequest) -> Callable[[int], Target]:
    """The service with so many processes, however many modules import this: to pytest the fixture of each is another."""
    if SHARED not in request.config.stash:
        request.config.stash[SHARED] = Targets()
        request.config.add_cleanup(request.config.stash[SHARED].stack.close)
    return request.config.stash[SHARED]


@pytest.fixture
def target(targets: Callable[[int], Target]) -> Target:
    """One process."""
    return targets(1)


@pytest.fixture(params=[1, 2], ids=["1_process", "2_processes"])
def either(request: pytest.FixtureRequest, targets: Callable[[int], Target]) -> Target:
    """One process, or two that share the work."""
    return targets(request.param)
