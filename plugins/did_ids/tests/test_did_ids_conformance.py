from __future__ import annotations

import pytest
from identity_did_ids import DidIds, DidIdsSettings
from identity_kit.conformance.did_method import DidMethodConformance

from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidDid


class TestDidIds(DidMethodConformance):
    @pytest.fixture
    def method(self) -> DidIds:
        return DidIds(DidIdsSettings())


class TestUnderAnotherName(DidMethodConformance):
    @pytest.fixture
    def method(self) -> DidIds:
        return DidIds(DidIdsSettings(name="acme"))


def test_exactly_one_length_of_identifier_is_accepted() -> None:
    method = DidIds(DidIdsSettings())
    good = "Qm" + "a" * 44
    method.check(Did.parse(f"did:ids:{good}"))
    for bad in (good[:-1], good + "a", "Qm" + "0" * 44, "Qn" + "a" * 44, good.lower(), good[:-3] + "%61", f"{good}:x"):
        with pytest.raises(InvalidDid):
            method.check(Did.parse(f"did:ids:{bad}"))


@pytest.mark.parametrize("name", ["", "IDS", "a-b", "a:b", "ids\n", "x" * 33])
def test_a_name_that_no_did_can_have_stops_the_start(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        DidIdsSettings(name=name)
