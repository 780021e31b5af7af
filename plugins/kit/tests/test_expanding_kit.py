"""The conformance class of methods that only expand: a good one passes, and each broken promise is found by the test of its name."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, NoReturn

import pytest
from identity_did_ids import foreign
from identity_kit.conformance.expanding import ExpandingDidMethodConformance

from identity_codec.values import replace
from identity_core.domain.dids.changes import Change
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import DidState, LogInvalid
from identity_core.errors import InvalidDid, InvalidDocument

EVER = datetime(1970, 1, 1, tzinfo=UTC)
DIDS = ("did:toy:deadbeef", "did:toy:c0ffee")
MALFORMED = ("did:toy:DEADBEEF", "did:toy:xyz")


class Toy:
    """Its identifiers are hexadecimal, and its documents say nothing."""

    name = "toy"
    mutable = False
    traits: ClassVar = {"supportsUpdate": False}
    test_identifiers = DIDS[:1]

    def check(self, did: Did) -> None:
        if did.method != "toy" or not did.identifier or set(did.identifier) - set("0123456789abcdef"):
            raise InvalidDid(details={"did": str(did)})

    def expand(self, did: Did) -> DidState | None:
        self.check(did)
        return foreign.build_foreign_state(did, {"@context": ["https://www.w3.org/ns/did/v1"], "id": str(did)}, EVER)

    def draft(self, state: DidState | None, change: Change, at: datetime, *, signer: str) -> NoReturn:
        raise InvalidDocument("A did:toy never changes.")

    def apply(self, state: DidState | None, entry: bytes) -> NoReturn:
        raise LogInvalid("A did:toy has no log.")


class TestToy(ExpandingDidMethodConformance):
    @pytest.fixture
    def method(self) -> Toy:
        return Toy()

    @pytest.fixture
    def dids(self) -> Sequence[str]:
        return DIDS

    @pytest.fixture
    def malformed(self) -> Sequence[str]:
        return MALFORMED


class Mutable(Toy):
    mutable = True


class Borrowing(Toy):
    def expand(self, did: Did) -> Any:
        return super().expand(Did.parse(DIDS[0])) if did.method == "toy" and super().expand(did) else None


class Random(Toy):
    def expand(self, did: Did) -> Any:
        state = super().expand(did)
        return None if state is None else replace(state, entry_hash=uuid.uuid4().hex)


class Lax(Toy):
    def check(self, did: Did) -> None:
        if did.method != "toy":
            raise InvalidDid


class Writing(Toy):
    def draft(self, state: DidState | None, change: Change, at: datetime, *, signer: str) -> Any:
        return None


class Reading(Toy):
    def apply(self, state: DidState | None, entry: bytes) -> Any:
        return state


class Boasting(Toy):
    traits: ClassVar = {"supportsUpdate": True}


KIT = ExpandingDidMethodConformance()
BROKEN = [
    (Mutable, lambda toy: KIT.test_it_is_a_did_method_that_changes_nothing(toy, DIDS)),
    (Borrowing, lambda toy: KIT.test_every_did_is_expanded_into_a_document_of_its_own(toy, DIDS)),
    (Random, lambda toy: KIT.test_expanding_is_deterministic(toy, DIDS)),
    (Lax, lambda toy: KIT.test_did_of_another_method_is_refused(toy, MALFORMED, DIDS)),
    (Writing, lambda toy: KIT.test_nothing_is_drafted(toy, DIDS)),
    (Reading, lambda toy: KIT.test_nothing_is_an_entry(toy, DIDS)),
    (Boasting, lambda toy: KIT.test_description_matches_behaviour(toy)),
]


@pytest.mark.parametrize(("broken", "examine"), BROKEN, ids=[kind.__name__ for kind, _ in BROKEN])
def test_a_broken_promise_is_found(broken: type[Toy], examine: Any) -> None:
    examine(Toy())
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        examine(broken())
