"""Contracts for the tests, on the session's chain or on one of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.anvil_server import AnvilServer, anvil, anvil_program
from tests.evm_site import Site, make_site
from tests.postgres_server import postgres_server, postgres_url

__all__ = ["anvil", "anvil_program", "postgres_server", "postgres_url"]


@pytest.fixture
def site(anvil: AnvilServer, tmp_path: Path) -> Iterator[Site]:
    """A contract on the session's chain."""
    made = make_site(anvil, tmp_path)
    yield made
    made.close()


@pytest.fixture
def own_chain(anvil_program: Path, tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Makes a contract on a chain of the test's own: ``own_chain("--block-time", "1", confirmations=2)``."""
    sites: list[Site] = []

    def make(*options: str, **changes: Any) -> Site:
        made = make_site(AnvilServer(anvil_program, options).start(), tmp_path, **changes)
        sites.append(made)
        return made

    yield make
    for one in sites:
        one.close()
        one.server.stop()


@pytest.fixture
def still_chain(own_chain: Callable[..., Site]) -> Callable[..., Site]:
    """Makes a contract on a chain that makes a block only when it is told to: ``still_chain(confirmations=3)``."""

    def make(**changes: Any) -> Site:
        made = own_chain(**changes)
        made.server.call("evm_setAutomine", False)
        return made

    return make
