"""From one key of checkpoints to the next: what a stranger believes who knows one of them."""

from __future__ import annotations

import pytest
from identity_did_ids.service_keys import Replacement
from identity_transparency.domain.checkpoint_keys import (
    CheckpointKeys,
    SignedByAnother,
    keys_followed,
    keys_listed,
    succession_text,
    verifier_key,
)

from identity_codec import ed25519, multikey
from identity_codec.values import replace
from identity_tlog.note import Checkpoint, VerifierKey, open_checkpoint, sign_checkpoint
from identity_tlog.tree import Malformed, Refuted
from tests.did_use_cases import START

ORIGIN = "id.example/log"
PAIRS = [ed25519.generate(bytes([number]) * 32) for number in range(1, 5)]
PUBLICS = [multikey.encode_public(multikey.ED25519, pair.public) for pair in PAIRS]
KEYS = [verifier_key(ORIGIN, public) for public in PUBLICS]


def succession(old: int, new: int, size: int, *by: int, origin: str = ORIGIN) -> bytes:
    text = succession_text(origin, PUBLICS[old], PUBLICS[new], size)
    lines = "".join(VerifierKey(origin, PAIRS[one].public).line(PAIRS[one].sign(text.encode())) for one in by)
    return f"{text}\n{lines}".encode()


def replaced(old: int, size: int, *, compromised: bool = False) -> Replacement:
    by = (old + 1,) if compromised else (old, old + 1)
    said = succession(old, old + 1, size, *by)
    return Replacement("checkpoint", old + 2, PUBLICS[old + 1], PUBLICS[old], size, compromised, START, said, old + 2)


TWICE = (replaced(0, 10), replaced(1, 20))


def note(size: int, *by: int) -> bytes:
    checkpoint = Checkpoint(ORIGIN, size, bytes([size]) * 32)
    first, *others = [(KEYS[one], PAIRS[one].sign(checkpoint.text.encode())) for one in by]
    return sign_checkpoint(checkpoint, *first) + "".join(key.line(signed) for key, signed in others).encode()


@pytest.mark.parametrize(("known", "is_believed"), [(0, True), (1, True), (2, True), (2, False)])
def test_all_keys_count_for_the_newest_or_a_believed_list(known: int, is_believed: bool) -> None:
    keys = keys_followed(KEYS[known], TWICE, is_believed=is_believed)
    assert (keys.present, [one.key for one in keys.earlier], keys.number) == (KEYS[2], [KEYS[1], KEYS[0]], 3)
    for size, by in ((5, (0,)), (10, (0,)), (11, (0, 1)), (20, (1,)), (21, (0, 1, 2)), (99, (2,))):
        assert keys.open(note(size, *by)).checkpoint.size == size


@pytest.mark.parametrize(("size", "by"), [(11, 0), (21, 0), (21, 1), (5, 3)])
def test_replaced_key_is_invalid_past_its_size(size: int, by: int) -> None:
    with pytest.raises(Refuted, match="not signed by the key of the log"):
        keys_followed(KEYS[2], TWICE).open(note(size, by))


def test_unknown_key_differs_from_retired_key() -> None:
    keys = keys_followed(KEYS[2], TWICE)
    with pytest.raises(SignedByAnother):
        keys.open(note(21, 3))
    for data in (note(21, 0), note(21, 3).replace(b"\xe2\x80\x94 ", b"\xe2\x80\x94 x"), note(21, 3, 1)):
        with pytest.raises(Refuted) as refusal:
            keys.open(data)
        assert refusal.type is Refuted


def test_every_known_key_that_signed_has_signed_well() -> None:
    keys = keys_followed(KEYS[2], TWICE)
    forged = note(21, 2) + KEYS[0].line(bytes(64)).encode()
    # Past its size the old key says nothing, well or badly.
    assert keys.open(forged).checkpoint.size == 21
    with pytest.raises(Refuted, match="wrong"):
        keys.open(note(7, 2) + KEYS[0].line(bytes(64)).encode())


@pytest.mark.parametrize("known", [0, 1])
def test_no_key_names_its_successor_for_a_stranger(known: int) -> None:
    """A thief of a key signs a succession to a key of the thief's own; only the log of a known DID leads on."""
    keys = keys_followed(KEYS[known], TWICE)
    assert (keys.present, [one.key for one in keys.earlier]) == (KEYS[known], KEYS[:known])


@pytest.mark.parametrize(
    "said",
    [
        None,
        b"no note",
        succession(0, 1, 10, 0),
        succession(0, 1, 11, 0, 1),
        succession(0, 2, 10, 0, 1),
        succession(0, 1, 10, 0, 1, origin="elsewhere/log"),
        succession(0, 1, 10, 0) + KEYS[1].line(bytes(64)).encode(),
        succession(0, 1, 10, 0) + KEYS[1].line(bytes(3)).encode(),
        note(10, 0, 1),
    ],
)
def test_no_earlier_key_counts_that_the_next_did_not_sign_for(said: bytes | None) -> None:
    keys = keys_followed(KEYS[1], [replace(TWICE[0], succession=said), TWICE[1]])
    assert (keys.present, keys.earlier) == (KEYS[1], ())


def test_a_thief_does_not_put_his_key_before_one_that_is_known() -> None:
    """A stranger lists his key as the one that ours took the place of, and signs for it himself."""
    thief = Replacement("checkpoint", 2, PUBLICS[0], PUBLICS[3], 99, False, START)
    listed = [
        replace(thief, succession=succession(3, 0, 99, 3)),
        *[replace(one, number=one.number + 1) for one in TWICE],
    ]
    keys = keys_followed(KEYS[2], listed)
    assert [one.key for one in keys.earlier] == [KEYS[1], KEYS[0]]
    assert keys.present == KEYS[2]


def test_compromised_key_names_no_successor() -> None:
    stolen = [replaced(0, 10, compromised=True)]
    assert keys_followed(KEYS[0], stolen) == CheckpointKeys(KEYS[0])
    believed = keys_followed(KEYS[0], stolen, is_believed=True)
    assert believed == keys_followed(KEYS[1], stolen) == keys_listed(ORIGIN, stolen)
    assert believed.open(note(10, 0)).checkpoint.size == 10
    with pytest.raises(Refuted):
        believed.open(note(11, 0))


def test_a_known_service_log_without_the_known_key_is_refused() -> None:
    with pytest.raises(Refuted, match="other keys"):
        keys_followed(KEYS[3], TWICE, is_believed=True)
    assert keys_followed(KEYS[3], TWICE) == CheckpointKeys(KEYS[3])
    assert keys_followed(KEYS[3], (), is_believed=True) == CheckpointKeys(KEYS[3])


def test_the_place_of_the_entry_counts_where_it_is_known() -> None:
    keys = keys_followed(KEYS[2], TWICE, [0, 12, 25])
    assert [one.tree_size for one in keys.earlier] == [25, 12]
    assert keys.open(note(12, 0)).checkpoint.size == 12


def test_keys_of_a_log_of_another_name_are_named_after_it() -> None:
    keys = keys_followed(KEYS[2], TWICE).renamed("other/log")
    assert {keys.present.name, *(one.key.name for one in keys.earlier)} == {"other/log"}
    with pytest.raises(Refuted, match="another log"):
        keys.open(note(5, 0))


def test_a_succession_is_no_checkpoint() -> None:
    """Under a name that makes its first line the one of a checkpoint, too."""
    said = succession(0, 1, 10, 0, origin="identity-ledger-key-succession/v1")
    with pytest.raises((Malformed, Refuted)):
        open_checkpoint(said, VerifierKey("identity-ledger-key-succession/v1", PAIRS[0].public))
