"""The promises of every DID method (``ports.did_method``), as tests.

An author subclasses ``DidMethodConformance`` in a test module and gives one fixture::

    class TestMine(DidMethodConformance):
        @pytest.fixture
        def method(self):
            return MyMethod()

``creation`` may be overridden when the method cannot begin with one Ed25519 key and a recovery key. A method whose DIDs never
change (``mutable`` False) is tested for that; any other is tested through a whole life of a DID. If entries have no room for the
controller's signature, set ``carries_evidence = False``: the drafts must then check it. ``step`` is the resolution of times in
entries if it is coarser than microseconds.
"""

from __future__ import annotations

import re
from typing import Final

import pytest

from identity_client import challenge
from identity_codec.values import replace
from identity_core.domain.dids import document as documents
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import Authorization, Deactivate, Expire
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import InvalidDid, InvalidDocument
from identity_core.ports.did_method import DescribedDidMethod, DidMethod
from identity_kit.conformance.controller import BIRTH, Life, WalletSigner
from identity_kit.conformance.did_method_changes import ChangePromises

JUNK: Final = (b"", b"{}", b"null", b"[]", b"\xff\xfe", b'{"versionId":', b"[" * 5000, b"0" * 20_000, b"\x00" * 64)


class DidMethodConformance(ChangePromises):
    """The tests of a DID method: subclass it, give ``method``, and run pytest."""

    def test_it_is_a_did_method_with_a_method_name(self, method: DidMethod) -> None:
        """Check that it has the members of the port, and a name that a DID can have."""
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
        assert document.encoded == replace(document).encoded, "the bytes say something else than the fields"
        documents.check(document)
        assert {method.multibase for method in document.methods} == {key.public for key in life.creation.keys}

    def test_drafting_and_applying_are_deterministic(self, life: Life) -> None:
        """The same arguments give the same bytes and the same state, at any time of the clock."""
        again = life.method.draft(None, life.creation, BIRTH, signer=life.signer.multikey)
        assert life.signer.seal(again) == life.entries[0]
        assert life.method.apply(None, life.entries[0]) == life.state

    def test_a_draft_knows_the_state_that_apply_finds(self, life: Life) -> None:
        """``after`` returns what ``apply`` will return for the sealed entry, and refuses a signature of another key."""
        draft = life.method.draft(None, life.creation, BIRTH, signer=life.signer.multikey)
        assert draft.after(life.signer.sign(draft)) == life.state
        with pytest.raises(LogInvalid):
            draft.after(WalletSigner("stranger").sign(draft))

    def test_a_did_is_the_work_of_its_first_entry(self, life: Life) -> None:
        """Other keys make another DID."""
        state = Life(
            life.method, life.controller.creation(life.signer, recovery=False), life.controller, life.signer
        ).state
        assert state.did != life.state.did

    def test_description_matches_behaviour(self, method: DidMethod) -> None:
        """Traits have names of DID Traits and are true or false; DIDs to try are of the method, and ``mutable`` is not denied."""
        if not isinstance(method, DescribedDidMethod):
            pytest.skip("the method says nothing of itself")
        for name, value in method.traits.items():
            assert re.fullmatch(r"(?!name$)[a-z]+[A-Za-z0-9_]*", name), name
            assert isinstance(value, bool), name
        assert method.traits.get("supportsUpdate", True) or not method.mutable
        for text in method.test_identifiers:
            method.check(Did.parse(text))

    def test_expansion_is_of_the_did(self, life: Life) -> None:
        """Check that the content of the identifier does not contradict the log."""
        known = life.method.expand(life.state.did)
        assert known is None or known.document == life.state.document

    def test_a_key_that_may_not_sign_entries_is_refused(self, life: Life) -> None:
        """``draft`` refuses a signer that ``update_keys`` do not name."""
        stranger = WalletSigner("stranger")
        with pytest.raises(InvalidDocument):
            life.method.draft(None, life.creation, BIRTH, signer=stranger.multikey)

    def test_an_entry_by_another_signer_is_refused(self, life: Life) -> None:
        """``apply`` refuses a signature of another key."""
        draft = life.method.draft(None, life.creation, BIRTH, signer=life.signer.multikey)
        with pytest.raises(LogInvalid):
            life.method.apply(None, WalletSigner("stranger").seal(draft))

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
        authorization = Authorization(challenge.DID_AUTH, life.creation.keys[0].public, "-", bytes(64))
        for change in (life.creation, Expire(), Deactivate(authorization)):
            with pytest.raises(InvalidDocument):
                life.method.draft(life.state, change, life.later(), signer=life.signer.multikey)
