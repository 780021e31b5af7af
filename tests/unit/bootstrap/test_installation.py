"""What opening a house leaves as it was."""

from __future__ import annotations

import asyncio
import gc
from functools import partial
from pathlib import Path

import pytest

from identity_core.bootstrap import open_installation
from identity_core.bootstrap.installation import OBJECTS_BETWEEN_COLLECTIONS
from identity_core.settings import StartError, load


def test_garbage_is_collected_as_before_once_the_house_stands(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(partial(gc.set_threshold, *gc.get_threshold()))
    before = OBJECTS_BETWEEN_COLLECTIONS - 1, 10, 10
    gc.set_threshold(*before)

    async def look() -> tuple[int, int, int]:
        async with open_installation(load(environment={}, overrides={"data_dir": tmp_path})):
            return gc.get_threshold()

    assert asyncio.run(look()) == before


@pytest.mark.parametrize("text", ["did:ids", "https://id.example", "did:ids:short"])
def test_a_did_to_try_that_is_none_stops_the_start(tmp_path: Path, text: str) -> None:
    async def start() -> None:
        overrides = {"data_dir": tmp_path, "server.test_identifiers": [text]}
        async with open_installation(load(environment={}, overrides=overrides)):
            pass

    with pytest.raises(StartError, match=r"server\.test_identifiers"):
        asyncio.run(start())
