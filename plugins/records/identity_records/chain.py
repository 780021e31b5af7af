"""The chain of the audit log, and its check from the lines alone.

``link`` is SHA-256 over a tag, the link before and the line; the line holds its own number. An edited, removed, inserted or swapped
line breaks it. A writer of the whole log can also rewrite the chain or cut off its end. So the log has a head with a tag (a MAC),
which states the end of the chain. A missing, forged or contradictory head shows such a change. A log that was restored as a whole,
with its old head, is found only by comparison with a head that was stored elsewhere.

Expired lines are removed from the front. The *cut* is the number and the link of the last of them. It has a tag like the head's,
and a line of the log records it, for readers of an export.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from identity_codec.strict_json import JsonValue
from identity_core.errors import StorageMismatch
from identity_records.audit import AuditLines, ChainedLine, ChainHead, KeyedHead, next_link


class ChainBroken(ValueError):
    """A chain whose lines are not those that were written. The message names the line and the reason."""


def follow(head: ChainHead, lines: Iterable[ChainedLine], *, known: ChainHead | None = None) -> ChainHead:
    """Return the head after ``lines``, which must follow ``head``. ``known`` is a head from an earlier check: the line of its
    number must have its link. Raises ``ChainBroken``."""
    for one in lines:
        number = head.sequence + 1
        if one.sequence != number:
            raise ChainBroken(f"line {number} is missing, line {one.sequence} stands in its place")
        if not one.line.startswith(b'{"sequence":%d,' % number):
            raise ChainBroken(f"line {number} says another number: it was edited, or moved here")
        if one.link != next_link(head.link, one.line):
            raise ChainBroken(f"line {number} does not follow from the lines before it: one of them was edited")
        if known is not None and known.sequence == number and known.link != one.link:
            raise ChainBroken(f"line {number} is another than the one that was remembered: the log was written anew")
        head = ChainHead(number, one.link)
    return head


def check_reached(head: ChainHead, known: ChainHead | None) -> None:
    """Require that the log does not end before the head of an earlier check. Raises ``ChainBroken``."""
    if known is not None and head.sequence < known.sequence:
        raise ChainBroken(
            f"the log ends at line {head.sequence}, line {known.sequence} was seen before: its end was cut off"
        )


CUT: Final = "cutAuditLog"
"""The operation of a line that tells of a cut."""


def cut_details(cut: ChainHead) -> dict[str, JsonValue]:
    """Return the details of the line that records a cut."""
    return {"through": cut.sequence, "link": cut.link.hex()}


def follow_export(lines: Iterable[ChainedLine], *, known: ChainHead | None = None) -> tuple[ChainHead, ChainHead]:
    """Return the cut at which an export begins, and the head after it. If the first line is not line 1, a later one must record
    that the earlier ones were cut, and the link. Raises ``ChainBroken``."""
    rest = iter(lines)
    first = next(rest, None)
    if first is None or first.sequence <= 1:
        return ChainHead(), follow(ChainHead(), () if first is None else itertools.chain([first], rest), known=known)
    told = dict[int, bytes]()
    heard = _listened(itertools.chain([first], rest), told)
    next(heard)
    reached = follow(ChainHead(first.sequence, first.link), heard, known=known)
    gone = first.sequence - 1
    if gone not in told:
        raise ChainBroken(f"lines 1 to {gone} are missing, and no line tells that they were past their time")
    cut = ChainHead(gone, told[gone])
    follow(cut, [first], known=known)
    return cut, reached


def _listened(lines: Iterable[ChainedLine], told: dict[int, bytes]) -> Iterator[ChainedLine]:
    """Yield the lines, and put the cuts that they record into ``told``."""
    for one in lines:
        if b'"operation":"%s"' % CUT.encode() in one.line:
            details = _details(one)
            told[details["through"]] = bytes.fromhex(details["link"])
        yield one


def _details(one: ChainedLine) -> dict[str, Any]:
    try:
        said = json.loads(one.line)
        details: dict[str, Any] = said["details"] if said["operation"] == CUT else {"through": 0, "link": ""}
        bytes.fromhex(details["link"])
        hash(details["through"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ChainBroken(f"line {one.sequence} tells of a cut and does not say which") from error
    return details


def check_kept(reached: ChainHead, kept: KeyedHead) -> None:
    """Require that the chain ends at its own head, which has a valid tag. Raises ``ChainBroken``."""
    said = kept.head
    if reached.sequence < said.sequence:
        raise ChainBroken(
            f"the log ends at line {reached.sequence}, line {said.sequence} was written: its end was cut off"
        )
    if reached.sequence > said.sequence:
        raise ChainBroken(f"line {said.sequence + 1} was not written by this service")
    if reached.link != said.link:
        raise ChainBroken("the log does not lead to the head that was written: it was written anew")


async def require_line(log: AuditLines, number: int, link: bytes) -> None:
    """Raise ``StorageMismatch``: when the log does not have this line, and did not cut it. Line 0 is before the first."""
    if number == 0:
        return
    found = await log.chain(after=number - 1, limit=1)
    if not found or found[0].sequence != number:
        cut = await log.cut()
        if cut == ChainHead(number, link) or cut.sequence > number:
            return
    if not found:
        raise StorageMismatch(
            f"Line {number} of the audit log is remembered and not there: the store is older, or empty."
        )
    if found[0].sequence != number or found[0].link != link:
        raise StorageMismatch(
            f"Line {number} of the audit log is not the one that is remembered: the store is another one."
        )
