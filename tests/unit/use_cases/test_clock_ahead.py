"""Nothing is recorded for a time to come where the clock has a second opinion."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from identity_ledger_memory import MemoryLedger
from identity_ledger_sql import SqlLedger

from identity_codec.values import replace
from identity_core.domain.dids.changes import AddService, NewService
from identity_core.ports.ledger import ClockAhead
from identity_core.use_cases.dids.change import UpdateDid
from tests.did_use_cases import START, MovableClock, Rooms, secret_of, update_of


@dataclass
class WatchedClock(MovableClock):
    """Counts from ``START`` on; ``time`` may be set beside that."""

    def ahead_seconds(self, at: datetime) -> float:
        return (at - START).total_seconds() - self.seconds


def run(story: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(story())  # type: ignore[arg-type]


def test_entry_drafted_ahead_is_not_recorded(tmp_path: Path) -> None:
    """The time of the entry counts, and not only that of its recording. What was recorded ahead before can be followed, a tick later."""

    async def story() -> None:
        rooms = Rooms(tmp_path)
        created = await rooms.new_did()
        did, secret = created.version.state.did, secret_of(created)

        async def change(name: str, clock: MovableClock) -> int:
            service = AddService(NewService("LinkedDomains", "https://hana.example/", name))
            signed = await rooms.signed(did, secret, "update", body={})
            update = UpdateDid(replace(rooms.writer, clock=clock), rooms.update.approvals)
            after = await update(did, update_of(service), signed, rooms.context(did, signed), if_match=None)
            return after.state.version_id

        ahead = START + timedelta(seconds=120)
        # The clock of the ledger is right again.
        with pytest.raises(ClockAhead):
            await change("first", WatchedClock(ahead))
        assert await change("first", MovableClock(ahead)) == 2
        assert await change("next", WatchedClock()) == 3
        await rooms.close()

    run(story)


@pytest.mark.parametrize("kind", ["sql", "memory"])
def test_a_ledger_gives_no_time_to_come(kind: str, tmp_path: Path) -> None:
    """A service that has been idle for days is not ahead: its counter has gone on."""

    async def story() -> None:
        clock = WatchedClock()
        ledger = MemoryLedger(clock) if kind == "memory" else SqlLedger.open(tmp_path, None, clock=clock, processes=1)
        await ledger.append("did:x:1", b"first", expected_version=0)
        clock.move(days=30)
        await ledger.append("did:x:1", b"after a month", expected_version=1)
        clock.time += timedelta(days=3)
        with pytest.raises(ClockAhead) as refused:
            await ledger.append("did:x:1", b"ahead", expected_version=2)
        assert refused.value.status == 503
        assert refused.value.details["outcome"] == "not recorded"
        clock.time -= timedelta(days=3)
        receipt = await ledger.append("did:x:1", b"again", expected_version=2)
        assert receipt.recorded_at < START + timedelta(days=30, seconds=1)
        await ledger.close()

    run(story)
