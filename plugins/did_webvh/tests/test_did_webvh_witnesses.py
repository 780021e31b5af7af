"""Other witnesses than the first entry's: our rules, a reader that is not ours, and a holder of the log key who writes by himself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from identity_commands.verify_log import verify
from identity_did_webvh import approvals as witness
from identity_did_webvh import log as webvh
from identity_kit.conformance.controller import Life, committed
from test_did_webvh_pre_rotation import FIRST, SECOND, THIRD, create_life, recovered, updated
from test_did_webvh_readers import resolver, verifier
from webvh_life import begin, resealed, sealed

from identity_codec import ed25519, multikey
from identity_codec.values import replace
from identity_core.domain.dids import logs
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import Create, Rotate, SetAlsoKnownAs, SetWitnesses, Update, WitnessList
from identity_core.domain.dids.logs import fold
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import Forbidden, InvalidDocument

OLD, NEW = ([ed25519.generate(bytes([number]) * 32) for number in numbers] for numbers in ((1, 2), (3, 4)))
AT = "2026-01-05T00:00:00Z"


def names(pairs: list[ed25519.Ed25519KeyPair]) -> tuple[str, ...]:
    return tuple(f"did:key:{multikey.encode_public(multikey.ED25519, pair.public)}" for pair in pairs)


def wish(pairs: list[ed25519.Ed25519KeyPair], threshold: int = 1) -> SetWitnesses:
    return SetWitnesses(WitnessList(threshold, names(pairs)) if pairs else None)


def witnessed(threshold: int = 1) -> Life:
    """A DID of which ``threshold`` of the OLD witnesses must approve."""
    life = create_life()
    change = replace(life.creation, witnesses=WitnessList(threshold, names(OLD)))
    assert isinstance(change, Create)
    return Life(life.method, change, life.controller, FIRST, committed(FIRST, SECOND))


def approvals(*given: tuple[ed25519.Ed25519KeyPair, Life, int]) -> bytes:
    """A did-witness.json: who approves of which version of a log."""
    found = []
    for pair, life, number in given:
        version = json.loads(life.entries[number - 1])["versionId"]
        found += json.loads(witness.approve(None, version, pair, AT))
    return json.dumps(found).encode()


def verify_both(folder: Path, life: Life, file: bytes, versions: int | None = None) -> bool:
    """Whether we and the PyPI package did-webvh take the log so far: one answer, or the test fails."""
    lines = life.entries[:versions]
    try:
        verify(b"\n".join(lines), witness_file=file)
        ours = True
    except LogInvalid:
        ours = False
    (folder / "did.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    (folder / "did-witness.json").write_bytes(file)
    source = resolver.LocalHistoryResolver(folder / "did.jsonl", folder / "did-witness.json")
    reading = resolver.DidResolver(verifier.WebvhVerifier(enforce_future_skew=False))
    result = asyncio.run(reading.resolve(str(life.state.did), source))
    assert (result.document is not None) is ours, result.resolution_metadata
    return ours


def test_the_list_before_approves_of_its_own_replacement(tmp_path: Path) -> None:
    life = witnessed(threshold=2)
    life.update(wish(NEW))
    updated(life)
    said = [json.loads(line)["parameters"].get("witness") for line in life.entries]
    assert said[1:] == [{"threshold": 1, "witnesses": [{"id": name} for name in names(NEW)]}, None]
    old, new = [(pair, life, 2) for pair in OLD], (NEW[1], life, 3)
    assert verify_both(tmp_path, life, approvals(*old, new))
    assert verify_both(tmp_path, life, approvals(*old), 2)
    # The new ones speak for nothing before their list acts, and the old ones for nothing after it.
    assert not verify_both(tmp_path, life, approvals(*((pair, life, 2) for pair in NEW)), 2)
    assert not verify_both(tmp_path, life, approvals(old[0], new))
    assert not verify_both(tmp_path, life, approvals(*old))
    assert not verify_both(tmp_path, life, approvals(*((pair, life, 3) for pair in OLD)))
    assert list(fold(life.method.apply, life.entries)) == life.states


def test_removal_of_witnesses_needs_their_approval(tmp_path: Path) -> None:
    life = witnessed()
    life.update(wish([]))
    updated(life)
    assert json.loads(life.entries[1])["parameters"]["witness"] == {}
    assert verify_both(tmp_path, life, approvals((OLD[0], life, 2)))
    assert not verify_both(tmp_path, life, approvals((OLD[0], life, 1)))
    life.update(wish(NEW))
    updated(life)
    file = approvals((OLD[0], life, 2), (NEW[0], life, 5))
    assert verify_both(tmp_path, life, file)
    assert not verify_both(tmp_path, life, approvals((OLD[0], life, 2)))
    states = webvh.verify_entries(life.entries, now=None, witness_file=file)
    required = [None if one is None else len(one.keys) for one in webvh.required_witnesses(states)]
    assert required == [2, 2, None, 2, 2]


def test_witness_change_is_update_in_history() -> None:
    life = create_life()
    life.update(wish(NEW), SetAlsoKnownAs(("https://hana.example/",)))
    assert (life.state.operation, life.state.witness_version) == (history.UPDATE, 2)
    assert logs.changes(life.states[0], life.state) == ("alsoKnownAsChanged", "witnessesChanged")
    # With a move to the next log key it is not a move alone.
    life.signer = SECOND
    at = life.later()
    life.change(Update((wish(OLD),), life.authorize(at)), at, committed(SECOND, THIRD))
    assert (life.state.operation, life.state.witness_version) == (history.UPDATE, 3)
    recovered(life)
    assert life.state.witness_version == 3
    assert "witnessesChanged" not in logs.changes(life.states[2], life.state)
    assert list(fold(life.method.apply, life.entries)) == life.states
    read = history.state_from_json(life.state.did.text, history.state_to_json(life.state), life.state.document.encoded)
    assert read == life.state


def test_a_log_of_before_pre_rotation_takes_other_witnesses() -> None:
    life = create_life(pre_rotates=False)
    life.update(wish(NEW))
    assert json.loads(life.entries[1])["parameters"].keys() == {"witness"}
    assert list(fold(life.method.apply, life.entries)) == life.states


BAD: dict[str, tuple[SetWitnesses, ...]] = {
    "a threshold that cannot be met": (wish(NEW, 3),),
    "a threshold of zero": (wish(NEW, 0),),
    "a witness twice": (wish([NEW[0], NEW[0]]),),
    "no did:key": (SetWitnesses(WitnessList(1, ("did:web:hana.example",))),),
    "a bare key": (SetWitnesses(WitnessList(1, (names(NEW)[0].removeprefix("did:key:"),))),),
    "two lists": (wish(NEW), wish(OLD)),
}


@pytest.mark.parametrize("operations", BAD.values(), ids=BAD)
def test_lists_that_no_reader_would_take_are_refused(operations: tuple[SetWitnesses, ...]) -> None:
    life = begin()
    with pytest.raises(InvalidDocument) as caught:
        life.update(*operations)
    assert caught.value.details["member"] == "witness"


def test_a_key_in_grace_does_not_replace_the_witnesses() -> None:
    life = witnessed()
    at = life.later()
    first = life.state.document.related("authentication")[0]
    life.change(Rotate(first, life.controller.new_key(), at + timedelta(days=1), life.authorize(at)), at)
    at = life.later()
    with pytest.raises(Forbidden):
        life.change(Update((wish(NEW),), life.authorize(at, key=first.partition("#")[2])), at)
    life.change(Update((wish(NEW),), life.authorize(at)), at)


LIST = {"threshold": 1, "witnesses": [{"id": names(NEW)[0]}]}


def set_witness(value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda body: body["parameters"].update(witness=value)


def ended(body: dict[str, Any]) -> None:
    body["parameters"] |= {"witness": {}, "deactivated": True, "nextKeyHashes": []}
    body["state"] = {name: body["state"][name] for name in ("@context", "id")}


WRITTEN: dict[str, Callable[[dict[str, Any]], object]] = {
    "threshold 0": set_witness(LIST | {"threshold": 0}),
    "threshold 2 of 1": set_witness(LIST | {"threshold": 2}),
    "threshold as text": set_witness(LIST | {"threshold": "1"}),
    "threshold true": set_witness(LIST | {"threshold": True}),
    "no threshold": set_witness({"witnesses": LIST["witnesses"]}),
    "an empty list": set_witness({"threshold": 1, "witnesses": []}),
    "null": set_witness(None),
    "a list": set_witness([]),
    "twice": set_witness(LIST | {"witnesses": [{"id": names(NEW)[0]}] * 2}),
    "a weight": set_witness({"threshold": 1, "witnesses": [{"id": names(NEW)[0], "weight": 1}]}),
    "no did:key": set_witness({"threshold": 1, "witnesses": [{"id": "did:web:hana.example"}]}),
    "a key for agreement": set_witness({"threshold": 1, "witnesses": [{"id": "did:key:z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc"}]}),
    "at the end": ended,
}  # fmt: skip


@pytest.mark.parametrize("spoil", WRITTEN.values(), ids=WRITTEN)
def test_a_holder_of_the_log_key_writes_no_other_form(spoil: Callable[[dict[str, Any]], object]) -> None:
    life = witnessed()
    updated(life)
    assert resealed(life.entries, 1, set_witness(LIST), FIRST)[1] != life.entries[1]
    life.method.apply(life.states[0], resealed(life.entries, 1, set_witness(LIST), FIRST)[1])
    with pytest.raises(LogInvalid):
        life.method.apply(life.states[0], resealed(life.entries, 1, spoil, FIRST)[1])


def test_a_recovery_says_nothing_of_witnesses() -> None:
    life = witnessed()
    recovered(life)
    brought = json.loads(life.entries[1])["proof"][0]["recoveryKey"]
    body = {name: value for name, value in json.loads(life.entries[1]).items() if name != "proof"}
    good = sealed(body, FIRST, recoveryKey=brought)
    assert good == life.entries[1]
    body["parameters"]["witness"] = {}
    lines = resealed([life.entries[0], sealed(body, FIRST)], 1, lambda _: None, FIRST)
    again = {name: value for name, value in json.loads(lines[1]).items() if name != "proof"}
    with pytest.raises(LogInvalid, match="leaves the witnesses"):
        life.method.apply(life.states[0], sealed(again, FIRST, recoveryKey=brought))
