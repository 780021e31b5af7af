"""Many of these tests write to real databases; that what was written is on a disk in time is tested elsewhere (``tests/fault``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory import folder_in_memory


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """In memory, where there is such a place."""
    with folder_in_memory(tmp_path) as found:
        yield found
