"""What opening a house leaves as it was."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

from identity_core.bootstrap import open_installation
from identity_core.bootstrap.installation import OBJECTS_BETWEEN_COLLECTIONS
from identity_core.settings import load


def test_garbage_is_collected_as_before_once_the_house_stands(tmp_path: Path) -> None:
    before = gc.get_threshold()
    assert before[0] < OBJECTS_BETWEEN_COLLECTIONS

    async def look() -> tuple[int, int, int]:
        async with open_installation(load(environment={}, overrides={"data_dir": tmp_path})):
            return gc.get_threshold()

    assert asyncio.run(look()) == before
