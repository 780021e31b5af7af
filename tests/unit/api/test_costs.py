"""What a request costs of its bucket: a usual one a token, a large statement more."""

from __future__ import annotations

import pytest

from identity_core.api import operations


@pytest.mark.parametrize(
    ("operation", "octets", "tokens"),
    [
        ("resolveDid", 0, 1),
        ("issueCredential", 200_000, 1),
        ("verifyCredential", 900, 4),
        ("verifyProof", 12, 1),
        ("verifyProof", 4_607, 1),
        ("verifyProof", 4_608, 2),
        ("verifyProof", 30_000, 51),
        ("generateDelegatedProof", 2_500, 1),
        ("generateDelegatedProof", 24_000, 39),
        ("createDelegatedPresentation", 24_000, 39),
    ],
)
def test_what_a_request_costs(operation: str, octets: int, tokens: int) -> None:
    assert operations.tokens(operation, octets) == tokens
