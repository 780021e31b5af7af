"""listAuditLines: the whole audit log, for operators who may see all records.

The lines are returned as they were hashed, with their links, so a reader can check that none is missing or edited.

CheckAuditChain: this check by the service itself, a part at a time, for the operator's page.

FollowAuditChain: this check in the background, for the metrics.

CutAuditLog: the removal of expired lines.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from identity_codec import times
from identity_core.domain.activity import SERVICE, Event, EventRecord, RequestContext
from identity_core.domain.callers import Caller
from identity_core.errors import Forbidden, StorageMismatch
from identity_core.ports.clock import Clock
from identity_core.use_cases.background import SOON_SECONDS, Repeating, StepSize, erasing_time
from identity_records.audit import AuditLines, ChainedLine, ChainHead
from identity_records.chain import CUT, ChainBroken, check_kept, check_reached, cut_details, follow
from identity_records.use_cases.visibility import SCOPE
from identity_records.wire import ListAuditLinesQuery

log = logging.getLogger("identity")


class ListAuditLines(Struct, frozen=True):
    """The operation listAuditLines. Raises ``Forbidden``: for a caller without an API key with ``audit:read``, and for a key with
    an allowlist. A chain with gaps proves nothing, and the whole chain concerns all DIDs."""

    audit: AuditLines

    async def __call__(self, query: ListAuditLinesQuery, caller: Caller) -> Sequence[ChainedLine]:
        caller.require_key(SCOPE)
        if caller.api_key is None or caller.api_key.allowed_targets is not None:
            raise Forbidden("The audit log is about everybody: a key with an allowlist may not read it.")
        return await self.audit.chain(after=query.after, limit=query.limit)


MOST_LINES: Final = 5_000
"""The number of lines that one check follows, so that no request waits for a long log."""


class CheckedChain(Struct, frozen=True):
    """The result of a check. Lines up to ``verified`` follow each other, from the first stored one. ``total`` is the number of
    lines that the log states, None if its head is foreign. ``broken`` is the fault, or empty."""

    verified: int
    total: int | None
    broken: str = ""


class CheckAuditChain(Struct):
    """The check of the chain from the first stored line. Each call continues where the last one in this process ended, and compares
    the end with the service's own head. A change in lines before ``reached`` is found only by a new check, such as `identity audit
    verify`."""

    audit: AuditLines
    reached: ChainHead = ChainHead()
    most: int = MOST_LINES

    async def __call__(self) -> CheckedChain:
        cut = await self.audit.cut()
        # Another look may end while this one waits.
        reached = self.reached if self.reached.sequence >= cut.sequence else cut
        kept = await self.audit.head()
        if kept is None:
            return CheckedChain(reached.sequence, None, "its head was not written by this service")
        found = await self.audit.chain(after=reached.sequence, limit=self.most)
        # What was appended since the head was read is for the next look.
        lines = [line for line in found if line.sequence <= kept.head.sequence]
        try:
            check_reached(kept.head, reached)
            reached = follow(reached, lines)
            if reached.sequence == kept.head.sequence or len(found) < self.most:
                check_kept(reached, kept)
        except ChainBroken as error:
            # What was cut off meanwhile is not missing: the next look begins behind it.
            is_cut = (await self.audit.cut()).sequence > cut.sequence
            return CheckedChain(reached.sequence, kept.head.sequence, "" if is_cut else str(error))
        self.reached = reached
        return CheckedChain(reached.sequence, kept.head.sequence)


PAGE: Final = 500
NEXT_SECONDS: Final = 1.0
ANEW_SECONDS: Final = 3_600.0


@dataclass(slots=True)
class FollowAuditChain(Repeating):
    """The repeated check of the whole chain, ``PAGE`` lines a second, and again one hour after its end. A changed line is found
    within that hour and the time of a pass. ``broken`` is the fault, or empty."""

    complaint = "the audit log cannot be followed"

    audit: AuditLines
    broken: str = field(default="", init=False)
    _check: CheckAuditChain = field(init=False)

    def __post_init__(self) -> None:
        self._check = CheckAuditChain(self.audit, most=PAGE)

    async def step(self) -> float:
        checked = await self._check()
        if not checked.broken and checked.verified != checked.total:
            return NEXT_SECONDS
        if checked.broken and checked.broken != self.broken:
            log.error("ALARM: the audit log is not what was written: %s", checked.broken)
        self.broken = checked.broken
        self._check = CheckAuditChain(self.audit, most=PAGE)
        return ANEW_SECONDS


PAGES: Final = 20
"""A cut is of 10,000 lines at the most: no look at the log takes long."""


@dataclass(slots=True)
class CutAuditLog(Repeating):
    """The removal of lines that are older than ``kept``, a few at a time. A cut ends with a day (UTC), so that a quiet log is not
    cut for each of its lines. A line that does not follow from those before it is never cut, so the trace of a change stays.
    ``monotonic`` is in seconds."""

    complaint = "lines of the audit log past their time cannot go"
    interval_seconds = 60.0

    audit: AuditLines
    kept: timedelta
    clock: Clock
    monotonic: Callable[[], float]
    size: StepSize = field(init=False)

    def __post_init__(self) -> None:
        self.size = StepSize(self.monotonic)

    async def step(self) -> float:
        if await self.size.step(lambda limit: self.audit.drop_cut(limit=limit)):
            return SOON_SECONDS
        now = erasing_time(self.clock)
        through = await self._past(now - self.kept)
        if through is None:
            return self.interval_seconds
        event = EventRecord(Event(details=cut_details(through)), RequestContext(CUT, SERVICE), now)
        if not await self.audit.cut_through(through, event) and await self.audit.head() is None:
            raise StorageMismatch("The audit log is not cut: its head was not written by this service.")
        return SOON_SECONDS

    async def _past(self, until: datetime) -> ChainHead | None:
        """Return the last line before which all are older than the day of ``until``; None if there is none. Raises
        ``StorageMismatch``: when the log is incomplete."""
        midnight = until.replace(hour=0, minute=0, second=0, microsecond=0)
        cut = reached = await self.audit.cut()
        for _ in range(PAGES):
            lines = await self.audit.chain(after=reached.sequence, limit=PAGE)
            try:
                follow(reached, lines)
                old = list(itertools.takewhile(lambda one: _parse_time(one) < midnight, lines))
            except ChainBroken as error:
                raise StorageMismatch(f"The audit log is not cut: {error}.") from error
            if old:
                reached = ChainHead(old[-1].sequence, old[-1].link)
            if len(old) < PAGE:
                break
            # An embedded database reads on the event loop: requests come between two pages.
            await asyncio.sleep(0)
        return reached if reached.sequence > cut.sequence else None


def _parse_time(one: ChainedLine) -> datetime:
    try:
        return times.parse(json.loads(one.line)["at"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ChainBroken(f"line {one.sequence} says no time") from error
