"""The part of ``DidMethodConformance`` about DIDs that change, which immutable methods skip; the fixtures of both parts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest

from identity_client import challenge, possession
from identity_codec.values import replace
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import (
    AddService,
    AddVerificationMethod,
    Authorization,
    Create,
    Deactivate,
    Expire,
    NewService,
    Recover,
    RemoveVerificationMethod,
    Rotate,
    Update,
)
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import AuthFailed, DidDeactivated, InvalidDocument
from identity_core.ports.did_method import DidMethod
from identity_kit.conformance.controller import Controller, Life, WalletSigner


class ExaminedDidMethod:
    """The method under test, for every group of tests."""

    carries_evidence: ClassVar[bool] = True
    """Whether entries hold the authorization of a change, so that ``apply`` checks it again and knows which challenges were used."""

    step: ClassVar[timedelta] = timedelta(microseconds=1)
    """The steps in which the method records times; a time between two steps is recorded as the earlier."""

    def recorded(self, at: datetime) -> datetime:
        """Return the time of a version that was drafted for ``at``, long after the version before it."""
        return at - (at - datetime(1970, 1, 1, tzinfo=UTC)) % self.step

    @pytest.fixture
    def controller(self) -> Controller:
        """Return the controller of the DIDs, the source of all key material."""
        return Controller("conformance")

    @pytest.fixture
    def signer(self) -> WalletSigner:
        """Return the signer of the entries."""
        return WalletSigner("conformance")

    @pytest.fixture
    def creation(self, method: DidMethod, controller: Controller, signer: WalletSigner) -> Create:
        """Return the creation of a DID of the method."""
        return controller.creation(signer, recovery=method.mutable)

    @pytest.fixture
    def life(self, method: DidMethod, creation: Create, controller: Controller, signer: WalletSigner) -> Life:
        """Return a DID that was created."""
        return Life(method, creation, controller, signer)


class ChangePromises(ExaminedDidMethod):
    """The contract of changes over a whole life: updates, grace periods, recovery, the end; each only by an authorised key."""

    @pytest.fixture
    def changing(self, life: Life) -> Life:
        """Return a DID that can change; immutable methods skip."""
        if not life.method.mutable:
            pytest.skip("DIDs of this method never change")
        return life

    def test_an_update_makes_the_next_version(self, changing: Life) -> None:
        """The version after, chained to the one before, authorised by a named key."""
        before = changing.state
        at = changing.later()
        service = AddService(NewService("DIDCommMessaging", "https://agent.example/didcomm"))
        after = changing.update(service, at=at)
        assert (after.version_id, after.updated_at) == (2, self.recorded(at))
        assert after.created_at == before.created_at
        assert after.previous_hash == before.entry_hash != after.entry_hash
        assert [entry.type for entry in after.document.services] == ["DIDCommMessaging"]
        assert after.key_id == (before.document.related("authentication")[0] if self.carries_evidence else None)

    def test_a_version_is_later_than_the_one_before(self, changing: Life) -> None:
        """Times go forward."""
        at = changing.state.updated_at
        with pytest.raises(InvalidDocument):
            changing.entry(Update((AddService(NewService("A", "https://a.example/")),), changing.authorize(at)), at)

    def test_versions_follow_each_other_at_once(self, changing: Life) -> None:
        """Two changes at nearly one time are two versions, the second later than the first by one step at most."""
        for name in ("A", "B", "C"):
            before = changing.state.updated_at
            at = before + timedelta(microseconds=1)
            changing.update(AddService(NewService(name, "https://a.example/")), at=at)
            assert before < changing.state.updated_at <= before + self.step

    def test_evidence_counts_once(self, changing: Life) -> None:
        """A challenge authorises one change."""
        if not self.carries_evidence:
            pytest.skip(
                "entries of this method do not show challenges; the core's store alone keeps them from being used twice"
            )
        at = changing.later()
        authorization = changing.authorize(at)
        changing.change(Update((AddService(NewService("A", "https://a.example/")),), authorization), at)
        with pytest.raises(AuthFailed):
            changing.entry(
                Update((AddService(NewService("B", "https://b.example/")),), authorization), at + timedelta(seconds=1)
            )

    def test_evidence_of_another_key_or_did_or_time_is_refused(self, changing: Life) -> None:
        """A challenge authorises only its purpose, for its DID, until its expiry."""
        at = changing.later()
        stranger = changing.controller.key().public
        mine = history.authentication_keys(changing.state, at)[0]
        wrong = (
            changing.authorize(at, key=stranger),
            changing.authorize(at, scheme=challenge.RECOVERY_KEY),
            changing.controller.authorize("did:otherwise:abc", mine, at),
            changing.controller.authorize(str(changing.state.did), mine, at - timedelta(hours=1)),
            changing.controller.authorize(str(changing.state.did), mine, at, purpose="rotate"),
        )
        for authorization in wrong:
            with pytest.raises(AuthFailed):
                changing.entry(Deactivate(authorization), at)

    def test_a_forged_signature_of_the_controller_is_refused(self, changing: Life) -> None:
        """``apply`` verifies the controller's signature itself; where entries cannot hold it, ``draft`` does."""
        at = changing.later()
        good = changing.authorize(at)
        forged = Authorization(good.scheme, good.key, good.challenge, bytes(64))
        if not self.carries_evidence:
            with pytest.raises(AuthFailed):
                changing.entry(Deactivate(forged), at)
            return
        with pytest.raises(LogInvalid):
            changing.method.apply(changing.state, changing.entry(Deactivate(forged), at))

    def test_a_grace_period_ends_by_itself_and_on_the_record(self, changing: Life) -> None:
        """The version that ends a grace period equals the version that readers compute before it is written."""
        at = changing.later()
        old = changing.state.document.related("authentication")[0]
        end = (at + timedelta(days=7)).replace(microsecond=0)
        state = changing.change(Rotate(old, changing.controller.new_key(), end, changing.authorize(at)), at)
        assert history.find_grace_end(state) == end
        (expected,) = history.expired(state, end)
        written = changing.change(Expire(), end)
        assert written.document == expected.document
        assert written.document.method(old) is None
        assert (written.version_id, written.updated_at, written.operation) == (3, end, history.KEY_EXPIRED)

    def test_recovery_replaces_the_keys_and_spends_the_recovery_key(self, changing: Life) -> None:
        """Revoke-all leaves the new key alone, and the recovery key works once."""
        at = changing.later()
        spent = changing.creation.recovery_key
        assert spent is not None, "the creation of a method that recovers has a recovery key"
        successor = changing.controller.key().public
        evidence_of_it = changing.authorize(at, key=spent, scheme=challenge.RECOVERY_KEY)
        new_key = changing.controller.new_key()
        state = changing.change(Recover(new_key, True, successor, evidence_of_it), at)
        assert [method.multibase for method in state.document.methods] == [new_key.public]
        assert state.recovery_key == successor
        later = changing.later()
        again = changing.authorize(later, key=spent, scheme=challenge.RECOVERY_KEY)
        with pytest.raises(AuthFailed):
            changing.entry(Recover(changing.controller.new_key(), True, changing.controller.key().public, again), later)

    def test_a_recovery_restores_a_version(self, changing: Life) -> None:
        """Check that what happened to the document since is undone by one more version: keys that joined are gone, keys that left are
        back. A method that cannot do this refuses ``restore_version``."""
        first = changing.state
        key = changing.controller.new_key("Ed25519", "authentication")
        changing.update(AddVerificationMethod(key))
        changing.update(
            RemoveVerificationMethod(first.document.methods[0].id), AddService(NewService("A", "https://a.example/"))
        )
        at = changing.later()
        spent = changing.creation.recovery_key
        assert spent is not None, "the creation of a method that recovers has a recovery key"
        authorization = changing.authorize(at, key=spent, scheme=challenge.RECOVERY_KEY)
        new_key, successor = changing.controller.new_key(), changing.controller.key().public
        state = changing.change(Recover(new_key, False, successor, authorization, first.version_id), at)
        assert [method.multibase for method in state.document.methods] == [
            first.document.methods[0].multibase,
            new_key.public,
        ]
        assert (state.version_id, state.document.services) == (4, ())
        later = changing.later()
        with pytest.raises(InvalidDocument):
            changing.entry(Update((AddVerificationMethod(key),), changing.authorize(later)), later)

    def test_the_last_authentication_key_stays(self, changing: Life) -> None:
        """The last authentication key cannot be removed."""
        at = changing.later()
        only = changing.state.document.related("authentication")[0]
        with pytest.raises(InvalidDocument):
            changing.entry(Update((RemoveVerificationMethod(only),), changing.authorize(at)), at)

    def test_a_removed_key_never_comes_back(self, changing: Life) -> None:
        """Forward security."""
        key = changing.controller.new_key("Ed25519", "authentication")
        changing.update(AddVerificationMethod(key))
        changing.update(RemoveVerificationMethod(f"{changing.state.did}#{key.public}"))
        at = changing.later()
        with pytest.raises(InvalidDocument):
            changing.entry(Update((AddVerificationMethod(key),), changing.authorize(at)), at)

    def test_a_bbs_key_proves_itself(self, changing: Life) -> None:
        """A ``Bls12381G2Key2020`` key joins with the proof of possession for this DID, and not without one or with that of another
        DID or key: else anyone who lists an issuer's key passes for the issuer."""
        key, other = (changing.controller.new_key("Bls12381G2Key2020") for _ in range(2))
        did = str(changing.state.did)
        good = possession.prove_possession(did, key.public, key.secret_raw)
        of_another_did = possession.prove_possession("did:example:other", key.public, key.secret_raw)
        of_another_key = possession.prove_possession(did, other.public, other.secret_raw)
        key = replace(key, secret=None)
        for bad in (None, of_another_did, of_another_key, bytes(80)):
            at = changing.later()
            step = AddVerificationMethod(replace(key, possession=bad))
            with pytest.raises(InvalidDocument):
                changing.entry(Update((step,), changing.authorize(at)), at)
        state = changing.update(AddVerificationMethod(replace(key, possession=good)))
        assert state.document.methods[-1].multibase == key.public

    def test_deactivation_is_the_end(self, changing: Life) -> None:
        """No key is left, and no change is accepted."""
        at = changing.later()
        state = changing.change(Deactivate(changing.authorize(at)), at)
        assert state.deactivated
        assert state.document.methods == ()
        assert state.recovery_key is None
        later = changing.later()
        authorization = changing.controller.authorize(str(state.did), changing.creation.keys[0].public, later)
        with pytest.raises(DidDeactivated):
            changing.entry(Deactivate(authorization), later)

    def test_entries_fit_only_where_they_were_made(self, changing: Life) -> None:
        """An entry applies to the one state that it was drafted for, and to no other DID."""
        for name in ("A", "B", "C"):
            changing.update(AddService(NewService(name, "https://a.example/")))
        stranger = Life(
            changing.method, changing.controller.creation(changing.signer), changing.controller, changing.signer
        )
        for place, entry in enumerate(changing.entries):
            for at_place, state in enumerate([None, *changing.states]):
                if place != at_place:
                    with pytest.raises(LogInvalid):
                        changing.method.apply(state, entry)
            with pytest.raises(LogInvalid):
                changing.method.apply(stranger.state, entry)
