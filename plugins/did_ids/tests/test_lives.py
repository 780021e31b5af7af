"""Random lives of DIDs: whatever happens in whatever order, the promises hold.

The one that matters most: what was in force at a time does not depend on when anybody asks, nor on whether the end of a
grace period had been written by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from identity_did_ids.chain import Chain
from identity_did_ids.evolution import Rules
from identity_kit.conformance.controller import BIRTH, Controller, Life, WalletSigner

from identity_client import challenge
from identity_codec.values import replace
from identity_core.domain.dids import document as documents
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import (
    AddService,
    AddVerificationMethod,
    Change,
    Deactivate,
    Expire,
    NewService,
    Recover,
    RemoveService,
    RemoveVerificationMethod,
    Rotate,
    Update,
)
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.logs import fold
from identity_core.domain.dids.state import DidState
from identity_core.errors import DidDeactivated, Forbidden, InvalidDocument


def in_force(states: Sequence[DidState], time: datetime) -> DidState | None:
    """Return the version that ``versionTime`` selects by definition: the highest version whose printed second is not later."""
    second = time.astimezone(UTC).replace(microsecond=0)
    return next((state for state in reversed(states) if state.updated_at.replace(microsecond=0) <= second), None)


HOURS = st.integers(0, 72).map(lambda hours: timedelta(hours=hours)) | st.timedeltas(
    min_value=timedelta(microseconds=1), max_value=timedelta(seconds=3)
)
STEPS = st.tuples(
    st.sampled_from(
        [
            "add service",
            "remove service",
            "add key",
            "remove key",
            "rotate",
            "rotate",
            "grace",
            "grace",
            "grace",
            "recover",
            "nothing",
            "deactivate",
        ]
    ),
    HOURS,
    st.integers(0, 7),
    HOURS,
)


class Method(Chain):
    """A chain, with what the port asks for beside."""

    name = "ids"
    mutable = True

    def expand(self, did: object) -> None:
        return None


def change_of(kind: str, life: Life, pick: int, grace: timedelta, at) -> Change:
    state, hana = life.state, life.controller
    keys = [method.id for method in state.document.methods]
    able = history.authentication_keys(state, at)
    signed = life.authorize(at, key=able[pick % len(able)]) if able else life.authorize(at, key=hana.key().public)
    match kind:
        case "add service":
            return Update((AddService(NewService("A", "https://a.example/")),), signed)
        case "remove service":
            fragments = [service.fragment for service in state.document.services] or ["none"]
            return Update((RemoveService(fragments[pick % len(fragments)]),), signed)
        case "add key":
            return Update((AddVerificationMethod(hana.new_key("Ed25519", "authentication")),), signed)
        case "remove key":
            return Update((RemoveVerificationMethod(keys[pick % len(keys)]),), signed)
        case "rotate":
            return Rotate(keys[pick % len(keys)], hana.new_key(), None, signed)
        case "grace":
            return Rotate(keys[pick % len(keys)], hana.new_key(), at + grace, signed)
        case "recover":
            assert state.recovery_key is not None
            spend = life.authorize(at, key=state.recovery_key, scheme=challenge.RECOVERY_KEY)
            return Recover(hana.new_key(), pick % 2 == 0, hana.key().public, spend)
    return Deactivate(signed)


def as_of(states, time):
    """Return the versions that a reader with ``states`` finds at ``time``: the written versions, and those that exist by definition."""
    return [*states, *history.expired(states[-1], time)]


def check_state(state) -> None:
    documents.check(state.document)
    assert DidDocument.parse(state.document.to_json()) == state.document
    assert replace(state.document).encoded == state.document.encoded
    assert history.state_from_json(state.did.text, history.state_to_json(state), state.document.encoded) == state
    for method in state.document.methods:
        assert history.digest(method.multibase) not in state.retired_keys
        assert method.multibase != state.recovery_key
        assert method.revoked is None or method.revoked > state.updated_at
    related = state.document.related("authentication")
    lasting = [method for method in state.document.methods if method.id in related and method.revoked is None]
    assert lasting or state.deactivated


@settings(max_examples=120, deadline=None)
@given(st.lists(STEPS, max_size=25), st.booleans(), st.integers(0, 10**6))
def test_lives(steps, strict: bool, seed: int) -> None:
    method = Method("ids", Rules(strict_grace=strict))
    hana, signer = Controller(f"lives/{seed}"), WalletSigner("lives")
    life = Life(method, hana.creation(signer), hana, signer)
    clock = BIRTH
    seen = [(clock, as_of(life.states, clock))]
    for kind, wait, pick, grace in steps:
        clock = max(clock + wait, life.state.updated_at + timedelta(microseconds=1))
        seen.append((clock, as_of(life.states, clock)))
        if kind == "nothing" or life.state.deactivated:
            continue
        while (due := history.find_grace_end(life.state)) is not None and due <= clock:
            (expected, *_) = history.expired(life.state, due)
            written = life.change(Expire(), due)
            assert written.document == expected.document
            assert (written.version_id, written.updated_at) == (expected.version_id, expected.updated_at)
            assert written.retired_keys == expected.retired_keys
        clock = max(clock, life.state.updated_at + timedelta(microseconds=1))
        try:
            life.change(change_of(kind, life, pick, grace, clock), clock)
        except (InvalidDocument, Forbidden, DidDeactivated):
            continue
    for state in as_of(life.states, clock + timedelta(days=100)):
        check_state(state)
    assert [state.version_id for state in life.states] == list(range(1, len(life.states) + 1))
    times = [state.updated_at for state in life.states]
    assert times == sorted(set(times))
    assert list(fold(method.apply, life.entries)) == life.states

    final = as_of(life.states, clock)
    for now, known in seen:
        for asked in {now, *(state.updated_at for state in known)}:
            time = min(asked, now)
            then, today = in_force(known, time), in_force(final, time)
            assert then is not None
            assert today is not None
            if today.updated_at < now or today.version_id == then.version_id:
                assert (then.version_id, then.document) == (today.version_id, today.document)
            else:
                # It was written later in the second that was asked for: printed seconds cannot tell them apart.
                assert today.updated_at.replace(microsecond=0) == now.replace(microsecond=0)
        for state in known:
            assert final[state.version_id - 1].document == state.document
