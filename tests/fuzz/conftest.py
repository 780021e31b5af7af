"""One service for the fuzzers, with limits that do not stop them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from identity_commands.local_server import LocalServer

from tests.attack.stranger import GENEROUS
from tests.servers import local_server


@pytest.fixture(scope="session")
def service() -> Iterator[LocalServer]:
    with local_server(environment=GENEROUS) as server:
        yield server
