"""The chain of the audit log: what it finds, and what only a remembered head finds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from identity_core.domain.activity import (
    ChainBroken,
    ChainedLine,
    ChainHead,
    KeyedHead,
    check_kept,
    check_reached,
    follow,
    next_link,
)


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


def test_what_only_a_remembered_head_finds() -> None:
    anew = chain("a", "B", "c", "d")
    assert follow(ChainHead(), anew).sequence == 4
    with pytest.raises(ChainBroken, match="written anew"):
        follow(ChainHead(), anew, known=ChainHead(4, LINES[3].link))
    with pytest.raises(ChainBroken, match="cut off"):
        check_reached(follow(ChainHead(), LINES[:3]), ChainHead(4, LINES[3].link))


def test_what_the_tag_of_a_head_is_over() -> None:
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
