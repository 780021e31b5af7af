"""How far the service itself has followed the audit log, and its report of a changed one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from identity_records.audit import ChainedLine, ChainHead, KeyedHead, next_link
from identity_records.use_cases.audit import CheckAuditChain, CheckedChain

from identity_core.domain.activity import EventRecord


@dataclass
class Log:
    """An audit log in memory."""

    lines: list[ChainedLine] = field(default_factory=list)
    keeps_head: bool = True
    written: KeyedHead = field(default_factory=lambda: KeyedHead(ChainHead(), 1))
    gone: ChainHead = field(default_factory=ChainHead)

    def add(self, count: int) -> None:
        for _ in range(count):
            last = self.lines[-1].link if self.lines else bytes(32)
            number = len(self.lines) + 1
            line = b'{"sequence":%d,"at":"x"}' % number
            self.lines.append(ChainedLine(number, line, next_link(last, line)))
        self.written = KeyedHead(ChainHead(len(self.lines), self.lines[-1].link), 1)

    async def head(self) -> KeyedHead | None:
        return self.written if self.keeps_head else None

    async def chain(self, *, after: int, limit: int) -> Sequence[ChainedLine]:
        # Others have their turn, as with a database.
        await asyncio.sleep(0)
        return [line for line in self.lines if line.sequence > after][:limit]

    async def cut(self) -> ChainHead:
        return self.gone

    async def cut_through(self, through: ChainHead, event: EventRecord) -> bool:
        raise NotImplementedError

    async def drop_cut(self, *, limit: int) -> int:
        raise NotImplementedError

    async def key_from_here(self) -> int:
        raise NotImplementedError

    async def is_whole(self) -> bool:
        raise NotImplementedError


def looks(log: Log, times: int = 1, check: CheckAuditChain | None = None) -> list[CheckedChain]:
    checked = check or CheckAuditChain(log)

    async def run() -> list[CheckedChain]:
        return [await checked() for _ in range(times)]

    return asyncio.run(run())


def test_a_long_log_is_followed_a_part_at_a_time() -> None:
    log = Log()
    log.add(10)
    assert [one.verified for one in looks(log, 4, CheckAuditChain(log, most=4))] == [4, 8, 10, 10]
    assert {(one.total, one.broken) for one in looks(log, 3)} == {(10, "")}


def test_an_edited_line_stops_it_at_the_line_before() -> None:
    log = Log()
    log.add(6)
    log.lines[3] = ChainedLine(4, b'{"sequence":4,"at":"y"}', log.lines[3].link)
    (found,) = looks(log)
    assert (found.verified, found.total) == (0, 6)
    assert "line 4" in found.broken


def test_truncated_end_is_found() -> None:
    log, check = Log(), None
    log.add(6)
    del log.lines[4:]
    (found,) = looks(log)
    assert "cut off" in found.broken
    # Also by one who saw them, when the head was put back too.
    log = Log()
    log.add(6)
    check = CheckAuditChain(log)
    looks(log, check=check)
    del log.lines[4:]
    log.written = KeyedHead(ChainHead(4, log.lines[3].link), 1)
    assert "cut off" in looks(log, check=check)[0].broken


def test_lines_that_only_somebody_else_wrote_are_not_verified() -> None:
    log = Log()
    log.add(3)
    kept = log.written
    log.add(2)
    log.written = kept
    assert looks(log) == [CheckedChain(3, 3)]
    log.keeps_head = False
    assert looks(log)[0].total is None
    assert "not written by this service" in looks(log)[0].broken


def test_concurrent_checks_report_no_missing_lines() -> None:
    log = Log()
    log.add(5)
    check = CheckAuditChain(log)

    async def run() -> list[CheckedChain]:
        return list(await asyncio.gather(check(), check()))

    assert asyncio.run(run()) == [CheckedChain(5, 5)] * 2


def test_cut_lines_are_not_reported_missing() -> None:
    log = Log()
    log.add(6)
    before = CheckAuditChain(log)
    assert looks(log, check=before) == [CheckedChain(6, 6)]
    log.gone = ChainHead(4, log.lines[3].link)
    del log.lines[:4]
    assert [looks(log, check=one) for one in (before, CheckAuditChain(log))] == [[CheckedChain(6, 6)]] * 2
    del log.lines[:1]
    assert "line 5 is missing" in looks(log)[0].broken
