"""Logs of did:webvh that pre-rotate: our rules, a reader that is not ours, and a holder of the log key who writes by himself."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from identity_commands.verify_log import verify
from identity_kit.conformance.controller import Controller, Life, WalletSigner, committed
from test_did_webvh_readers import read, refused
from webvh_life import make, resealed, sealed

from identity_client import challenge
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import (
    AddService,
    Deactivate,
    Expire,
    NewService,
    Recover,
    Rotate,
    SetAlsoKnownAs,
    Update,
)
from identity_core.domain.dids.logs import LogKeys, fold, key_hash
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import InvalidDocument

FIRST, SECOND, THIRD, THIEF = (WalletSigner(f"generation {name}") for name in ("1", "2", "3", "of a thief"))


def create_life(*, recovery: bool = True, pre_rotates: bool = True) -> Life:
    hana = Controller("hana")
    keys = committed(FIRST, SECOND) if pre_rotates else None
    return Life(make(), hana.creation(FIRST, recovery=recovery), hana, FIRST, keys)


def updated(life: Life, next_keys: LogKeys | None = None) -> None:
    at = life.later()
    names = SetAlsoKnownAs((f"https://hana.example/{life.state.version_id}",))
    life.change(Update((names,), life.authorize(at)), at, next_keys)


def recovered(life: Life) -> None:
    at = life.later()
    spent = life.authorize(at, key=life.state.recovery_key, scheme=challenge.RECOVERY_KEY)
    life.change(Recover(life.controller.new_key(), True, life.controller.key().public, spent), at)


def whole() -> Life:
    """Every kind of change, in the middle of it the next generation of the log key."""
    life = create_life()
    updated(life)
    life.signer = SECOND
    at = life.later()
    end = (at + timedelta(hours=1)).replace(microsecond=0)
    old = life.state.document.related("authentication")[0]
    life.change(Rotate(old, life.controller.new_key(), end, life.authorize(at)), at, committed(SECOND, THIRD))
    life.change(Expire(), end)
    recovered(life)
    recovered(life)
    updated(life)
    at = life.later()
    life.change(Deactivate(life.authorize(at)), at)
    return life


LIFE = whole()
LINES = LIFE.entries


@pytest.mark.parametrize("length", range(1, len(LINES) + 1))
def test_reader_that_is_not_ours_takes_log_after_every_change(tmp_path: Path, length: int) -> None:
    result = read(tmp_path, LINES[:length], str(LIFE.state.did))
    state = LIFE.states[length - 1]
    assert result.document == state.document.to_json(), result.resolution_metadata
    assert result.document_metadata["deactivated"] is (length == len(LINES))
    assert verify(b"\n".join(LINES[:length])).head == f"{length}-{state.entry_hash}"


def test_every_entry_says_both_and_recovery_key_is_committed_to() -> None:
    for line, state in zip(LINES[:-1], LIFE.states, strict=False):
        said = json.loads(line)["parameters"]
        signer, following = (FIRST, SECOND) if state.version_id <= 2 else (SECOND, THIRD)
        assert said["updateKeys"] == [signer.multikey]
        assert state.recovery_key is not None
        hashes = [key_hash(key) for key in (signer.multikey, following.multikey, state.recovery_key)]
        assert said["nextKeyHashes"] == hashes
    assert json.loads(LINES[-1])["parameters"] == {
        "deactivated": True,
        "updateKeys": [SECOND.multikey],
        "nextKeyHashes": [],
    }
    brought = [json.loads(line)["proof"][0].get("recoveryKey") for line in LINES]
    assert [key is not None for key in brought] == [True, False, False, False, True, True, False, False]
    assert list(fold(LIFE.method.apply, LINES)) == LIFE.states


def test_without_a_recovery_key_there_are_two_hashes() -> None:
    life = create_life(recovery=False)
    updated(life)
    for line in life.entries:
        assert len(json.loads(line)["parameters"]["nextKeyHashes"]) == 2
        assert "recoveryKey" not in json.loads(line)["proof"][0]


def test_old_log_changes_with_next_change(tmp_path: Path) -> None:
    life = create_life(pre_rotates=False)
    updated(life)
    recovery_key = life.state.recovery_key
    assert recovery_key is not None
    said = [json.loads(line)["parameters"] for line in life.entries]
    assert (said[0]["updateKeys"], said[1]) == ([FIRST.multikey, recovery_key], {})
    updated(life, committed(SECOND, THIRD))
    assert json.loads(life.entries[2])["parameters"] == {
        "updateKeys": [SECOND.multikey],
        "nextKeyHashes": [key_hash(key) for key in (SECOND.multikey, THIRD.multikey, recovery_key)],
    }
    life.signer = SECOND
    recovered(life)
    assert list(fold(life.method.apply, life.entries)) == life.states
    assert read(tmp_path, life.entries, str(life.state.did)).document == life.state.document.to_json()


def test_the_end_of_a_grace_period_begins_nothing() -> None:
    life = create_life(pre_rotates=False)
    at = life.later()
    end = (at + timedelta(hours=1)).replace(microsecond=0)
    old = life.state.document.related("authentication")[0]
    life.change(Rotate(old, life.controller.new_key(), end, life.authorize(at)), at)
    with pytest.raises(LogInvalid):
        life.entry(Expire(), end, committed(FIRST, SECOND))


def test_recovery_key_holder_continues_alone(tmp_path: Path) -> None:
    """Every reader of the standard follows; the service does not, which signs with keys of its own."""
    life = create_life()
    assert life.state.recovery_key is not None
    body = {name: value for name, value in json.loads(life.entries[0]).items() if name != "proof"}
    recovery = Key(life)
    body |= {"parameters": LogKeys((recovery.multikey,), (key_hash(recovery.multikey),)).parameters()}
    body |= {"versionTime": "2026-01-02T03:05:05Z"}
    line = resealed([life.entries[0], sealed(body, FIRST)], 1, lambda _: None, recovery)[1]
    lines = [life.entries[0], line]
    assert verify(b"\n".join(lines)).versions == 2
    assert read(tmp_path, lines, str(life.state.did)).document is not None
    with pytest.raises(LogInvalid):
        life.method.apply(life.state, line)


class Key(WalletSigner):
    """The recovery key of a life as a signer of entries."""

    def __init__(self, life: Life) -> None:
        super().__init__("unused")
        assert life.state.recovery_key is not None
        self.multikey = life.state.recovery_key
        secret = life.controller._secrets[self.multikey]
        from identity_codec import ed25519

        self._pair = ed25519.generate(secret)


def _change_parameters(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda body: change(body["parameters"])


WRITTEN: dict[str, tuple[Callable[[dict[str, Any]], object], WalletSigner, bool]] = {
    # Whether did-webvh refuses it too. It takes an omitted nextKeyHashes, against the standard; the last three are rules of our own.
    "updateKeys omitted": (_change_parameters(lambda said: said.pop("updateKeys")), FIRST, True),
    "nextKeyHashes omitted": (_change_parameters(lambda said: said.pop("nextKeyHashes")), FIRST, False),
    "both omitted": (lambda body: body.update(parameters={}), FIRST, True),
    "a key that was not committed to": (
        _change_parameters(lambda said: said.update(updateKeys=[THIEF.multikey])),
        THIEF,
        True,
    ),
    "one beside it": (_change_parameters(lambda said: said["updateKeys"].append(THIEF.multikey)), FIRST, True),
    "one beside it, which signs": (
        _change_parameters(lambda said: said["updateKeys"].append(THIEF.multikey)),
        THIEF,
        True,
    ),
    "the key of before, for the next": (
        _change_parameters(lambda said: said.update(updateKeys=[SECOND.multikey])),
        FIRST,
        True,
    ),
    "no keys": (_change_parameters(lambda said: said.update(updateKeys=[])), FIRST, True),
    "a stranger": (lambda body: None, THIEF, True),
    "time going back": (lambda body: body.update(versionTime="2026-01-02T03:04:04Z"), FIRST, True),
    "stopped": (_change_parameters(lambda said: said.update(nextKeyHashes=[])), FIRST, False),
    "without the recovery key": (_change_parameters(lambda said: said["nextKeyHashes"].pop()), FIRST, False),
    "another recovery key": (
        _change_parameters(lambda said: said["nextKeyHashes"].append(key_hash(THIEF.multikey))),
        FIRST,
        False,
    ),
}
OUR_OWN = [spoil for spoil, _, _ in list(WRITTEN.values())[-3:]]


@pytest.mark.parametrize(("spoil", "signer", "by_all"), WRITTEN.values(), ids=WRITTEN)
def test_a_holder_of_the_key_cannot_leave_what_was_committed_to(
    tmp_path: Path, spoil: Callable[[dict[str, Any]], object], signer: WalletSigner, by_all: bool
) -> None:
    lines = resealed(LINES[:2], 1, spoil, signer)
    with pytest.raises(LogInvalid):
        list(fold(LIFE.method.apply, lines))
    if by_all:
        assert refused(tmp_path, lines, str(LIFE.state.did))
    if spoil not in OUR_OWN:
        with pytest.raises(LogInvalid):
            verify(b"\n".join(lines))
    # What the rules draft is taken, so the refusals are not for something else.
    assert resealed(LINES[:2], 1, lambda body: None, FIRST) == LINES[:2]


@pytest.mark.parametrize("named", [THIEF.multikey, "z6Mk", 1, ["x"]])
def test_a_proof_names_the_recovery_key_that_was_committed_to(named: Any) -> None:
    for place in (0, 1):
        body = {name: value for name, value in json.loads(LINES[place]).items() if name != "proof"}
        line = sealed(body, FIRST, recoveryKey=named)
        with pytest.raises(LogInvalid):
            LIFE.method.apply(LIFE.states[place - 1] if place else None, line)


def test_the_recovery_key_is_not_the_log_key() -> None:
    hana = Controller("hana")
    creation = hana.creation(FIRST)
    keys = committed(FIRST, SECOND)
    draft = make().draft(None, creation, LIFE.states[0].created_at, signer=FIRST.multikey, next_keys=keys)
    assert draft.state.recovery_key == creation.recovery_key
    from identity_codec.values import replace

    with pytest.raises((LogInvalid, InvalidDocument)):
        make().draft(
            None,
            replace(creation, recovery_key=FIRST.multikey),
            LIFE.states[0].created_at,
            signer=FIRST.multikey,
            next_keys=keys,
        )


def test_unrelated_change_still_repeats_keys() -> None:
    life = create_life()
    at = life.later()
    life.change(Update((AddService(NewService("A", "https://a.example/")),), life.authorize(at)), at)
    assert life.state.next_key_hashes == life.states[0].next_key_hashes
    assert (
        history.state_from_json(life.state.did.text, history.state_to_json(life.state), life.state.document.encoded)
        == life.state
    )
