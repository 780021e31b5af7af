"""The promises of a ledger to callers who come at once. They are part of ``LedgerConformance``."""

from __future__ import annotations

import asyncio

import pytest

from identity_core.conformance.ledger_examined import DID, ExaminedLedger, check_lines, run, whole
from identity_core.errors import VersionConflict
from identity_core.ports.ledger import LedgerBackend, Receipt


class ConcurrencyPromises(ExaminedLedger):
    """No one loses, sees or breaks anything because others are there too."""

    def test_a_conflict_fails_alone(self, ledger: LedgerBackend) -> None:
        """What is appended beside a conflict goes through, and the conflict leaves no gap."""

        async def scenario() -> None:
            await ledger.append(DID, b"first", expected_version=0)
            appends = []
            for n in range(20):
                appends.append(ledger.append(f"did:x:{n}", b"good", expected_version=0))
                appends.append(ledger.append(DID, b"bad", expected_version=0))
            outcomes = await asyncio.gather(*appends, return_exceptions=True)
            assert all(isinstance(outcome, Receipt) for outcome in outcomes[::2]), "a conflict took others with it"
            assert all(isinstance(outcome, VersionConflict) for outcome in outcomes[1::2]), "a conflict went through"
            lines = await whole(ledger)
            assert len(lines) == 21
            check_lines(lines, shared_chain=self.shared_chain)

        run(scenario())

    def test_parallel_appends_of_one_version_have_one_winner(self, ledger: LedgerBackend) -> None:
        """Of 64 callers one gets a receipt, and its entry is the one that is there."""

        async def scenario() -> None:
            appends = (ledger.append(DID, b"%d" % n, expected_version=0) for n in range(64))
            outcomes = await asyncio.gather(*appends, return_exceptions=True)
            winners = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, Receipt)]
            assert len(winners) == 1, f"{len(winners)} winners"
            assert sum(isinstance(outcome, VersionConflict) for outcome in outcomes) == 63
            assert [line.entry for line in await ledger.entries(DID)] == [b"%d" % winners[0]]

        run(scenario())

    def test_racing_writers_lose_nothing(self, ledger: LedgerBackend) -> None:
        """Writers that read, append and try again after a conflict get every entry in, each once."""

        async def writer(name: int) -> None:
            for turn in range(8):
                for _ in range(1000):
                    version = len(await ledger.entries(DID))
                    try:
                        await ledger.append(DID, b"%d.%d" % (name, turn), expected_version=version)
                        break
                    except VersionConflict:
                        await asyncio.sleep(0)
                else:
                    pytest.fail("a writer that reads again never gets through")

        async def scenario() -> None:
            await asyncio.gather(*(writer(name) for name in range(4)))
            entries = [line.entry for line in await ledger.entries(DID)]
            assert sorted(entries) == sorted(b"%d.%d" % (name, turn) for name in range(4) for turn in range(8))
            check_lines(await whole(ledger), shared_chain=self.shared_chain)

        run(scenario())

    def test_readers_never_see_a_gap(self, ledger: LedgerBackend) -> None:
        """While others append, a reader sees an unbroken beginning that only grows."""

        async def reader() -> None:
            seen = 0
            for _ in range(20):
                lines = await whole(ledger)
                check_lines(lines, shared_chain=self.shared_chain)
                assert len(lines) >= seen, "entries vanished"
                seen = len(lines)
                await asyncio.sleep(0)

        async def writer(name: int) -> None:
            for version in range(3):
                await ledger.append(f"did:x:{name}", b"x", expected_version=version)

        async def scenario() -> None:
            await asyncio.gather(reader(), reader(), *(writer(name) for name in range(40)))
            assert len(await whole(ledger)) == 120

        run(scenario())

    def test_an_append_that_is_cancelled_leaves_the_ledger_whole(self, ledger: LedgerBackend) -> None:
        """It is recorded or it is not; nothing else suffers."""

        async def scenario() -> None:
            tasks = [asyncio.ensure_future(ledger.append(f"did:x:{n}", b"x", expected_version=0)) for n in range(30)]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(outcome, Receipt) for outcome in outcomes[1::2])
            await ledger.append(DID, b"after", expected_version=0)
            lines = await whole(ledger)
            check_lines(lines, shared_chain=self.shared_chain)
            recorded = {line.did for line in lines}
            for n, outcome in enumerate(outcomes):
                assert not isinstance(outcome, Receipt) or f"did:x:{n}" in recorded, "a receipt without its entry"

        run(scenario())
