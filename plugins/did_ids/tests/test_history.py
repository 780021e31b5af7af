from __future__ import annotations

from datetime import UTC, datetime, timedelta

from identity_did_ids.evolution import Rules, evolve
from identity_kit.conformance.controller import Controller, WalletSigner

from identity_codec.values import replace
from identity_core.domain.dids import logs
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import (
    AddService,
    AddVerificationMethod,
    Create,
    Deactivate,
    NewService,
    RemoveService,
    RemoveVerificationMethod,
    Rotate,
    SetAlsoKnownAs,
    Update,
    UpdateService,
)
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import DidState, SpentChallenge

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
DID = Did.parse("did:ids:QmZVXud7T8h7qtJnoSA4jFk4o37z7nZFWQaiEfrNbZ5Mw7")
HANA = Controller("history")
SIGNER = WalletSigner("history")
FIRST = HANA.new_key()
CREATION = Create((FIRST,), (SIGNER.multikey,), (NewService("A", "https://a.example/", "a"),), (), HANA.key().public)


def create() -> DidState:
    return evolve(None, CREATION, AT, rules=Rules(), did=DID)


def update(state: DidState, *operations: object) -> DidState:
    at = state.updated_at + timedelta(minutes=1)
    authorization = HANA.authorize(str(DID), history.authentication_keys(state, at)[0], at)
    return evolve(state, Update(operations, authorization), at, rules=Rules())


def test_creation_is_described() -> None:
    assert logs.changes(None, create()) == (f"keyAdded #{FIRST.public}", "serviceAdded #a", "recoveryKeyChanged")


def test_updates_are_described() -> None:
    state = create()
    key = HANA.new_key()
    after = update(state, AddVerificationMethod(key), UpdateService(NewService("A", "https://b.example/", "a")))
    assert logs.changes(state, after) == (f"keyAdded #{key.public}", "serviceUpdated #a")
    last = update(
        after, RemoveVerificationMethod(f"{DID}#{key.public}"), RemoveService("a"), SetAlsoKnownAs(("did:x:a",))
    )
    assert logs.changes(after, last) == (f"keyRemoved #{key.public}", "serviceRemoved #a", "alsoKnownAsChanged")
    assert logs.changes(last, update(last, AddService(NewService("B", "https://b.example/", "b")))) == (
        "serviceAdded #b",
    )
    assert logs.changes(last, last) == ()


def test_rotation_and_its_end_are_described() -> None:
    state = create()
    at = AT + timedelta(minutes=1)
    new = HANA.new_key()
    authorization = HANA.authorize(str(DID), FIRST.public, at)
    rotated = evolve(
        state, Rotate(f"{DID}#{FIRST.public}", new, at + timedelta(days=1), authorization), at, rules=Rules()
    )
    assert logs.changes(state, rotated) == (
        f"keyAdded #{new.public}",
        f"keyRevoked #{FIRST.public} at 2026-01-03T03:05:05Z",
    )
    (end,) = history.expired(rotated, at + timedelta(days=1))
    assert logs.changes(rotated, end) == (f"keyExpired #{FIRST.public}",)
    assert (end.operation, end.key_id, end.entry_hash) == ("keyExpired", None, "")


def test_deactivation_is_described() -> None:
    state = create()
    at = AT + timedelta(minutes=1)
    after = evolve(state, Deactivate(HANA.authorize(str(DID), FIRST.public, at)), at, rules=Rules())
    assert logs.changes(state, after) == (f"keyRemoved #{FIRST.public}", "serviceRemoved #a", "deactivated")


def test_a_state_goes_to_the_index_and_back() -> None:
    state = update(create(), AddVerificationMethod(HANA.new_key("Bls12381G2Key2020")))
    at = state.updated_at + timedelta(minutes=1)
    authorization = HANA.authorize(str(DID), FIRST.public, at)
    rotated = evolve(
        state,
        Rotate(f"{DID}#{FIRST.public}", HANA.new_key(), at + timedelta(days=1), authorization),
        at,
        rules=Rules(),
    )
    ended = history.expired(rotated, at + timedelta(days=2))[-1]
    odd = replace(
        rotated,
        entry_hash="Qm",
        previous_hash=None,
        strict_grace=False,
        spent_challenges=(SpentChallenge("x", AT.replace(year=9999)), SpentChallenge("y", AT)),
        created_at=datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    )
    for known in (create(), state, rotated, ended, odd):
        assert history.state_from_json(known.did.text, history.state_to_json(known), known.document.encoded) == known


def test_digests_are_short_and_differ() -> None:
    digests = {history.digest(str(n)) for n in range(1000)}
    assert len(digests) == 1000
    assert {len(text) for text in digests} == {11}
