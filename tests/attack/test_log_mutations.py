"""Every single mutation of a log of ours is refused; the one that cannot be is said to be so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from identity_commands.verify_log import verify
from identity_kit.conformance.controller import WalletSigner

from identity_core.domain.dids import state as history
from identity_core.domain.dids.state import LogInvalid
from tests.attack.log_forger import METHOD, parsed, resealed, sealed, signed_by_no_key, whole_life

LIFE = whole_life()
OTHER = whole_life("mallory")
LINES = LIFE.entries
WHOLE = b"\n".join(LINES) + b"\n"


def refused(lines: list[bytes]) -> None:
    with pytest.raises(LogInvalid) as refusal:
        verify(b"\n".join(lines))
    assert 1 <= refusal.value.details["line"] <= len(lines)


def test_the_whole_log_verifies_and_holds_every_kind_of_entry() -> None:
    verified = verify(WHOLE)
    assert verified.summary() == {
        "did": str(LIFE.state.did),
        "versions": 6,
        "versionId": f"6-{LIFE.state.entry_hash}",
        "updated": "2026-01-02T03:13:05Z",
        "deactivated": True,
        # Update, rotation, recovery and deactivation, signed over plain challenges.
        "unboundChanges": 4,
    }
    kinds = [state.operation for state in LIFE.states]
    assert kinds == [
        history.CREATE,
        history.UPDATE,
        history.KEY_ROTATED,
        history.KEY_EXPIRED,
        history.RECOVERED,
        history.DEACTIVATED,
    ]


def test_a_key_of_small_order_signs_nothing() -> None:
    with pytest.raises(LogInvalid, match="prime-order"):
        verify(signed_by_no_key(parsed(LINES[0])))


@given(st.data())
def test_a_flipped_bit(data: st.DataObject) -> None:
    line = data.draw(st.integers(0, len(LINES) - 1))
    bit = data.draw(st.integers(0, 8 * len(LINES[line]) - 1))
    spoilt = bytearray(LINES[line])
    spoilt[bit // 8] ^= 1 << bit % 8
    with pytest.raises(LogInvalid):
        verify(b"\n".join([*LINES[:line], bytes(spoilt), *LINES[line + 1 :]]))


@given(st.data())
def test_a_cut_or_an_inserted_byte(data: st.DataObject) -> None:
    line = data.draw(st.integers(0, len(LINES) - 1))
    place = data.draw(st.integers(0, len(LINES[line]) - 1))
    extra = data.draw(st.binary(max_size=3).filter(lambda raw: b"\n" not in raw))
    text = LINES[line]
    for spoilt in (text[:place] + text[place + 1 :], text[:place] + (extra or b" ") + text[place:]):
        if spoilt != text:
            with pytest.raises(LogInvalid):
                verify(b"\n".join([*LINES[:line], spoilt, *LINES[line + 1 :]]))


@given(st.permutations(range(len(LINES))))
def test_another_order(order: list[int]) -> None:
    if order != list(range(len(LINES))):
        refused([LINES[place] for place in order])


@given(st.sets(st.integers(0, len(LINES) - 1), min_size=1))
def test_missing_entries(kept: set[int]) -> None:
    chosen = sorted(kept)
    if chosen != list(range(len(chosen))):
        refused([LINES[place] for place in chosen])


@pytest.mark.parametrize("length", range(1, len(LINES)))
def test_truncation_at_the_end_is_valid_by_itself(length: int) -> None:
    """Known, and in the README: no log can show what is not in it. Anyone who must notice remembers the last versionId that he saw."""
    assert verify(b"\n".join(LINES[:length])).versions == length


@pytest.mark.parametrize("place", range(len(LINES)))
def test_an_entry_twice(place: int) -> None:
    refused([*LINES[: place + 1], *LINES[place:]])


@pytest.mark.parametrize("place", range(len(LINES)))
def test_an_entry_of_another_did(place: int) -> None:
    refused([*LINES[:place], OTHER.entries[place], *LINES[place + 1 :]] if place else [LINES[0], OTHER.entries[0]])
    if place:
        refused([OTHER.entries[0], *LINES[place:]])


@pytest.mark.parametrize("place", range(1, len(LINES)))
def test_an_entry_signed_by_a_stranger(place: int) -> None:
    stranger = WalletSigner("stranger")
    before = LIFE.states[place - 1]
    refused([*LINES[:place], resealed(parsed(LINES[place]), before, stranger)])
    body = {name: value for name, value in parsed(LINES[place]).items() if name != "proof"}
    log_key = parsed(LINES[place])["proof"][0]["verificationMethod"]
    refused([*LINES[:place], sealed(body, stranger, verificationMethod=log_key)])


@pytest.mark.parametrize("place", range(1, len(LINES)))
def test_resealing_what_was_written_changes_nothing(place: int) -> None:
    """The forger forges well: what the other tests see refused is refused for what they changed, not for how."""
    assert resealed(parsed(LINES[place]), LIFE.states[place - 1]) == LINES[place]


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"\n\n", b"\n" + WHOLE, WHOLE + b"\n", WHOLE.replace(b"\n", b"\r\n"), WHOLE.replace(b"\n", b"\n\n"), b"[" + WHOLE + b"]",
     b"\xef\xbb\xbf" + WHOLE, WHOLE.decode().encode("utf-16"), b"\x00", WHOLE + b"\x00", b"x" * 100_000],
    ids=range(13),
)  # fmt: skip
def test_malformed_log_is_refused(data: bytes) -> None:
    with pytest.raises(LogInvalid):
        verify(data)


def test_number_of_first_entry_is_1() -> None:
    body = {name: value for name, value in parsed(LINES[0]).items() if name != "proof"}
    assert sealed(body) == LINES[0]
    for number in (2, 10):
        other = sealed(body | {"versionId": body["versionId"].replace("1-", f"{number}-", 1)})
        with pytest.raises(LogInvalid, match="does not name its own DID"):
            METHOD.apply(None, other)


@pytest.mark.parametrize("place", range(len(LINES)))
def test_a_refusal_names_the_version_that_was_to_come(place: int) -> None:
    before = LIFE.states[place - 1] if place else None
    with pytest.raises(LogInvalid) as refusal:
        METHOD.apply(before, LINES[place] + b" ")
    assert refusal.value.details == {"version": place + 1}


def test_the_state_of_a_log_is_that_of_its_entries() -> None:
    state = None
    for line, expected in zip(LINES, LIFE.states, strict=True):
        state = METHOD.apply(state, line)
        assert state == expected
