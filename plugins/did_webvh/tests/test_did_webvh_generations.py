"""Three generations of the log key: a DID unchanged during two of them continues, for both methods, also after an interrupted handover."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from identity_commands.verify_log import verify
from test_did_webvh_readers import read
from webvh_life import make

from identity_core.domain.dids.logs import signer_of
from identity_core.errors import DidMethodNotSupported, LedgerUnavailable
from plugins.transparency.tests.test_rotate_log_key import Service


class BreaksAt:
    """A ledger whose append fails at each place of ``places``, counted from now on."""

    def __init__(self, ledger: Any, *places: int) -> None:
        self._ledger, self._left, self._count = ledger, set(places), 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def append(self, *given: Any, **more: Any) -> Any:
        self._count += 1
        if self._count in self._left:
            raise LedgerUnavailable
        return await self._ledger.append(*given, **more)


def test_log_continues_after_two_missed_rotations(tmp_path: Path) -> None:
    async def story() -> None:
        (tmp_path / "service").mkdir()
        service = Service(tmp_path / "service")
        rooms, webvh = service.rooms, make()
        rooms.methods |= {"webvh": webvh}
        await service.open()
        made = [await rooms.new_did(method=name) for name in ("ids", "webvh", "webvh", "ids")]
        held = [await service.custodian.public_key(name) for name in ("log", "log/2")]
        await service.rotate()
        third = await service.custodian.public_key("log/3")
        assert not [lines for each in made if len(lines := await service.lines(each.version.state.did)) != 1]
        # The entry of the service's own log is the first that is appended; two of the four DIDs follow, then the ledger is gone.
        whole = rooms.ledger
        rooms.ledger = BreaksAt(whole, 4)
        with pytest.raises(LedgerUnavailable):
            await service.rotate(per_second=4.0)
        rooms.ledger = whole
        moved = [len(await service.lines(each.version.state.did)) == 2 for each in made]
        assert sum(moved) == 2
        # Whom it did not come to still changes by itself: the older key is not retired.
        waits = made[moved.index(False)]
        await service.change(waits, "meanwhile")
        service.slept.clear()
        done = await service.rotate(finish=True, per_second=4.0)
        assert (done.generation, done.handed_on, done.waiting) == (3, 1, 0)
        assert done.retired == (held[1],)
        assert service.slept.count(0.25) == 1
        assert (await service.rotate(finish=True)).handed_on == 0
        for each in made:
            await service.change(each, "later")
            did = each.version.state.did
            lines = await service.lines(did)
            # Each changed by the key that it slept with, then by one to which that entry committed.
            assert [signer_of(line) for line in (lines[0], lines[-1])] == [held[0], third]
            assert verify(b"\n".join(lines)).versions == len(lines)
            if did.method == "webvh":
                result = await asyncio.to_thread(read, tmp_path, lines, str(did))
                assert result.document == json.loads(lines[-1])["state"], result.resolution_metadata
        await service.rotate()
        for each in made:
            await service.change(each, "still")
        await rooms.close()

    asyncio.run(story())


@pytest.mark.parametrize("how", [{}, {"compromised": True}, {"finish": True}])
def test_rotation_without_settings_of_method_begins_nothing(tmp_path: Path, how: dict[str, Any]) -> None:
    """A method that misses a generation could not hand over its logs, and with a retired key they would never change
    again."""

    async def story() -> None:
        service = Service(tmp_path)
        service.rooms.methods |= {"webvh": make()}
        await service.open()
        made = [await service.rooms.new_did(method=name) for name in ("ids", "webvh", "ids")]
        await service.rotate()
        held, size = dict(service.custodian.secrets), (await service.rooms.ledger.head()).sequence
        webvh = service.rooms.methods.pop("webvh")
        with pytest.raises(DidMethodNotSupported, match=r"webvh.*plugins\.webvh\.host") as refusal:
            await service.rotate(**how)
        assert refusal.value.details == {"methods": ["webvh"]}
        assert (service.custodian.secrets, (await service.rooms.ledger.head()).sequence) == (held, size)
        service.rooms.methods["webvh"] = webvh
        await service.rotate(**how)
        for each in made:
            await service.change(each, "later")
        await service.rooms.close()

    asyncio.run(story())
