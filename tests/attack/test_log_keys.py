"""Logs that pre-rotate, against a holder of their key who writes what no rule would have drafted (did:webvh 1.0, "Pre-Rotation")."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from identity_commands.verify_log import verify
from identity_kit.conformance.controller import BIRTH, Controller, Life, WalletSigner, committed

from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import (
    AddService,
    Deactivate,
    Expire,
    NewService,
    RetireLogKey,
    Rotate,
    RotateLogKey,
    Update,
)
from identity_core.domain.dids.logs import LogKeys, fold, key_hash
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import IdentityError, InvalidDocument
from tests.attack.log_forger import METHOD, MINUTE, parsed, reminted, resealed

FIRST, SECOND, THIRD, THIEF = (WalletSigner(f"generation {name}") for name in ("1", "2", "3", "of a thief"))
SERVICE = AddService(NewService("A", "https://a.example/", "a"))


def create_life(*, pre_rotates: bool = True) -> Life:
    hana = Controller("hana")
    keys = committed(FIRST, SECOND) if pre_rotates else None
    return Life(METHOD, hana.creation(FIRST), hana, FIRST, keys)


def updated(life: Life, signer: WalletSigner | None = None, next_keys: LogKeys | None = None) -> Life:
    life.signer = signer or life.signer
    at = life.later()
    life.change(Update((SERVICE,), life.authorize(at)), at, next_keys)
    return life


def keys_of(line: bytes) -> dict[str, Any]:
    return {
        name: value for name, value in json.loads(line)["parameters"].items() if name in ("updateKeys", "nextKeyHashes")
    }


def build_parameters(signer: WalletSigner, *others: WalletSigner) -> dict[str, Any]:
    return committed(signer, *others).parameters()


def test_every_entry_says_its_keys_and_the_next_until_the_end() -> None:
    life = updated(create_life())
    life.signer = SECOND
    at = life.later()
    life.change(
        Rotate(life.state.document.methods[0].id, life.controller.new_key(), at + 5 * MINUTE, life.authorize(at)),
        at,
        committed(SECOND, THIRD),
    )
    due = history.find_grace_end(life.state)
    assert due is not None
    life.change(Expire(), due)
    at = due + MINUTE
    life.change(Deactivate(life.authorize(at)), at)
    assert [keys_of(line) for line in life.entries] == [
        build_parameters(FIRST, SECOND),
        build_parameters(FIRST, SECOND),
        build_parameters(SECOND, THIRD),
        build_parameters(SECOND, THIRD),
        {"updateKeys": [SECOND.multikey], "nextKeyHashes": []},
    ]
    assert verify(b"\n".join(life.entries)).deactivated
    assert list(fold(METHOD.apply, life.entries)) == life.states
    for state in life.states:
        assert history.state_from_json(state.did.text, history.state_to_json(state), state.document.encoded) == state


def test_old_log_changes_with_its_controller() -> None:
    life = updated(create_life(pre_rotates=False))
    assert [keys_of(line) for line in life.entries] == [{"updateKeys": [FIRST.multikey]}, {}]
    at = life.later()
    # The entry that begins is signed by the key of before, and may name the next one at once.
    update = Update((AddService(NewService("B", "https://b.example/", "b")),), life.authorize(at))
    life.change(update, at, committed(SECOND, THIRD))
    assert keys_of(life.entries[-1]) == build_parameters(SECOND, THIRD)
    assert (life.state.update_keys, len(life.state.next_key_hashes)) == ((SECOND.multikey,), 2)
    life.signer = SECOND
    at = life.later()
    life.change(Deactivate(life.authorize(at)), at)
    assert verify(b"\n".join(life.entries)).versions == 4


def test_the_end_of_a_grace_period_begins_nothing() -> None:
    """No controller asks for that entry, so the log key alone would decide."""
    life = create_life(pre_rotates=False)
    at = life.later()
    life.change(
        Rotate(life.state.document.methods[0].id, life.controller.new_key(), at + 5 * MINUTE, life.authorize(at)), at
    )
    due = history.find_grace_end(life.state)
    assert due is not None
    with pytest.raises(InvalidDocument):
        life.entry(Expire(), due, committed(FIRST, SECOND))
    item = parsed(life.entry(Expire(), due))
    item["parameters"] |= build_parameters(FIRST, THIEF)
    with pytest.raises(LogInvalid):
        METHOD.apply(life.state, resealed(item, life.state, FIRST))


def test_the_end_of_a_grace_period_hands_the_log_to_nobody() -> None:
    """It is the one entry of a change that the log key writes alone: naming the next key there would give the log away in two steps."""
    life = create_life()
    at = life.later()
    life.change(
        Rotate(life.state.document.methods[0].id, life.controller.new_key(), at + 5 * MINUTE, life.authorize(at)), at
    )
    due = history.find_grace_end(life.state)
    assert due is not None
    for next_keys in (committed(FIRST, THIEF), committed(FIRST, SECOND, THIEF), committed(FIRST)):
        with pytest.raises(InvalidDocument):
            life.entry(Expire(), due, next_keys)
        item = parsed(life.entry(Expire(), due))
        item["parameters"] |= next_keys.parameters()
        with pytest.raises(LogInvalid, match="Without its controller"):
            METHOD.apply(life.state, resealed(item, life.state, FIRST))
    # A key that was committed to may write it, and then says what comes after it.
    life.signer = SECOND
    life.change(Expire(), due, committed(SECOND, THIRD))
    assert verify(b"\n".join(life.entries)).versions == 3


WRITTEN: dict[str, tuple[Callable[[dict[str, Any]], object], WalletSigner]] = {
    "updateKeys omitted": (lambda said: said.pop("updateKeys"), FIRST),
    "nextKeyHashes omitted": (lambda said: said.pop("nextKeyHashes"), FIRST),
    "both omitted": (lambda said: [said.pop(name) for name in ("updateKeys", "nextKeyHashes")], FIRST),
    "stopped": (lambda said: said.update(nextKeyHashes=[]), FIRST),
    "no keys": (lambda said: said.update(updateKeys=[]), FIRST),
    "null": (lambda said: said.update(updateKeys=None, nextKeyHashes=None), FIRST),
    "texts": (lambda said: said.update(nextKeyHashes=said["nextKeyHashes"][0]), FIRST),
    "no hash": (lambda said: said.update(nextKeyHashes=["Qm" + "0" * 44]), FIRST),
    "a multikey for a hash": (lambda said: said.update(nextKeyHashes=[FIRST.multikey]), FIRST),
    "a hash twice": (lambda said: said.update(nextKeyHashes=said["nextKeyHashes"][:1] * 2), FIRST),
    "eleven hashes": (lambda said: said.update(nextKeyHashes=[key_hash(str(n)) for n in range(11)]), FIRST),
    "a key twice": (lambda said: said.update(updateKeys=said["updateKeys"] * 2), FIRST),
    "no key": (lambda said: said.update(updateKeys=["z6Mk"]), FIRST),
    "a key that was not committed to": (lambda said: said.update(updateKeys=[THIEF.multikey]), THIEF),
    "one beside those that were": (lambda said: said["updateKeys"].append(THIEF.multikey), FIRST),
    "one beside them, which signs": (lambda said: said["updateKeys"].append(THIEF.multikey), THIEF),
    "the key of before, for the next one": (lambda said: said.update(updateKeys=[SECOND.multikey]), FIRST),
    "the next key, which is not named": (lambda said: None, SECOND),
    "a stranger": (lambda said: None, THIEF),
}


@pytest.mark.parametrize(("spoil", "signer"), WRITTEN.values(), ids=WRITTEN)
def test_a_holder_of_the_key_cannot_leave_what_was_committed_to(
    spoil: Callable[[dict[str, Any]], object], signer: WalletSigner
) -> None:
    life = updated(create_life())
    item = parsed(life.entries[1])
    spoil(item["parameters"])
    lines = [life.entries[0], resealed(item, life.states[0], signer)]
    with pytest.raises(LogInvalid):
        METHOD.apply(life.states[0], lines[1])
    with pytest.raises(LogInvalid) as refused:
        verify(b"\n".join(lines))
    assert refused.value.details == {"line": 2}
    # What the rules draft is taken, so the refusals are not for something else.
    assert METHOD.apply(life.states[0], resealed(parsed(life.entries[1]), life.states[0], FIRST)) == life.states[1]


def test_uncommitted_key_is_refused() -> None:
    life = updated(create_life(), next_keys=LogKeys((FIRST.multikey,), (key_hash(SECOND.multikey),)))
    at = life.later()
    update = Update((AddService(NewService("B", "https://b.example/", "b")),), life.authorize(at))
    with pytest.raises(InvalidDocument, match="did not commit"):
        life.entry(update, at)
    life.signer = SECOND
    item = parsed(life.entry(update, at, committed(SECOND, THIRD)))
    item["parameters"] |= build_parameters(FIRST, SECOND)
    with pytest.raises(LogInvalid, match="did not commit"):
        METHOD.apply(life.state, resealed(item, life.state, FIRST))


def test_a_key_that_was_left_signs_nothing_more() -> None:
    life = updated(create_life(), SECOND, committed(SECOND, THIRD))
    at = life.later()
    update = Update((AddService(NewService("B", "https://b.example/", "b")),), life.authorize(at))
    for keys in (None, committed(FIRST, SECOND), committed(SECOND, THIRD)):
        life.signer = FIRST
        with pytest.raises(InvalidDocument):
            life.entry(update, at, keys)
    life.signer = SECOND
    item = parsed(life.entry(update, at))
    for keys in (build_parameters(SECOND, THIRD), build_parameters(FIRST, SECOND), build_parameters(FIRST, THIEF)):
        item["parameters"] |= keys
        with pytest.raises(LogInvalid):
            METHOD.apply(life.state, resealed(item, life.state, FIRST))


def test_time_does_not_go_back() -> None:
    life = updated(updated_twice := create_life())
    assert life is updated_twice
    item = parsed(life.entries[1])
    for time in ("2026-01-02T03:04:05.678901Z", "2026-01-02T03:04:05.678900Z", "1970-01-01T00:00:00.000000Z"):
        with pytest.raises(LogInvalid):
            METHOD.apply(life.states[0], resealed(item | {"versionTime": time}, life.states[0], FIRST))


@pytest.mark.parametrize("hashes", [[], None, ["x"], "Qm", [1], [key_hash("a")] * 2])
def test_a_first_entry_commits_to_something_or_says_nothing(hashes: object) -> None:
    item = parsed(create_life().entries[0])
    item["parameters"]["nextKeyHashes"] = hashes
    with pytest.raises(LogInvalid):
        METHOD.apply(None, reminted(item, FIRST))


def test_a_first_entry_names_the_keys_that_create_it() -> None:
    hana = Controller("hana")
    with pytest.raises(InvalidDocument):
        METHOD.draft(None, hana.creation(FIRST), BIRTH, signer=FIRST.multikey, next_keys=committed(SECOND, THIRD))


def test_the_end_needs_a_committed_key_and_commits_to_none() -> None:
    life = create_life()
    at = life.later()
    end = Deactivate(life.authorize(at))
    item = parsed(life.entry(end, at))
    for keys, signer in (
        ({"updateKeys": []}, FIRST),
        ({"updateKeys": [THIEF.multikey]}, THIEF),
        ({"nextKeyHashes": [key_hash(FIRST.multikey)]}, FIRST),
    ):
        spoilt = item | {"parameters": item["parameters"] | keys}
        with pytest.raises(LogInvalid):
            METHOD.apply(life.state, resealed(spoilt, life.state, signer))
    without = item | {"parameters": {k: v for k, v in item["parameters"].items() if k != "nextKeyHashes"}}
    with pytest.raises(LogInvalid):
        METHOD.apply(life.state, resealed(without, life.state, FIRST))
    after = METHOD.apply(life.state, resealed(item, life.state, FIRST))
    assert (after.deactivated, after.update_keys, after.next_key_hashes) == (True, (), ())
    with pytest.raises(IdentityError):
        METHOD.draft(after, end, at + MINUTE, signer=FIRST.multikey)


def taken_over() -> Life:
    """A log whose second generation has taken over by itself."""
    life = updated(create_life())
    life.signer = SECOND
    life.change(RotateLogKey(), life.later(), committed(SECOND, THIRD))
    return life


def test_log_continues_under_committed_key() -> None:
    life = taken_over()
    before, after = life.states[-2:]
    assert (after.operation, after.document, after.recovery_key) == (
        history.LOG_KEY_ROTATED,
        before.document,
        before.recovery_key,
    )
    assert after.update_keys == (SECOND.multikey,)
    life.change(RetireLogKey(FIRST.multikey, 7, True), life.later())
    assert list(fold(METHOD.apply, life.entries)) == life.states
    assert json.loads(life.entries[-1])["parameters"]["change"] == {
        "operation": "logKeyRetired",
        "proofBy": "service",
        "retired": {"multikey": FIRST.multikey, "treeSize": 7, "compromised": True},
    }


@pytest.mark.parametrize(
    "keys",
    [
        committed(FIRST, SECOND),
        committed(FIRST, THIEF),
        committed(THIEF),
        LogKeys((FIRST.multikey, SECOND.multikey), ()),
    ],
)
def test_a_thief_of_the_present_key_cannot_take_a_log_over(keys: LogKeys) -> None:
    """What needs no controller leaves the key of before, so it takes the next one, which he has not."""
    life = updated(create_life())
    with pytest.raises(InvalidDocument):
        life.entry(RotateLogKey(), life.later(), keys)
    life.signer = SECOND
    item = parsed(life.entry(RotateLogKey(), life.later(), committed(SECOND, THIRD)))
    item["parameters"] |= keys.parameters()
    for signer in (FIRST, THIEF):
        with pytest.raises(LogInvalid):
            METHOD.apply(life.state, resealed(item, life.state, signer))


def test_log_of_before_is_not_taken_over_without_its_controller() -> None:
    life = create_life(pre_rotates=False)
    with pytest.raises(InvalidDocument):
        life.entry(RotateLogKey(), life.later(), committed(SECOND, THIRD))
    with pytest.raises(InvalidDocument):
        life.entry(RotateLogKey(), life.later())
    other = updated(create_life())
    other.signer = SECOND
    item = parsed(other.entry(RotateLogKey(), other.later(), committed(SECOND, THIRD)))
    item["state"] = json.loads(life.entries[0])["state"]
    item["versionId"] = "2-" + item["versionId"].partition("-")[2]
    with pytest.raises(LogInvalid, match="pre-rotates"):
        METHOD.apply(life.state, resealed(item, life.state, FIRST))


RETIRED: dict[str, dict[str, Any]] = {
    "the present key": {"multikey": SECOND.multikey},
    "a stranger's key": {"multikey": THIEF.multikey},
    "no key": {"multikey": "x"},
    "a size of nothing": {"treeSize": 0},
    "a size below": {"treeSize": -1},
    "a size as text": {"treeSize": "7"},
    "a size with a fraction": {"treeSize": 7.5},
    "a size that is true": {"treeSize": True},
    "a size beyond integers": {"treeSize": 2**53},
    "a word for why": {"compromised": "yes"},
    "something more": {"at": "2026-01-01T00:00:00Z"},
}


@pytest.mark.parametrize("spoilt", RETIRED.values(), ids=RETIRED)
def test_only_a_key_that_was_taken_over_from_is_retired(spoilt: dict[str, Any]) -> None:
    life = taken_over()
    item = parsed(life.entry(RetireLogKey(FIRST.multikey, 7, False), life.later()))
    assert METHOD.apply(life.state, resealed(item, life.state, SECOND))
    item["parameters"]["change"]["retired"] |= spoilt
    with pytest.raises(LogInvalid):
        METHOD.apply(life.state, resealed(item, life.state, SECOND))


def test_retired_key_cannot_retire_successor() -> None:
    life = taken_over()
    item = parsed(life.entry(RetireLogKey(FIRST.multikey, 7, False), life.later()))
    item["parameters"]["change"]["retired"]["multikey"] = SECOND.multikey
    for keys, signer in (
        (build_parameters(SECOND, THIRD), FIRST),
        (build_parameters(FIRST, SECOND), FIRST),
        (build_parameters(THIRD, FIRST), THIRD),
    ):
        item["parameters"] |= keys
        with pytest.raises(LogInvalid):
            METHOD.apply(life.state, resealed(item, life.state, signer))
