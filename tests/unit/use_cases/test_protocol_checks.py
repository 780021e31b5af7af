"""No request asks whether an object has a whole protocol: until Python 3.12 that takes longer than a signature."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import FrameType

import pytest

from identity_core.domain.dids.did import Did
from identity_core.errors import DidNotFound
from tests.did_use_cases import Rooms
from tests.unit.use_cases.test_versions_in_time import Play


def test_writes_and_reads_ask_for_no_protocol(tmp_path: Path) -> None:
    asked: list[str] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "__instancecheck__" and frame.f_globals["__name__"] == "typing":
            asked.append(repr(frame.f_locals["cls"]))

    async def story() -> None:
        rooms = Rooms(tmp_path)
        play = Play(rooms)
        unknown = Did.parse("did:ids:QmWvQxTqbG2Z9HPJgG57jjwR154cKhbtJenbyYTWkjgF3e")
        sys.setprofile(profile)
        try:
            await play.begin()
            await play.add_service()
            await play.rotate(60)
            await rooms.resolve(play.did, version_id=1, version_time=None)
            with pytest.raises(DidNotFound):
                await rooms.resolve(unknown, version_id=None, version_time=None)
        finally:
            sys.setprofile(None)
        await rooms.close()

    asyncio.run(story())
    assert asked == []
