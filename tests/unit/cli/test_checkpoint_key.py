"""``identity keys rotate checkpoint``, and every command that verifies what the keys of checkpoints signed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from identity_core.bootstrap import open_installation
from identity_core.domain.ledger.note import Checkpoint, Note
from identity_core.settings import load
from tests.unit.cli.conftest import Commands
from tests.unit.cli.test_log_key import installed

__all__ = ["installed"]


async def start(data_dir: Path) -> None:
    async with open_installation(load(environment={}, overrides={"data_dir": data_dir})):
        pass


@pytest.mark.parametrize("how", [(), ("--compromised",)])
def test_an_installation_goes_on_under_the_next_key(installed: Commands, here: Path, how: tuple[str, ...]) -> None:
    found = here / "data"
    asyncio.run(start(found))
    first = installed.json("ledger", "checkpoint", "--data-dir", found)["checkpoint"]
    done = installed.json("keys", "rotate", "checkpoint", "--data-dir", found, *how)
    assert (done["key"], done["number"], done["destroyed"]) == ("checkpoint", 2, [1] if how else [])
    # What this machine remembers was signed by the old key.
    asyncio.run(start(found))
    note = installed.json("ledger", "checkpoint", "--data-dir", found)["checkpoint"]
    assert Checkpoint.parse(Note.parse(note.encode()).text).size == 2
    assert len(Note.parse(note.encode()).signatures) == (1 if how else 2)
    assert len(Note.parse(first.encode()).signatures) == 1
    assert "sound" in installed.ok("ledger", "audit", "--data-dir", found, "--logs")
    installed.ok("fsck", "--deep", "--data-dir", found)
    said = installed.ok("keys", "rotate", "checkpoint", "--data-dir", found, *how)
    assert "checkpoints are signed by key 3, z6Mk" in said
    assert ("at once" if how else "thirty days") in said
    asyncio.run(start(found))
