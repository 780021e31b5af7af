"""What a request costs of its bucket: a usual one a token, a large statement more."""

from __future__ import annotations

import json
from typing import Any

import pytest

from identity_core.api import contract
from identity_core.api.request import Cost, Operation, Request
from tests.operations import gate_entry
from tests.reference import DOCUMENT


def request(body: bytes) -> Request:
    made = Request(method="POST", raw_path=b"/", arrived=0.0)
    made.body_octets = body
    return made


@pytest.mark.parametrize(
    ("operation", "size", "tokens"),
    [
        ("resolveDid", 0, 1),
        ("verifyCredential", 900, 4),
        ("verifyProof", 12, 1),
        ("verifyProof", 4_607, 1),
        ("verifyProof", 4_608, 2),
        ("verifyProof", 30_000, 51),
        ("generateDelegatedProof", 2_500, 1),
        ("generateDelegatedProof", 24_000, 39),
        ("createDelegatedPresentation", 24_000, 39),
        # 16 SD-JWTs, and 16 costly credentials of bbs-2023.
        ("verifyVcalmPresentation", 228_000, 448),
        ("verifyVcalmPresentation", 87_000, 172),
        # Of bbs-2023: 3 claims (5 ms), 60 nodes with 3 claims each (35 ms), 512 statements (49 ms).
        ("verifyVcalmCredential", 1_216, 5),
        ("verifyVcalmCredential", 3_767, 10),
        ("verifyVcalmCredential", 6_674, 16),
        # A known caller's body costs one token.
        ("issueCredential", 200_000, 1),
    ],
)
def test_cost_of_a_request(operation: str, size: int, tokens: int) -> None:
    assert gate_entry(operation).cost.tokens(request(b"x" * size)) == tokens


def test_cost_of_a_form() -> None:
    assert Cost().tokens(request(b"x" * 24_000)) == 39


def body_operations() -> list[Operation]:
    """The operations of the document with a body that an unauthenticated client may send."""
    found = [gate_entry(one["operationId"]) for _, _, one in contract.operations(DOCUMENT) if "requestBody" in one]
    return [one for one in found if one.optional or not one.schemes]


def test_every_body_of_an_unauthenticated_client_has_a_weight() -> None:
    """Also that of an operation of an extension."""
    found = body_operations()
    assert {"verifyProof", "verifyVcalmCredential", "verifyVcalmPresentation"} <= {one.operation_id for one in found}
    for operation in found:
        assert operation.cost.tokens(request(b"x" * 200_000)) >= 380, operation.operation_id


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({"verifiablePresentation": {"verifiableCredential": [{}] * 16}}, 16),
        ({"verifiablePresentation": {"verifiableCredential": [{}] * 3}}, 3),
        ({"verifiablePresentation": {"verifiableCredential": {}}}, 3),
        ({"verifiablePresentation": {"verifiableCredential": []}}, 3),
        ({"verifiablePresentation": []}, 3),
        ([], 3),
        (b'{"verifiablePresentation": {"verifiableCredential": [{}, {}', 3),
        # More than its bytes cost, and less.
        ({"verifiablePresentation": {"verifiableCredential": [{"a": "x" * 200}] * 8}}, 8),
        ({"verifiablePresentation": {"verifiableCredential": [{"a": "x" * 9000}] * 2}}, 38),
    ],
)
def test_each_credential_of_a_presentation_has_a_cost(body: Any, tokens: int) -> None:
    operation = next(one for one in body_operations() if one.operation_id == "verifyVcalmPresentation")
    size = body if isinstance(body, bytes) else json.dumps(body).encode()
    assert operation.cost.tokens(request(size)) == tokens
