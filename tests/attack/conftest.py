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


@pytest.fixture(scope="session")
def targets() -> Iterator[Callable[[int], Target]]:
    """The service with so many processes."""
    with contextlib.ExitStack() as stack:
        running: dict[int, Target] = {}

        def start(processes: int) -> Target:
            if processes not in running:
                command = ("--workers", str(processes))
                environment = GENEROUS | {"IDENTITY_HISTORY_AFTER_DEACTIVATION": "visible"}
                server = stack.enter_context(local_server(*command, environment=environment))
                wire = Wire(server.url)
                stack.callback(wire.close)
                wire.await_processes(processes)
                running[processes] = Target(wire, Stranger(wire, server.api_key), server.data_dir, processes)
            return running[processes]

        yield start


@pytest.fixture
def target(targets: Callable[[int], Target]) -> Target:
    """One process."""
    return targets(1)


@pytest.fixture(params=[1, 2], ids=["1_process", "2_processes"])
def either(request: pytest.FixtureRequest, targets: Callable[[int], Target]) -> Target:
    """One process, or two that share the work."""
    return targets(request.param)
