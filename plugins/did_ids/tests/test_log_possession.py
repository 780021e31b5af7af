"""Proofs of possession in a log: where they stand, who asks for them, and that the holder of the log key cannot do without.

``before_possession.jsonl`` was written by the release before there were such proofs: a DID with two BBS keys.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from identity_commands.verify_log import verify
from identity_kit.conformance.controller import BIRTH, Controller, Life

from identity_client import challenge
from identity_codec import multibase
from identity_codec.values import replace
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import AddVerificationMethod, Create, NewService, Recover, Rotate, Update
from identity_core.domain.dids.keys import Key
from identity_core.domain.dids.state import DidState, LogInvalid
from identity_core.errors import InvalidDocument
from identity_core.ports.did_method import UnsignedEntry
from tests.attack.log_forger import LOG_KEY, METHOD, new_life, parsed, reminted, resealed, sealed

BLS = "Bls12381G2Key2020"
BEFORE = (Path(__file__).with_name("before_possession.jsonl")).read_bytes()
Item = dict[str, Any]


def bare(key: Key) -> Key:
    return replace(key, secret=None)


def old_life() -> Life:
    """The DID of before, to be changed by the release of now."""
    life = new_life("before possession")
    life.entries, life.states = [], []
    for _ in range(8):
        # Its dice begin anew: those that the log has must not come again.
        life.controller.key()
    state = None
    for line in BEFORE.splitlines():
        state = METHOD.apply(state, line)
        life.entries.append(line)
        life.states.append(state)
    return life


def first_entry(hana: Controller) -> tuple[Item, DidState, str]:
    """The first entry of a DID with a BBS key."""
    key = hana.new_key(BLS)
    entry = LOG_KEY.seal(
        METHOD.draft(None, Create((hana.new_key(), key), (LOG_KEY.multikey,)), BIRTH, signer=LOG_KEY.multikey)
    )
    return parsed(entry), METHOD.apply(None, entry), key.public


def test_proof_stands_beside_signature_and_not_in_document() -> None:
    item, state, key = first_entry(Controller("hana"))
    assert set(item["proof"][0]["possession"]) == {key}
    assert len(multibase.base64url_decode(item["proof"][0]["possession"][key])) == 80
    assert "ossession" not in json.dumps(item["state"])
    assert item["parameters"]["change"]["possession"] is True
    assert state.proven_keys == (key,)
    assert history.state_from_json(state.did.text, history.state_to_json(state), state.document.encoded) == state


def test_a_stranger_verifies_the_log() -> None:
    life = new_life()
    at = life.later()
    life.change(Update((AddVerificationMethod(life.controller.new_key(BLS)),), life.authorize(at)), at)
    old = life.state.document.methods[-1].id
    at = life.later()
    life.change(Rotate(old, life.controller.new_key(BLS), None, life.authorize(at)), at)
    assert verify(b"\n".join(life.entries)).versions == 3
    assert [f"{life.state.did}#{key}" for key in life.state.proven_keys or ()] == [life.state.document.methods[-1].id]


def test_no_key_joins_without_its_proof() -> None:
    life = new_life()
    hana, at = life.controller, life.later()
    life.change(Update((AddVerificationMethod(hana.new_key(BLS)),), life.authorize(at)), at)
    at = life.later()
    spend = life.authorize(at, key=life.state.recovery_key, scheme=challenge.RECOVERY_KEY)
    signing = life.state.document.methods[-1].id
    changes = (
        Update((AddVerificationMethod(bare(hana.new_key(BLS))),), life.authorize(at)),
        Update(
            (AddVerificationMethod(hana.new_key()), AddVerificationMethod(bare(hana.new_key(BLS)))), life.authorize(at)
        ),
        Rotate(signing, bare(hana.new_key(BLS)), None, life.authorize(at)),
        Recover(bare(hana.new_key(BLS)), False, hana.key().public, spend),
    )
    for change in changes:
        with pytest.raises(InvalidDocument, match="proofOfPossession"):
            life.entry(change, at)
    creation = Create((hana.new_key(), bare(hana.new_key(BLS))), (LOG_KEY.multikey,))
    with pytest.raises(InvalidDocument, match="updateDid"):
        METHOD.draft(None, creation, BIRTH, signer=LOG_KEY.multikey)


def test_a_proof_of_another_did_opens_nothing() -> None:
    """Mallory has Ivo's log, with Ivo's key and Ivo's proof in it."""
    ivo, _, key = first_entry(Controller("ivo"))
    proof = multibase.base64url_decode(ivo["proof"][0]["possession"][key])
    life = new_life("mallory")
    at = life.later()
    stolen = Key(BLS, key, ("assertionMethod",), proof)
    with pytest.raises(InvalidDocument, match="not one of this key for this DID"):
        life.entry(Update((AddVerificationMethod(stolen),), life.authorize(at)), at)


def proof(item: Item) -> Item:
    one: Item = item["proof"][0]
    return one


WITH_THE_LOG_KEY: dict[str, Callable[[Item], object]] = {
    "none": lambda item: proof(item).pop("possession"),
    "empty": lambda item: proof(item).update(possession={}),
    "no object": lambda item: proof(item).update(possession=[]),
    "null": lambda item: proof(item).update(possession=None),
    "a number": lambda item: proof(item).update(possession=dict.fromkeys(proof(item)["possession"], 1)),
    "another signature": lambda item: proof(item).update(
        possession=dict.fromkeys(proof(item)["possession"], "A" * 107)
    ),
    "padded": lambda item: proof(item)["possession"].update(
        {key: text + "=" for key, text in proof(item)["possession"].items()}
    ),
    "one more": lambda item: proof(item)["possession"].update(zUC7x="A" * 107),
}


@pytest.mark.parametrize("spoil", WITH_THE_LOG_KEY.values(), ids=WITH_THE_LOG_KEY)
def test_log_key_holder_needs_proof_of_possession(spoil: Callable[[Item], object]) -> None:
    item, state, _ = first_entry(Controller("hana"))
    good = proof(item)["possession"]
    body = {name: value for name, value in item.items() if name != "proof"}
    assert METHOD.apply(None, sealed(body, possession=good)) == state
    spoil(item)
    changes = {"possession": proof(item)["possession"]} if "possession" in proof(item) else {}
    with pytest.raises(LogInvalid):
        METHOD.apply(None, sealed(body, **changes))


def test_the_proof_is_under_the_signature() -> None:
    item, _, key = first_entry(Controller("hana"))
    other, _, _ = first_entry(Controller("other"))
    proof(item)["possession"] = {key: next(iter(proof(other)["possession"].values()))}
    with pytest.raises(LogInvalid):
        METHOD.apply(None, json.dumps(item, separators=(",", ":"), sort_keys=True).encode())


def test_a_log_of_before_is_good_and_its_keys_are_not_proven() -> None:
    assert verify(BEFORE).versions == 2
    life = old_life()
    assert [method.type for method in life.state.document.methods].count(BLS) == 2
    assert life.state.proven_keys is None
    stored = json.loads(history.state_to_json(life.state))
    del stored["proven"]
    assert (
        history.state_from_json(life.state.did.text, json.dumps(stored).encode(), life.state.document.encoded)
        == life.state
    )


def test_the_next_entry_ends_the_old_form() -> None:
    life = old_life()
    at = life.later()
    with pytest.raises(InvalidDocument, match="proofOfPossession"):
        life.entry(Update((AddVerificationMethod(bare(life.controller.new_key(BLS))),), life.authorize(at)), at)
    key = life.controller.new_key(BLS)
    life.change(Update((AddVerificationMethod(key),), life.authorize(at)), at)
    assert parsed(life.entries[-1])["parameters"]["change"]["possession"] is True
    assert life.state.proven_keys == (key.public,)
    at = life.later()
    life.change(Update((AddVerificationMethod(life.controller.new_key()),), life.authorize(at)), at)
    assert "possession" not in parsed(life.entries[-1])["parameters"]["change"]
    assert life.state.proven_keys == (key.public,)
    assert verify(b"\n".join(life.entries)).versions == 4


def old_form(item: Item) -> Item:
    """As the release of before wrote it."""
    item["parameters"]["change"].pop("possession", None)
    proof(item).pop("possession", None)
    return item


def test_the_old_form_does_not_come_back() -> None:
    """The holder of the log key adds a stranger's key in the form of before: to a DID of now, and to one of before that has moved on."""
    moved = old_life()
    at = moved.later()
    moved.change(Update((AddVerificationMethod(moved.controller.new_key()),), moved.authorize(at)), at)
    for life in (new_life(), moved):
        at = life.later()
        entry = parsed(
            life.entry(Update((AddVerificationMethod(life.controller.new_key(BLS)),), life.authorize(at)), at)
        )
        with pytest.raises(LogInvalid, match="proofOfPossession"):
            METHOD.apply(life.state, resealed(old_form(entry), life.state))


@pytest.mark.parametrize("value", [False, None, 1, "true", [], {}])
def test_whether_proofs_are_asked_for_is_said_in_one_way(value: object) -> None:
    item = parsed(new_life().entries[0])
    item["parameters"]["change"]["possession"] = value
    with pytest.raises(LogInvalid):
        METHOD.apply(None, reminted(item))


def test_it_is_said_once() -> None:
    life = new_life()
    at = life.later()
    item = parsed(life.entry(Update((AddVerificationMethod(life.controller.new_key()),), life.authorize(at)), at))
    item["parameters"]["change"]["possession"] = True
    with pytest.raises(LogInvalid, match="from one entry"):
        METHOD.apply(life.state, resealed(item, life.state))


def test_an_old_form_shows_no_proofs() -> None:
    item, _, _ = first_entry(Controller("hana"))
    del item["parameters"]["change"]["possession"]
    good = proof(item)["possession"]
    body = json.loads(reminted(item))
    del body["proof"]
    with pytest.raises(LogInvalid):
        METHOD.apply(None, sealed(body, possession=good))


def test_so_many_join_at_once() -> None:
    hana = Controller("hana")
    for count, good in ((3, True), (4, False)):
        creation = Create((hana.new_key(), *(hana.new_key(BLS) for _ in range(count))), (LOG_KEY.multikey,))
        if good:
            METHOD.draft(None, creation, BIRTH, signer=LOG_KEY.multikey)
        else:
            with pytest.raises(InvalidDocument, match="at once"):
                METHOD.draft(None, creation, BIRTH, signer=LOG_KEY.multikey)


def test_the_largest_entry_still_folds() -> None:
    """An entry that is drafted is never one that its own readers find too large."""
    hana = Controller("hana")
    keys = (hana.new_key(), *(hana.new_key(BLS) for _ in range(3)))

    def drafted(last: int) -> UnsignedEntry:
        lengths = [1900] * 5 + [last]
        services = tuple(
            NewService("A", f"https://a.example/{'x' * length}", f"s{n}") for n, length in enumerate(lengths)
        )
        return METHOD.draft(None, Create(keys, (LOG_KEY.multikey,), services), BIRTH, signer=LOG_KEY.multikey)

    largest = LOG_KEY.seal(drafted(1363))
    METHOD.apply(None, largest)
    assert 16_384 - 320 < len(largest) <= 16_384
    with pytest.raises(InvalidDocument, match="too large"):
        drafted(1364)
