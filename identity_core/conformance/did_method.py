"""What every DID method promises (``ports.did_method``), as tests.

An author subclasses ``DidMethodConformance`` in a test module and gives one fixture::

    class TestMine(DidMethodConformance):
        @pytest.fixture
        def method(self):
            return MyMethod()

``creation`` may be overridden when the method cannot begin with one Ed25519 key and a recovery key. A method whose DIDs never change
(``mutable`` False) is held to that; one whose DIDs do is walked through a whole life. A method whose entries have no room for the
controller's signature says ``carries_evidence = False``: its drafts then have to check what no reader will see. ``step`` is for one
whose entries tell times more coarsely than in microseconds.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final

import pytest

from identity_core.conformance.controller import BIRTH, Controller, Life, Signer
from identity_core.domain import document as documents
from identity_core.domain import evidence, history
from identity_core.domain.change import (
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
from identity_core.domain.did import Did
from identity_core.domain.errors import AuthFailed, DidDeactivated, InvalidDid, InvalidDocument
from identity_core.domain.history import LogInvalid
from identity_core.ports.did_method import DidMethod

JUNK: Final = (b"", b"{}", b"null", b"[]", b"\xff\xfe", b'{"versionId":', b"[" * 5000, b"0" * 20_000, b"\x00" * 64)


class DidMethodConformance:
    """Subclass it, give ``method``, and run pytest."""

    carries_evidence: ClassVar[bool] = True
    """Whether entries hold the authorization of a change, so that ``apply`` checks it again and knows which challenges were used."""

    step: ClassVar[timedelta] = timedelta(microseconds=1)
    """The steps in which the method records times; a time between two steps is recorded as the earlier."""

    def recorded(self, at: datetime) -> datetime:
        """The time of a version that was drafted for ``at``, long after the version before it."""
        return at - (at - datetime(1970, 1, 1, tzinfo=UTC)) % self.step

    @pytest.fixture
    def method(self) -> DidMethod:
        """The method under test."""
        raise NotImplementedError("give a fixture named method that returns the DID method under test")

    @pytest.fixture
    def controller(self) -> Controller:
        """Whose DIDs they are: the source of all key material."""
        return Controller("conformance")

    @pytest.fixture
    def signer(self) -> Signer:
        """Who signs the entries."""
        return Signer("conformance")

    @pytest.fixture
    def creation(self, method: DidMethod, controller: Controller, signer: Signer) -> Create:
        """How a DID of the method begins."""
        return controller.creation(signer, recovery=method.mutable)

    @pytest.fixture
    def life(self, method: DidMethod, creation: Create, controller: Controller, signer: Signer) -> Life:
        """A DID that was created."""
        return Life(method, creation, controller, signer)

    @pytest.fixture
    def changing(self, life: Life) -> Life:
        """A DID that can change; immutable methods skip."""
        if not life.method.mutable:
            pytest.skip("DIDs of this method never change")
        return life

    def test_it_is_a_did_method_with_a_method_name(self, method: DidMethod) -> None:
        """It has the members of the port, and a name that a DID can have."""
        assert isinstance(method, DidMethod)
        assert re.fullmatch(r"[a-z0-9]+", method.name)
        assert isinstance(method.mutable, bool)

    def test_it_refuses_identifiers_of_other_methods(self, method: DidMethod) -> None:
        """``check`` knows its own."""
        for text in (
            "did:otherwise:abc",
            f"did:{method.name}x:abc",
            f"did:{method.name}:.",
            f"did:{method.name}:a:b%20c",
        ):
            with pytest.raises(InvalidDid):
                method.check(Did.parse(text))

    def test_the_first_entry_mints_a_did_of_the_method(self, life: Life) -> None:
        """Version 1, at the time of the draft, of a DID that ``check`` accepts."""
        state = life.state
        assert state.did.method == life.method.name
        life.method.check(state.did)
        assert (state.version_id, state.operation, state.previous_hash) == (1, history.CREATE, None)
        assert state.created_at == state.updated_at == self.recorded(BIRTH)
        assert state.entry_hash
        assert not state.deactivated

    def test_the_document_is_of_the_did_and_keeps_the_rules(self, life: Life) -> None:
        """The document names the DID and holds the keys that were asked for."""
        document = life.state.document
        assert document.did == str(life.state.did)
        documents.check(document)
        assert {method.multibase for method in document.methods} == {key.multibase for key in life.creation.keys}

    def test_drafting_and_applying_are_deterministic(self, life: Life) -> None:
        """The same arguments give the same bytes and the same state, whatever the clock says."""
        again = life.method.draft(None, life.creation, BIRTH, signer=life.signer.multikey)
        assert life.signer.seal(again) == life.entries[0]
        assert life.method.apply(None, life.entries[0]) == life.state

    def test_a_draft_knows_the_state_that_apply_finds(self, life: Life) -> None:
        """``after`` says what ``apply`` will say of the sealed entry, and refuses a signature of another key."""
        draft = life.method.draft(None, life.creation, BIRTH, signer=life.signer.multikey)
        assert draft.after(life.signer.sign(draft)) == life.state
        with pytest.raises(LogInvalid):
            draft.after(Signer("stranger").sign(draft))

    def test_a_did_is_the_work_of_its_first_entry(self, life: Life) -> None:
        """Other keys make another DID."""
        state = Life(
            life.method, life.controller.creation(life.signer, recovery=False), life.controller, life.signer
        ).state
        assert state.did != life.state.did

    def test_what_expand_tells_is_of_the_did(self, life: Life) -> None:
        """What the identifier alone tells does not contradict the log."""
        known = life.method.expand(life.state.did)
        assert known is None or known.document == life.state.document

    def test_a_key_that_may_not_sign_entries_is_refused(self, life: Life) -> None:
        """``draft`` refuses a signer that ``update_keys`` do not name."""
        stranger = Signer("stranger")
        with pytest.raises(InvalidDocument):
            life.method.draft(None, life.creation, BIRTH, signer=stranger.multikey)

    def test_an_entry_by_another_signer_is_refused(self, life: Life) -> None:
        """``apply`` refuses a signature of another key."""
        draft = life.method.draft(None, life.creation, BIRTH, signer=life.signer.multikey)
        with pytest.raises(LogInvalid):
            life.method.apply(None, Signer("stranger").seal(draft))

    @pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
    def test_junk_is_log_invalid_and_nothing_else(self, life: Life, junk: bytes) -> None:
        """Whatever the bytes, no other error comes out."""
        for state in (None, life.state):
            with pytest.raises(LogInvalid):
                life.method.apply(state, junk)

    def test_every_changed_byte_is_noticed(self, life: Life) -> None:
        """No byte of an entry can change."""
        entry = life.entries[0]
        for place in range(0, len(entry), 7):
            spoilt = entry[:place] + bytes([entry[place] ^ 1]) + entry[place + 1 :]
            with pytest.raises(LogInvalid):
                life.method.apply(None, spoilt)

    def test_whitespace_another_order_and_a_tail_are_noticed(self, life: Life) -> None:
        """An entry has one form."""
        entry = life.entries[0]
        for spoilt in (b" " + entry, entry + b"\n", entry + b"{}", entry[:-1], entry.replace(b'","', b'", "', 1)):
            with pytest.raises(LogInvalid):
                life.method.apply(None, spoilt)

    def test_a_first_entry_cannot_be_a_second(self, life: Life) -> None:
        """A log begins once."""
        with pytest.raises(LogInvalid):
            life.method.apply(life.state, life.entries[0])

    def test_an_immutable_did_refuses_every_change(self, life: Life) -> None:
        """``mutable`` False is kept."""
        if life.method.mutable:
            pytest.skip("DIDs of this method change")
        authorization = Authorization(evidence.DID_AUTH, life.creation.keys[0].multibase, "-", bytes(64))
        for change in (life.creation, Expire(), Deactivate(authorization)):
            with pytest.raises(InvalidDocument):
                life.method.draft(life.state, change, life.later(), signer=life.signer.multikey)

    def test_an_update_makes_the_next_version(self, changing: Life) -> None:
        """The version after, chained to the one before, authorised by a named key."""
        before = changing.state
        at = changing.later()
        service = AddService(NewService("DIDCommMessaging", "https://agent.example/didcomm"))
        after = changing.change(Update((service,), changing.authorize(at)), at)
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
            changing.change(Update((AddService(NewService(name, "https://a.example/")),), changing.authorize(at)), at)
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
        """A challenge authorises what it says, for whom it says, as long as it says."""
        at = changing.later()
        stranger = changing.controller.key().public
        mine = history.authentication_keys(changing.state, at)[0]
        wrong = (
            changing.authorize(at, key=stranger),
            changing.authorize(at, scheme=evidence.RECOVERY_KEY),
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
        """The written end of a grace period is the one that every reader computes."""
        at = changing.later()
        old = changing.state.document.related("authentication")[0]
        end = (at + timedelta(days=7)).replace(microsecond=0)
        state = changing.change(Rotate(old, changing.controller.new_key(), end, changing.authorize(at)), at)
        assert history.due(state) == end
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
        evidence_of_it = changing.authorize(at, key=spent, scheme=evidence.RECOVERY_KEY)
        new_key = changing.controller.new_key()
        state = changing.change(Recover(new_key, True, successor, evidence_of_it), at)
        assert [method.multibase for method in state.document.methods] == [new_key.multibase]
        assert state.recovery_key == successor
        later = changing.later()
        again = changing.authorize(later, key=spent, scheme=evidence.RECOVERY_KEY)
        with pytest.raises(AuthFailed):
            changing.entry(Recover(changing.controller.new_key(), True, changing.controller.key().public, again), later)

    def test_the_last_authentication_key_stays(self, changing: Life) -> None:
        """Nobody locks himself out."""
        at = changing.later()
        only = changing.state.document.related("authentication")[0]
        with pytest.raises(InvalidDocument):
            changing.entry(Update((RemoveVerificationMethod(only),), changing.authorize(at)), at)

    def test_a_removed_key_never_comes_back(self, changing: Life) -> None:
        """Forward security."""
        at = changing.later()
        key = changing.controller.new_key("Ed25519", "authentication")
        changing.change(Update((AddVerificationMethod(key),), changing.authorize(at)), at)
        gone = RemoveVerificationMethod(f"{changing.state.did}#{key.multibase}")
        at = changing.later()
        changing.change(Update((gone,), changing.authorize(at)), at)
        at = changing.later()
        with pytest.raises(InvalidDocument):
            changing.entry(Update((AddVerificationMethod(key),), changing.authorize(at)), at)

    def test_deactivation_is_the_end(self, changing: Life) -> None:
        """No key is left, and no change is accepted."""
        at = changing.later()
        state = changing.change(Deactivate(changing.authorize(at)), at)
        assert state.deactivated
        assert state.document.methods == ()
        assert state.recovery_key is None
        later = changing.later()
        authorization = changing.controller.authorize(str(state.did), changing.creation.keys[0].multibase, later)
        with pytest.raises(DidDeactivated):
            changing.entry(Deactivate(authorization), later)

    def test_entries_fit_only_where_they_were_made(self, changing: Life) -> None:
        """An entry applies to the one state that it was drafted for, and to no other DID."""
        for name in ("A", "B", "C"):
            at = changing.later()
            changing.change(Update((AddService(NewService(name, "https://a.example/")),), changing.authorize(at)), at)
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
