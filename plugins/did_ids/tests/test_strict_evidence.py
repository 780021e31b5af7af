"""strictEvidence that begins in a later entry, and the count of the changes before it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from identity_commands.verify_log import verify
from identity_did_ids.chain import Chain
from identity_did_ids.evolution import Rules
from identity_kit.conformance.controller import Controller, Life, WalletSigner

from identity_codec.values import replace
from identity_core.domain.dids import requests
from identity_core.domain.dids.changes import AddService, Authorization, Deactivate, NewService, Rotate, Update
from identity_core.domain.dids.state import DidState, state_from_json, state_to_json
from identity_core.errors import AuthFailed, Forbidden, InvalidDocument

SIGNER = WalletSigner("log")
STRICT = {"operation": "setStrictEvidence", "strictEvidence": True}
A = AddService(NewService("A", "https://a.example/", "a"))
BODY = {"operation": "addService", "service": {"id": "a", "type": "A", "serviceEndpoint": "https://a.example/"}}


@pytest.fixture
def life() -> Life:
    hana = Controller("strict evidence")
    creation = replace(hana.creation(SIGNER), strict_evidence=False)
    return Life(Chain("ids", Rules()), creation, hana, SIGNER)


def bound(life: Life, body: Any, purpose: str | None = "update", *, key: str | None = None) -> Authorization:
    at, signer = life.later(), key or life.creation.keys[0].public
    return life.controller.authorize(str(life.state.did), signer, at, purpose=purpose, body=body)


def begins(life: Life, body: Any = STRICT) -> Update:
    return Update(requests.operations(body, str(life.state.did)), bound(life, body))


def test_evidence_must_be_bound_from_the_entry_on_that_begins_it(life: Life) -> None:
    life.change(Update((A,), life.authorize(life.later())), life.later())
    life.change(begins(life), life.later())
    assert (life.state.strict_evidence, life.state.unbound_changes) == (True, 1)
    with pytest.raises(AuthFailed, match="strictEvidence"):
        life.entry(Update((A,), life.authorize(life.later())), life.later())
    removal = {"operation": "removeService", "serviceId": "a"}
    life.change(Update(requests.operations(removal, str(life.state.did)), bound(life, removal)), life.later())
    found = verify(b"\n".join(life.entries))
    assert (found.versions, found.unbound_changes) == (4, 1)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda life: life.authorize(life.later()),
        lambda life: bound(life, None),
        lambda life: bound(life, STRICT, None),
        lambda life: bound(life, BODY),
        lambda life: bound(life, STRICT, "rotate"),
        lambda life: replace(bound(life, STRICT), body=BODY),
    ],
    ids=["to nothing", "to the purpose", "to the body", "to another body", "to another purpose", "with another body"],
)
def test_the_change_that_begins_it_is_refused_when_bound_to_less(life: Life, spoil: Any) -> None:
    with pytest.raises(AuthFailed):
        life.entry(Update(requests.operations(STRICT, str(life.state.did)), spoil(life)), life.later())


@pytest.mark.parametrize("value", [False, None, 0, 1, "true", {}])
def test_strict_evidence_takes_only_true(value: object) -> None:
    with pytest.raises(InvalidDocument, match="never turned off"):
        requests.operations(STRICT | {"strictEvidence": value}, "did:ids:x")


def test_strict_evidence_begins_once(life: Life) -> None:
    life.change(begins(life), life.later())
    with pytest.raises(InvalidDocument, match="already"):
        life.entry(begins(life), life.later())


def test_a_key_in_grace_does_not_begin_it(life: Life) -> None:
    """The same keys that may not add keys: a thief of the old one would decide how its owner signs."""
    old, at = life.creation.keys[0].public, life.later()
    rotation = Rotate(f"{life.state.did}#{old}", life.controller.new_key(), at + timedelta(hours=1), life.authorize(at))
    life.change(rotation, at)
    with pytest.raises(Forbidden):
        life.entry(Update(requests.operations(STRICT, str(life.state.did)), bound(life, STRICT, key=old)), life.later())


@pytest.mark.parametrize(
    ("purpose", "body", "counted"),
    [(None, None, 1), ("deactivate", None, 1), (None, {"confirm": True}, 1), ("deactivate", {"confirm": True}, 0)],
)
def test_a_deactivation_counts_unless_it_names_both(life: Life, purpose: str | None, body: Any, counted: int) -> None:
    """A deactivation states only its purpose, and its body has a reason that no log contains."""
    life.change(Deactivate(bound(life, body, purpose)), life.later())
    assert verify(b"\n".join(life.entries)).unbound_changes == counted


def test_a_bound_change_that_shows_no_body_counts(life: Life) -> None:
    """No reader can compare the hash, so the log key could have put another change in its place."""
    life.change(Update((A,), bound(life, BODY)), life.later())
    assert verify(b"\n".join(life.entries)).unbound_changes == 1


def test_an_index_row_tells_the_count(life: Life) -> None:
    def read(state: DidState) -> int | None:
        return state_from_json(str(state.did), state_to_json(state), state.document.encoded).unbound_changes

    states = [life.state, replace(life.state, strict_evidence=True), replace(life.state, unbound_changes=7)]
    states += [replace(states[1], unbound_changes=7), replace(life.state, unbound_changes=None)]
    assert [read(state) for state in states] == [0, 0, 7, 7, None]
    # Rows of DIDs that were created with it are as they were before changes were counted.
    assert b"unbound" not in state_to_json(states[1])
    old = state_to_json(states[2]).replace(b',"unbound":7', b"")
    assert state_from_json(str(life.state.did), old, life.state.document.encoded).unbound_changes is None
