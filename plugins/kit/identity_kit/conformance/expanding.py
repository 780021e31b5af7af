"""The promises of a DID method whose identifiers contain everything and which records nothing, as tests.

An author whose method only expands (a did:jwk, a did:peer) subclasses ``ExpandingDidMethodConformance`` and gives three fixtures::

    class TestMine(ExpandingDidMethodConformance):
        @pytest.fixture
        def method(self):
            return MyMethod()

        @pytest.fixture
        def dids(self):
            return ["did:mine:abc"]

        @pytest.fixture
        def malformed(self):
            return ["did:mine:"]

For a method that also records its DIDs, use ``DidMethodConformance``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import orjson
import pytest

from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import Create, Expire
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import InvalidDid, InvalidDocument
from identity_core.ports.did_method import DescribedDidMethod, DidMethod, ResolvingDidMethod
from identity_kit.conformance.controller import BIRTH, Controller, WalletSigner
from identity_kit.conformance.did_method import JUNK


class ExpandingDidMethodConformance:
    """The tests of an expanding method: subclass it, give ``method``, ``dids`` and ``malformed``, and run pytest."""

    def test_it_is_a_did_method_that_changes_nothing(self, method: DidMethod, dids: Sequence[str]) -> None:
        """Check that it has the members of the port and a name that a DID can have, and sends no request."""
        assert isinstance(method, DidMethod)
        assert re.fullmatch(r"[a-z0-9]+", method.name)
        assert method.mutable is False
        assert not isinstance(method, ResolvingDidMethod)
        assert dids, "there is nothing to expand"

    def test_every_did_is_expanded_into_a_document_of_its_own(self, method: DidMethod, dids: Sequence[str]) -> None:
        """One version, without a past, whose document names the DID."""
        for text in dids:
            did = Did.parse(text)
            method.check(did)
            state = method.expand(did)
            assert state is not None, text
            assert (state.did, state.version_id, state.operation) == (did, 1, history.CREATE)
            assert (state.previous_hash, state.deactivated) == (None, False)
            document = orjson.loads(state.document.encoded)
            assert document["id"] == text
            assert document["@context"], "without its contexts a document is not JSON-LD"
            for key in document.get("verificationMethod", ()):
                assert key["id"].startswith(f"{text}#")
                assert key["controller"]

    def test_expanding_is_deterministic(self, method: DidMethod, dids: Sequence[str]) -> None:
        """The same state each time, byte for byte; another DID has another document."""
        states = [method.expand(Did.parse(text)) for text in dids]
        assert states == [method.expand(Did.parse(text)) for text in dids]
        assert len({state.document.encoded for state in states if state is not None}) == len(set(dids))

    def test_did_of_another_method_is_refused(
        self, method: DidMethod, malformed: Sequence[str], dids: Sequence[str]
    ) -> None:
        """``check`` and ``expand`` agree, also on DIDs of others and on one with a character too many."""
        others = [f"did:otherwise:{Did.parse(text).identifier}" for text in dids]
        for text in (*malformed, *others, *(f"{text}:%20" for text in dids)):
            did = Did.parse(text)
            with pytest.raises(InvalidDid):
                method.check(did)
            with pytest.raises(InvalidDid):
                method.expand(did)

    def test_nothing_is_drafted(self, method: DidMethod, dids: Sequence[str]) -> None:
        """``draft`` refuses a creation and every change with ``InvalidDocument``: the caller's fault."""
        signer = WalletSigner("conformance")
        creation = Create((Controller("conformance").new_key(),), (signer.multikey,))
        for state in (None, method.expand(Did.parse(dids[0]))):
            for change in (creation, Expire()):
                with pytest.raises(InvalidDocument):
                    method.draft(state, change, BIRTH, signer=signer.multikey)

    def test_nothing_is_an_entry(self, method: DidMethod, dids: Sequence[str]) -> None:
        """``apply`` refuses any entry on the ledger, with ``LogInvalid``."""
        for state in (None, method.expand(Did.parse(dids[0]))):
            for entry in JUNK:
                with pytest.raises(LogInvalid):
                    method.apply(state, entry)

    def test_description_matches_behaviour(self, method: DidMethod) -> None:
        """Check that it claims no updates, and the DIDs that it names expand."""
        if not isinstance(method, DescribedDidMethod):
            pytest.skip("the method says nothing of itself")
        assert not method.traits.get("supportsUpdate", False)
        assert not method.traits.get("supportsDeactivate", False)
        assert all(method.expand(Did.parse(text)) is not None for text in method.test_identifiers)
