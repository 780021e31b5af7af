from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from identity_did_ids import evidence
from identity_did_ids.evolution import Rules, evolve
from identity_kit.conformance.controller import Controller, WalletSigner

from identity_client import challenge
from identity_codec.values import replace
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import (
    AddService,
    AddVerificationMethod,
    Change,
    Create,
    Deactivate,
    Expire,
    NewService,
    Recover,
    RemoveService,
    RemoveVerificationMethod,
    Rotate,
    SetAlsoKnownAs,
    Update,
    UpdateService,
)
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import Key
from identity_core.domain.dids.state import DidState
from identity_core.errors import (
    AuthFailed,
    DidDeactivated,
    DidExists,
    DidNotFound,
    Forbidden,
    InvalidDocument,
    VersionConflict,
)

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
DAY = timedelta(days=1)
DID = Did.parse("did:ids:QmZVXud7T8h7qtJnoSA4jFk4o37z7nZFWQaiEfrNbZ5Mw7")
RULES = Rules()
SIGNER = WalletSigner("evolution")
A = NewService("A", "https://a.example/", "a")


class Walk:
    """A DID whose changes are authorised by its first authentication key unless said otherwise."""

    def __init__(self, rules: Rules = RULES) -> None:
        self.hana, self.rules = Controller("evolution"), rules
        self.creation = self.hana.creation(SIGNER)
        self.state = evolve(None, self.creation, AT, rules=rules, did=DID)

    @property
    def key_ids(self) -> list[str]:
        return [method.id for method in self.state.document.methods]

    def authorize(self, at: datetime, key: str | None = None, **options: object):
        key = key or history.authentication_keys(self.state, at)[0]
        return self.hana.authorize(str(DID), key, at, **options)

    def then(self, change: Change, at: datetime) -> DidState:
        self.state = evolve(self.state, change, at, rules=self.rules)
        return self.state

    def update(self, *operations: object, at: datetime | None = None, key: str | None = None) -> DidState:
        at = at or self.state.updated_at + timedelta(minutes=1)
        return self.then(Update(operations, self.authorize(at, key)), at)

    def rotate(
        self,
        old: str | None = None,
        grace: timedelta | None = None,
        new: Key | None = None,
        at: datetime | None = None,
        key: str | None = None,
    ) -> DidState:
        at = at or self.state.updated_at + timedelta(minutes=1)
        end = None if grace is None else at + grace
        return self.then(Rotate(old or self.key_ids[0], new or self.hana.new_key(), end, self.authorize(at, key)), at)


@pytest.fixture
def walk() -> Walk:
    return Walk()


def test_create_needs_an_authentication_key_and_update_keys() -> None:
    hana = Controller("x")
    good = hana.creation(SIGNER)
    for bad in (
        replace(good, keys=()),
        replace(good, keys=(hana.new_key("X25519KeyAgreementKey2020"),)),
        replace(good, keys=(hana.new_key("Bls12381G2Key2020"),)),
        replace(good, keys=(hana.new_key("Ed25519", "assertionMethod"),)),
        replace(good, keys=(good.keys[0], good.keys[0])),
        replace(good, update_keys=()),
        replace(good, update_keys=good.update_keys * 2),
        replace(good, update_keys=("z6Mk",)),
        replace(good, update_keys=(hana.key("X25519KeyAgreementKey2020").public,)),
        replace(good, recovery_key=good.keys[0].public),
        replace(good, recovery_key=hana.key("X25519KeyAgreementKey2020").public),
        replace(good, recovery_key="z6Mk"),
        replace(good, services=(A, A)),
        replace(good, services=(replace(A, endpoint="file:///x"),)),
        replace(good, also_known_as=("x",)),
    ):
        with pytest.raises(InvalidDocument):
            evolve(None, bad, AT, rules=RULES, did=DID)


def test_a_creation_is_the_first_and_only_the_first(walk: Walk) -> None:
    with pytest.raises(DidExists):
        evolve(walk.state, walk.creation, AT + DAY, rules=RULES, did=DID)
    with pytest.raises(DidNotFound):
        evolve(None, Deactivate(walk.authorize(AT)), AT, rules=RULES)


def test_services_come_change_and_go_in_one_version(walk: Walk) -> None:
    state = walk.update(AddService(A), AddService(NewService("DIDCommMessaging", "https://d.example/")))
    assert [service.fragment for service in state.document.services] == ["a", "didcommmessaging-1"]
    state = walk.update(
        UpdateService(NewService("B", "https://b.example/", "a")),
        RemoveService("didcommmessaging-1"),
        SetAlsoKnownAs(("https://hana.example/",)),
    )
    assert [(s.fragment, s.type, s.endpoint) for s in state.document.services] == [("a", "B", "https://b.example/")]
    assert state.document.also_known_as == ("https://hana.example/",)
    assert state.version_id == 3


@pytest.mark.parametrize(
    "operations",
    [
        (),
        (AddService(A), AddService(A)),
        (UpdateService(A),),
        (RemoveService("a"),),
        (AddService(A), RemoveService("b")),
        (AddService(replace(A, fragment="a b")),),
        (AddService(replace(A, fragment="#a")),),
        (AddService(replace(A, type="")),),
        (AddService(replace(A, type="", fragment=None)),),
        (AddService(replace(A, endpoint="javascript:x")),),
        (SetAlsoKnownAs(("https://a/", "https://a/")),),
        (RemoveVerificationMethod(f"{DID}#z6Mk"),),
        (RemoveVerificationMethod("z6Mk"),),
        tuple(AddService(NewService("A", "https://a.example/")) for _ in range(21)),
        tuple(SetAlsoKnownAs(()) for _ in range(51)),
    ],
    ids=range(15),
)
def test_an_operation_that_makes_no_sense_changes_nothing(walk: Walk, operations: tuple[object, ...]) -> None:
    before = walk.state
    with pytest.raises(InvalidDocument):
        walk.update(*operations)
    assert walk.state is before


def test_a_service_cannot_take_the_name_of_a_key(walk: Walk) -> None:
    with pytest.raises(InvalidDocument):
        walk.update(AddService(replace(A, fragment=walk.key_ids[0].partition("#")[2])))


def test_the_last_authentication_key_cannot_be_removed(walk: Walk) -> None:
    with pytest.raises(InvalidDocument, match="rotate"):
        walk.update(RemoveVerificationMethod(walk.key_ids[0]))
    second = walk.hana.new_key("Ed25519", "authentication")
    walk.update(AddVerificationMethod(second))
    walk.update(RemoveVerificationMethod(walk.key_ids[0]), key=second.public)
    assert walk.key_ids == [f"{DID}#{second.public}"]


def test_last_key_may_go_when_another_comes_in_same_version(walk: Walk) -> None:
    key = walk.hana.new_key()
    state = walk.update(RemoveVerificationMethod(walk.key_ids[0]), AddVerificationMethod(key))
    assert [method.multibase for method in state.document.methods] == [key.public]


def test_a_key_in_grace_does_not_count_as_remaining(walk: Walk) -> None:
    walk.rotate(grace=DAY)
    new = walk.key_ids[0]
    with pytest.raises(InvalidDocument, match="rotate"):
        walk.update(RemoveVerificationMethod(new), key=new.partition("#")[2])


def test_removing_a_key_removes_it_from_every_relationship(walk: Walk) -> None:
    key = walk.hana.new_key()
    walk.update(AddVerificationMethod(key))
    state = walk.update(RemoveVerificationMethod(f"{DID}#{key.public}"))
    assert key.public not in repr(state.document)


def test_forward_security(walk: Walk) -> None:
    """No key comes back: present, removed, rotated, expired, spent, in the role it had or another."""
    first, recovery = walk.creation.keys[0], walk.creation.recovery_key
    assert recovery is not None
    removed = walk.hana.new_key("Ed25519", "authentication")
    walk.update(AddVerificationMethod(removed))
    walk.update(RemoveVerificationMethod(f"{DID}#{removed.public}"))
    walk.rotate()
    in_grace = walk.key_ids[0]
    walk.rotate(grace=DAY)
    walk.then(Expire(), history.find_grace_end(walk.state) or AT)
    at = walk.state.updated_at + DAY
    successor = walk.hana.key().public
    spend = walk.authorize(at, recovery, scheme=challenge.RECOVERY_KEY)
    walk.then(Recover(walk.hana.new_key(), False, successor, spend), at)
    at += DAY
    for text in (
        first.public,
        removed.public,
        in_grace.partition("#")[2],
        recovery,
        successor,
        walk.key_ids[0].partition("#")[2],
    ):
        key = Key(first.type, text, ("authentication",))
        with pytest.raises(InvalidDocument):
            walk.update(AddVerificationMethod(key), at=at)
        with pytest.raises(InvalidDocument):
            walk.rotate(new=key, at=at)
        fresh = walk.authorize(at, successor, scheme=challenge.RECOVERY_KEY)
        with pytest.raises(InvalidDocument):
            walk.then(Recover(key, True, walk.hana.key().public, fresh), at)
        with pytest.raises(InvalidDocument):
            walk.then(Recover(walk.hana.new_key(), True, text, fresh), at)


def test_a_key_is_not_added_again_in_the_version_that_removes_it(walk: Walk) -> None:
    key = walk.creation.keys[0]
    with pytest.raises(InvalidDocument):
        walk.update(RemoveVerificationMethod(walk.key_ids[0]), AddVerificationMethod(key))


def test_rotation_at_once_puts_the_new_key_in_place_of_the_old(walk: Walk) -> None:
    walk.update(AddVerificationMethod(walk.hana.new_key("X25519KeyAgreementKey2020")))
    old = walk.key_ids[0]
    state = walk.rotate(new=replace(walk.hana.new_key(), purposes=()))
    assert state.document.method(old) is None
    assert state.document.purposes(walk.key_ids[0]) == (
        "authentication",
        "assertionMethod",
        "capabilityInvocation",
        "capabilityDelegation",
    )
    assert state.operation == history.KEY_ROTATED
    assert history.find_grace_end(state) is None


@pytest.mark.parametrize("grace", [-DAY, timedelta(0), timedelta(microseconds=300_000)])
def test_a_grace_that_ends_now_or_before_is_none(walk: Walk, grace: timedelta) -> None:
    state = walk.rotate(grace=grace)
    assert len(state.document.methods) == 1
    assert history.find_grace_end(state) is None


def test_rotation_with_grace_leaves_old_key_until_whole_second(walk: Walk) -> None:
    old = walk.key_ids[0]
    state = walk.rotate(grace=DAY)
    end = (state.updated_at + DAY).replace(microsecond=0)
    assert history.find_grace_end(state) == end
    assert [method.revoked for method in state.document.methods] == [None, end]
    assert walk.key_ids[1] == old
    assert history.authentication_keys(state, end - timedelta(microseconds=1)) == tuple(
        method.multibase for method in state.document.methods
    )
    assert history.authentication_keys(state, end) == (state.document.methods[0].multibase,)


def test_the_cap_of_grace_is_ninety_days(walk: Walk) -> None:
    with pytest.raises(InvalidDocument, match="too long"):
        walk.rotate(grace=90 * DAY + timedelta(seconds=1))
    walk.rotate(grace=90 * DAY)
    with pytest.raises(InvalidDocument, match="too long"):
        Walk(Rules(max_grace=DAY)).rotate(grace=2 * DAY)


def test_a_key_in_grace_is_not_rotated_again(walk: Walk) -> None:
    old = walk.key_ids[0]
    walk.rotate(grace=DAY)
    with pytest.raises(InvalidDocument, match="rotated already"):
        walk.rotate(old, key=walk.key_ids[0].partition("#")[2])


def test_rotation_of_what_is_not_there_or_to_what_does_not_fit(walk: Walk) -> None:
    for old in (
        f"{DID}#z6Mk",
        "did:x:a#z6Mk",
        walk.key_ids[0].partition("#")[2],
        "#" + walk.key_ids[0].partition("#")[2],
    ):
        with pytest.raises(InvalidDocument, match="no such key"):
            walk.rotate(old)
    wrong_purpose = replace(walk.hana.new_key(), purposes=("keyAgreement",))
    lonely = replace(walk.hana.new_key(), purposes=("assertionMethod",))
    wrong_type = replace(walk.hana.new_key("X25519KeyAgreementKey2020"), purposes=())
    for new in (wrong_purpose, lonely, wrong_type):
        with pytest.raises(InvalidDocument):
            walk.rotate(new=new)


FORBIDDEN_IN_GRACE: dict[str, Callable[[Walk, str], object]] = {
    "rotate": lambda walk, old: walk.rotate(key=old),
    "rotate itself": lambda walk, old: walk.rotate(f"{DID}#{old}", key=old),
    "remove": lambda walk, old: walk.update(RemoveVerificationMethod(walk.key_ids[0]), key=old),
    "remove itself": lambda walk, old: walk.update(RemoveVerificationMethod(f"{DID}#{old}"), key=old),
    "add": lambda walk, old: walk.update(AddVerificationMethod(walk.hana.new_key()), key=old),
    "add among others": lambda walk, old: walk.update(
        AddService(A), AddVerificationMethod(walk.hana.new_key()), key=old
    ),
    "deactivate": lambda walk, old: walk.then(
        Deactivate(walk.authorize(walk.state.updated_at + DAY / 2, old)), walk.state.updated_at + DAY / 2
    ),
}


@pytest.mark.parametrize("attempt", FORBIDDEN_IN_GRACE.values(), ids=FORBIDDEN_IN_GRACE)
def test_a_key_in_grace_does_not_touch_keys(walk: Walk, attempt: Callable[[Walk, str], object]) -> None:
    old = walk.key_ids[0].partition("#")[2]
    walk.rotate(grace=DAY)
    with pytest.raises(Forbidden):
        attempt(walk, old)


def test_a_key_in_grace_may_still_change_services(walk: Walk) -> None:
    old = walk.key_ids[0].partition("#")[2]
    walk.rotate(grace=DAY)
    state = walk.update(AddService(A), SetAlsoKnownAs(("https://a/",)), key=old)
    assert state.key_id == f"{DID}#{old}"


def test_loose_grace_permits_all_changes() -> None:
    walk = Walk(Rules(strict_grace=False))
    old = walk.key_ids[0].partition("#")[2]
    walk.rotate(grace=DAY)
    walk.rotate(key=old)
    walk.rules = Rules(strict_grace=True)
    at = walk.state.updated_at + DAY / 4
    walk.then(Deactivate(walk.authorize(at, old)), at)


def test_after_grace_the_key_is_nobody(walk: Walk) -> None:
    old = walk.key_ids[0].partition("#")[2]
    walk.rotate(grace=DAY)
    end = history.find_grace_end(walk.state)
    assert end is not None
    with pytest.raises(VersionConflict):
        walk.update(AddService(A), at=end, key=walk.key_ids[0].partition("#")[2])
    walk.then(Expire(), end)
    with pytest.raises(AuthFailed):
        walk.update(AddService(A), key=old)


def test_an_expiry_comes_at_its_time_and_takes_what_is_due(walk: Walk) -> None:
    second = walk.hana.new_key("Ed25519", "authentication")
    walk.update(AddVerificationMethod(second))
    at = walk.state.updated_at.replace(microsecond=0) + timedelta(minutes=5)
    ends = at + DAY, at + 2 * DAY
    walk.rotate(f"{DID}#{second.public}", ends[1] - at, at=at)
    walk.rotate(walk.key_ids[0], ends[0] - at - timedelta(seconds=1), at=at + timedelta(seconds=1))
    for wrong in (ends[0] - timedelta(seconds=1), ends[0] + timedelta(seconds=1), ends[1], at + timedelta(seconds=2)):
        with pytest.raises(InvalidDocument):
            walk.then(Expire(), wrong)
    due = history.expired(walk.state, ends[1])
    assert [state.updated_at for state in due] == list(ends)
    assert [len(state.document.methods) for state in due] == [3, 2]
    assert history.expired(walk.state, ends[0] - timedelta(microseconds=1)) == ()
    assert [walk.then(Expire(), end) for end in ends] == list(due)
    with pytest.raises(InvalidDocument):
        walk.then(Expire(), ends[1] + DAY)


def test_keys_that_end_in_one_second_end_in_one_version(walk: Walk) -> None:
    second = walk.hana.new_key("Ed25519", "authentication")
    walk.update(AddVerificationMethod(second))
    end = walk.state.updated_at.replace(microsecond=0) + DAY
    walk.rotate(walk.key_ids[0], end - walk.state.updated_at - timedelta(minutes=1))
    walk.rotate(f"{DID}#{second.public}", end - walk.state.updated_at - timedelta(minutes=1))
    (state,) = history.expired(walk.state, end)
    assert len(state.document.methods) == 2
    assert len(state.retired_keys) == len(walk.state.retired_keys) + 2


def test_recovery_drops_everything_or_adds(walk: Walk) -> None:
    walk.update(AddService(A), AddVerificationMethod(walk.hana.new_key("X25519KeyAgreementKey2020")))
    walk.rotate(grace=DAY)
    at = walk.state.updated_at + timedelta(minutes=1)
    spend = walk.authorize(at, walk.state.recovery_key, scheme=challenge.RECOVERY_KEY)
    new, successor = walk.hana.new_key(), walk.hana.key().public
    kept = evolve(walk.state, Recover(new, False, successor, spend), at, rules=RULES)
    assert len(kept.document.methods) == 4
    assert history.find_grace_end(kept) == history.find_grace_end(walk.state)
    state = walk.then(Recover(new, True, successor, spend), at)
    assert [method.multibase for method in state.document.methods] == [new.public]
    assert history.find_grace_end(state) is None
    assert state.document.services == walk.state.document.services
    assert (state.operation, state.recovery_key) == (history.RECOVERED, successor)
    assert state.key_id == f"{DID}#{walk.creation.recovery_key}"


def test_recovery_needs_the_recovery_key_and_a_good_successor(walk: Walk) -> None:
    at = AT + DAY
    recovery = walk.state.recovery_key
    assert recovery is not None
    new, successor = walk.hana.new_key(), walk.hana.key().public
    for refused in (
        walk.authorize(at),
        walk.authorize(at, scheme=challenge.RECOVERY_KEY),
        walk.authorize(at, recovery),
        walk.authorize(at, walk.hana.key().public, scheme=challenge.RECOVERY_KEY),
        walk.authorize(at, recovery, scheme="recoverykey"),
        walk.authorize(at, recovery, scheme=challenge.RECOVERY_KEY, purpose="update"),
    ):
        with pytest.raises(AuthFailed):
            walk.then(Recover(new, True, successor, refused), at)
    spend = walk.authorize(at, recovery, scheme=challenge.RECOVERY_KEY, purpose="recover")
    for bad in (
        Recover(new, True, new.public, spend),
        Recover(new, True, recovery, spend),
        Recover(new, True, walk.hana.key("X25519KeyAgreementKey2020").public, spend),
        Recover(new, True, "", spend),
        Recover(walk.hana.new_key("X25519KeyAgreementKey2020"), True, successor, spend),
        Recover(Key(new.type, walk.creation.keys[0].public, new.purposes), True, successor, spend),
    ):
        with pytest.raises(InvalidDocument):
            walk.then(bad, at)


def test_without_a_recovery_key_nothing_recovers() -> None:
    walk = Walk()
    walk.state = replace(walk.state, recovery_key=None)
    at = AT + DAY
    key = walk.hana.key().public
    with pytest.raises(AuthFailed):
        walk.then(Recover(walk.hana.new_key(), True, key, walk.authorize(at, key, scheme=challenge.RECOVERY_KEY)), at)


def test_deactivation_empties_the_document_and_ends_everything(walk: Walk) -> None:
    walk.update(AddService(A))
    walk.rotate(grace=DAY)
    at = walk.state.updated_at + timedelta(minutes=1)
    recovery = walk.state.recovery_key
    assert recovery is not None
    state = walk.then(Deactivate(walk.authorize(at)), at)
    assert state.deactivated
    assert state.document.to_json().keys() == {"@context", "id", "controller"}
    assert history.find_grace_end(state) is None
    assert history.expired(state, at + 100 * DAY) == ()
    key = walk.creation.keys[0].public
    later = at + DAY
    for change in (
        Update((AddService(A),), walk.authorize(later, key)),
        Rotate(f"{DID}#{key}", walk.hana.new_key(), None, walk.authorize(later, key)),
        Recover(
            walk.hana.new_key(),
            True,
            walk.hana.key().public,
            walk.authorize(later, recovery, scheme=challenge.RECOVERY_KEY),
        ),
        Deactivate(walk.authorize(later, key)),
        Expire(),
    ):
        with pytest.raises(DidDeactivated):
            walk.then(change, later)


def test_a_version_holds_50_operations_and_a_did_10_update_keys(walk: Walk) -> None:
    assert walk.update(*[SetAlsoKnownAs(())] * 50).version_id == 2
    good = walk.creation
    signers = tuple(WalletSigner(str(number)).multikey for number in range(11))
    evolve(None, replace(good, update_keys=signers[:10]), AT, rules=RULES, did=DID)
    with pytest.raises(InvalidDocument):
        evolve(None, replace(good, update_keys=signers), AT, rules=RULES, did=DID)


@pytest.mark.parametrize("step", [timedelta(0), -timedelta(microseconds=1), -DAY])
def test_time_goes_forward(walk: Walk, step: timedelta) -> None:
    at = walk.state.updated_at + step
    with pytest.raises(InvalidDocument, match="later"):
        walk.then(Update((AddService(A),), walk.authorize(at + DAY)), at)


def test_a_microsecond_is_enough(walk: Walk) -> None:
    assert walk.update(AddService(A), at=walk.state.updated_at + timedelta(microseconds=1)).version_id == 2


def test_the_challenge_of_a_change(walk: Walk) -> None:
    at = AT + DAY
    fits = (walk.authorize(at), walk.authorize(at, purpose="update"))
    for authorization in fits:
        evolve(walk.state, Update((AddService(A),), authorization), at, rules=RULES)
    other = walk.hana.authorize(
        "did:ids:QmOtherOtherOtherOtherOtherOtherOtherOtherOthe", walk.creation.keys[0].public, at
    )
    for authorization in (
        walk.authorize(at, purpose="rotate"),
        walk.authorize(at, purpose="token"),
        walk.authorize(at - timedelta(minutes=6)),
        walk.authorize(at, lifetime=timedelta(seconds=0)),
        walk.authorize(at, lifetime=timedelta(days=1, seconds=2)),
        walk.authorize(at, scheme=challenge.RECOVERY_KEY),
        replace(walk.authorize(at), challenge="didauth:v1"),
        replace(walk.authorize(at), key="z6Mk"),
        other,
    ):
        with pytest.raises(AuthFailed):
            evolve(walk.state, Update((AddService(A),), authorization), at, rules=RULES)


def test_the_challenge_of_a_change_ends_at_its_end(walk: Walk) -> None:
    """Expiries are whole seconds, so that a change falls on one only where its own time is a whole second."""
    at = (AT + DAY).replace(microsecond=0)
    change = AddService(A)
    for lifetime in (timedelta(seconds=1), timedelta(seconds=86_400)):
        evolve(walk.state, Update((change,), walk.authorize(at, lifetime=lifetime)), at, rules=RULES)
    for lifetime in (timedelta(0), timedelta(seconds=86_401)):
        with pytest.raises(AuthFailed):
            evolve(walk.state, Update((change,), walk.authorize(at, lifetime=lifetime)), at, rules=RULES)


def test_a_signature_is_one_of_its_key_over_the_challenge(walk: Walk) -> None:
    good = walk.authorize(AT)
    evidence.verify(good)
    for bad in (
        replace(good, signature=good.signature[:-1] + bytes([good.signature[-1] ^ 1])),
        replace(good, signature=b""),
        replace(good, challenge=good.challenge + " "),
        replace(good, key=walk.hana.key().public),
        replace(good, key=walk.hana.key("X25519KeyAgreementKey2020").public),
        replace(good, key="z6Mk"),
    ):
        with pytest.raises(AuthFailed):
            evidence.verify(bad)


def test_a_spent_challenge_is_forgotten_at_its_end() -> None:
    end = AT.replace(microsecond=0)
    spent = (history.SpentChallenge("x", end),)
    assert history.unexpired(spent, end - timedelta(microseconds=1)) == spent
    assert history.unexpired(spent, end) == ()


def test_a_challenge_is_spent_until_it_expires(walk: Walk) -> None:
    at = AT + DAY
    authorization = walk.authorize(at)
    walk.then(Update((AddService(A),), authorization), at)
    with pytest.raises(AuthFailed):
        walk.then(Update((RemoveService("a"),), authorization), at + timedelta(seconds=1))
    assert len(walk.state.spent_challenges) == 1
    walk.update(RemoveService("a"), at=at + timedelta(minutes=10))
    assert len(walk.state.spent_challenges) == 1


def test_the_same_key_controls_two_dids_but_a_challenge_only_one(walk: Walk) -> None:
    other = Did.parse("did:ids:QmOtherOtherOtherOtherOtherOtherOtherOtherOthe")
    twin = evolve(None, walk.creation, AT, rules=RULES, did=other)
    at = AT + DAY
    with pytest.raises(AuthFailed):
        evolve(twin, Deactivate(walk.authorize(at)), at, rules=RULES)


def test_create_is_pure_in_its_arguments() -> None:
    hana = Controller("pure")
    change = Create((hana.new_key(),), (SIGNER.multikey,))
    assert evolve(None, change, AT, rules=RULES, did=DID) == evolve(None, change, AT, rules=RULES, did=DID)
