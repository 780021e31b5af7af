from __future__ import annotations

import pytest

from identity_core.domain.dids.did import Did
from identity_core.domain.proofs.proof import ZkProof
from identity_core.domain.proofs.stored import DelegatedProof, ProofRequest, RequestedPredicate, read_value
from identity_core.errors import InvalidRequest, JsonValue

HANA = Did.parse("did:ids:QmZVXud7T8h7qtJnoSA4jFk4o37z7nZFWQaiEfrNbZ5Mw7")


@pytest.mark.parametrize("value", ["x", "", 0, -1, True, [], ["x", 1, False]], ids=repr)
def test_targets(value: JsonValue) -> None:
    assert read_value(value) == value


@pytest.mark.parametrize("value", [1.0, 1.5, None, {}, [1.0], ["x", None], [[]], [1, [2]]], ids=repr)
def test_what_has_no_pin_is_no_target(value: JsonValue) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_value(value)
    assert refused.value.details == {"member": "predicate.value"}


def test_a_request_does_not_print_what_it_asks() -> None:
    asked = RequestedPredicate("age", "gte", "a secret value", True)
    request = ProofRequest(HANA, HANA, "c", asked, {"jws": "a secret token"}, True, 0, None, None, bytes(32))
    assert "secret" not in repr(request)
    assert request.asked == RequestedPredicate("age", "gte", "a secret value", True)
    assert request.asked != RequestedPredicate("age", "gte", "another", True)


def test_a_result() -> None:
    proof = ZkProof("p", (), "gte", "id")
    assert DelegatedProof("d", proof, None) == DelegatedProof("d", proof, None)
