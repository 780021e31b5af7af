"""The chain of the audit log: what it finds, and what only a remembered head finds."""

from __future__ import annotations

import json
from typing import cast

import pytest
from identity_records.audit import ChainedLine, ChainHead, KeyedHead, next_link
from identity_records.chain import CUT, ChainBroken, check_kept, check_reached, cut_details, follow, follow_export

from identity_codec.values import replace


def chain(*said: str) -> list[ChainedLine]:
    lines, link = [], ChainHead().link
    for number, text in enumerate(said, 1):
        line = b'{"sequence":%d,"said":"%s"}' % (number, text.encode())
        link = next_link(link, line)
        lines.append(ChainedLine(number, line, link))
    return lines


LINES = chain("a", "b", "c", "d")


def test_a_good_chain_whole_and_in_parts() -> None:
    head = follow(ChainHead(), LINES)
    assert head == ChainHead(4, LINES[-1].link)
    assert follow(follow(ChainHead(), LINES[:2]), LINES[2:]) == head
    assert follow(ChainHead(), []) == ChainHead()
    assert follow(ChainHead(), LINES, known=ChainHead(2, LINES[1].link)) == head
    check_reached(head, head)
    check_reached(head, None)


@pytest.mark.parametrize("place", range(4))
def test_an_edited_line(place: int) -> None:
    edited = list(LINES)
    edited[place] = replace(edited[place], line=edited[place].line.replace(b"said", b"SAID"))
    with pytest.raises(ChainBroken, match=f"line {place + 1} "):
        follow(ChainHead(), edited)


@pytest.mark.parametrize("place", range(3))
def test_a_removed_line(place: int) -> None:
    with pytest.raises(ChainBroken, match=f"line {place + 1} is missing"):
        follow(ChainHead(), [one for one in LINES if one.sequence != place + 1])


def test_swapped_lines() -> None:
    first, second = LINES[1], LINES[2]
    with pytest.raises(ChainBroken, match="line 2"):
        follow(ChainHead(), [LINES[0], second, first, LINES[3]])
    # Their numbers put right, the lines themselves still say the old ones.
    moved = [replace(second, sequence=2), replace(first, sequence=3)]
    with pytest.raises(ChainBroken, match="line 2 says another number"):
        follow(ChainHead(), [LINES[0], *moved, LINES[3]])


def test_stored_head_finds_truncation() -> None:
    anew = chain("a", "B", "c", "d")
    assert follow(ChainHead(), anew).sequence == 4
    with pytest.raises(ChainBroken, match="written anew"):
        follow(ChainHead(), anew, known=ChainHead(4, LINES[3].link))
    with pytest.raises(ChainBroken, match="cut off"):
        check_reached(follow(ChainHead(), LINES[:3]), ChainHead(4, LINES[3].link))


def test_head_tag_covers_its_fields() -> None:
    kept = KeyedHead(ChainHead(4, bytes(range(32))), 2)
    assert kept.encode() == b"identity audit head v1\n4 2 " + bytes(range(32))


def test_the_chain_ends_where_its_head_says() -> None:
    head = follow(ChainHead(), LINES)
    check_kept(head, KeyedHead(head, 1))
    for reached, says in (
        (follow(ChainHead(), LINES[:3]), "ends at line 3, line 4 was written"),
        (ChainHead(5, head.link), "line 5 was not written"),
        (ChainHead(4, bytes(32)), "written anew"),
    ):
        with pytest.raises(ChainBroken, match=says):
            check_kept(reached, KeyedHead(head, 1))


def behind(cut: ChainHead, *lines: object) -> list[ChainedLine]:
    """Lines that follow ``cut``."""
    made, head = [], cut
    for said in lines:
        line = json.dumps(
            {"sequence": head.sequence + 1} | cast("dict[str, object]", said), separators=(",", ":")
        ).encode()
        head = ChainHead(head.sequence + 1, next_link(head.link, line))
        made.append(ChainedLine(head.sequence, line, head.link))
    return made


def telling(cut: ChainHead, **changed: object) -> dict[str, object]:
    return {"operation": CUT, "details": cut_details(cut) | changed}


HEAD = ChainHead(4, LINES[-1].link)


def test_an_export_that_begins_behind_a_cut_says_so_itself() -> None:
    lines = behind(HEAD, {"operation": "x"}, telling(HEAD), {"operation": "y"})
    assert follow_export(lines) == (HEAD, ChainHead(7, lines[-1].link))
    assert follow_export(LINES) == (ChainHead(), HEAD)
    assert follow_export([]) == (ChainHead(), ChainHead())
    # The line that tells of it may be the first.
    assert follow_export(behind(HEAD, telling(HEAD)))[0] == HEAD


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"operation": "x"}, "lines 1 to 4 are missing"),
        (telling(HEAD, through=3), "lines 1 to 4 are missing"),
        (telling(HEAD, link="00" * 32), "line 5 does not follow"),
        (telling(HEAD, link="no hash"), "line 6 tells of a cut and does not say which"),
        (telling(HEAD, through=[4]), "line 6 tells of a cut and does not say which"),
        ({"operation": CUT, "details": []}, "line 6 tells of a cut and does not say which"),
        ({"operation": "x", "details": {"text": f'"operation":"{CUT}"'}}, "lines 1 to 4 are missing"),
    ],
)
def test_lines_that_are_missing_in_front_need_a_cut(told: object, says: str) -> None:
    with pytest.raises(ChainBroken, match=says):
        follow_export(behind(HEAD, {"operation": "x"}, told))


def test_more_than_was_cut_is_missed() -> None:
    lines = behind(HEAD, {"operation": "x"}, {"operation": "y"}, telling(HEAD))
    for gone in (1, 2):
        with pytest.raises(ChainBroken, match=f"lines 1 to {4 + gone} are missing"):
            follow_export(lines[gone:])
