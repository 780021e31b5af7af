from __future__ import annotations

import pytest

from identity_codec.strict_json import JsonValue
from identity_core.domain.proofs.proof import ZkProof
from identity_core.domain.proofs.stored import DelegatedProof, read_value
from identity_core.errors import InvalidRequest


@pytest.mark.parametrize("value", ["x", "", 0, -1, True, [], ["x", 1, False], 1.0, 1.5, [1.0]], ids=repr)
def test_targets(value: JsonValue) -> None:
    assert read_value(value) == value


@pytest.mark.parametrize("value", [0.1 + 0.2, 1e300, None, {}, [0.1 + 0.2], ["x", None], [[]], [1, [2]]], ids=repr)
def test_predicate_without_pin_has_no_target(value: JsonValue) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_value(value)
    assert refused.value.details == {"member": "predicate.value"}


def test_a_result() -> None:
    proof = ZkProof("p", (), "gte", "id")
    assert DelegatedProof("d", proof, None) == DelegatedProof("d", proof, None)
