import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from identity_core.domain.dids.did import Did
from identity_core.errors import DidNotFound, LedgerUnavailable
from identity_core.ports.ledger import LedgerBackend, LedgerEntry, LogSize
from identity_core.use_cases.dids.read import ENTRIES_AT_ONCE, OCTETS_AT_ONCE, GetDidLog
from tests.unit.plugin.parts import GoodLedger

DID = Did.parse("did:toy:a")


class Counting(GoodLedger):
    """Remembers which pages were asked for."""

    asked: list[tuple[int, int | None]]

    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
        self.asked.append((after, limit))
        return await super().entries(did, after=after, limit=limit)


async def filled(ledger: GoodLedger, count: int) -> None:
    for version in range(count):
        await ledger.append(str(DID), b"entry %d" % version, expected_version=version)


def asking(ledger: LedgerBackend) -> GetDidLog:
    return GetDidLog(cast(Any, None), ledger, visible_after_deactivation=True)


@pytest.mark.parametrize("count", [1, 3, 4, 5, 8, 23])
def test_the_pages_are_the_log_and_its_length_is_told_first(count: int) -> None:
    async def scenario() -> None:
        ledger = Counting()
        ledger.asked = []
        await filled(ledger, count)
        log = await asking(ledger)(DID)
        assert ledger.asked == []
        body = b"".join([page async for page in log.pages])
        assert body == b"".join(b"entry %d\n" % version for version in range(count))
        assert log.byte_count == len(body)

    asyncio.run(scenario())


def test_a_page_is_read_when_the_one_before_was_taken() -> None:
    async def scenario() -> None:
        ledger = Counting()
        ledger.asked = []
        await filled(ledger, 10)
        pages = (await asking(ledger)(DID)).pages
        await anext(pages)
        assert ledger.asked == [(0, 4)]
        await anext(pages)
        assert ledger.asked == [(0, 4), (4, 4)]
        await anext(pages)
        assert ledger.asked == [(0, 4), (4, 4), (8, 2)]

    asyncio.run(scenario())


def test_entry_appended_meanwhile_is_not_returned() -> None:
    async def scenario() -> None:
        ledger = GoodLedger()
        await filled(ledger, 5)
        log = await asking(ledger)(DID)
        await ledger.append(str(DID), b"late", expected_version=5)
        assert len(b"".join([page async for page in log.pages])) == log.byte_count

    asyncio.run(scenario())


def test_a_did_without_entries_is_not_found() -> None:
    with pytest.raises(DidNotFound):
        asyncio.run(asking(GoodLedger())(DID))


def test_a_ledger_that_begins_again_is_not_believed() -> None:
    class Confused(GoodLedger):
        async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
            return await super().entries(did, limit=limit)

        async def log_size(self, did: str) -> LogSize:
            return LogSize(9, 9)

    async def scenario() -> None:
        ledger = Confused()
        await filled(ledger, 9)
        log = await asking(ledger)(DID)
        with pytest.raises(LedgerUnavailable):
            [page async for page in log.pages]

    asyncio.run(scenario())


@pytest.mark.parametrize("count", [1, 4, 5, ENTRIES_AT_ONCE, ENTRIES_AT_ONCE + 1, 40])
def test_a_short_log_is_read_by_one_look(count: int) -> None:
    async def scenario() -> None:
        ledger = Counting()
        ledger.asked = []
        await filled(ledger, count)
        found = await asking(ledger).at_once(DID)
        # Of a long one no more than tells that it is long.
        assert ledger.asked == [(0, ENTRIES_AT_ONCE + 1)]
        log = await asking(ledger)(DID)
        whole = b"".join([page async for page in log.pages])
        assert found == (None if count > ENTRIES_AT_ONCE else (whole, b"entry %d\n" % (count - 1)))

    asyncio.run(scenario())


def test_a_log_of_many_octets_is_not_short() -> None:
    async def scenario() -> None:
        for data, is_short in ((OCTETS_AT_ONCE // 2 - 1, True), (OCTETS_AT_ONCE // 2, False)):
            ledger = GoodLedger()
            for version in range(2):
                await ledger.append(str(DID), b"x" * data, expected_version=version)
            assert (await asking(ledger).at_once(DID) is not None) is is_short

    asyncio.run(scenario())


def test_missing_hidden_or_gapped_log_shows_no_line() -> None:
    class Gap(GoodLedger):
        async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
            return (await super().entries(did, after=after, limit=limit))[1:]

    async def scenario() -> None:
        ledger = Gap()
        with pytest.raises(DidNotFound):
            await asking(ledger).at_once(DID)
        await filled(ledger, 3)
        with pytest.raises(LedgerUnavailable):
            await asking(ledger).at_once(DID)
        hidden = GetDidLog(cast(Any, None), ledger, visible_after_deactivation=False)
        assert await hidden.at_once(DID) is None

    asyncio.run(scenario())
