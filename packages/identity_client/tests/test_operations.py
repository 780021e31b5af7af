"""The operations that clients know are those of the document and the service."""

from __future__ import annotations

import pytest

from identity_client.challenge import AUTHORIZE, PURPOSES
from identity_client.operations import ServedOperation, served_operations

OPERATIONS = served_operations()


def test_signed_operations_have_a_purpose() -> None:
    purposes = {name: one.purpose for name, one in OPERATIONS.items() if one.purpose}
    # The code flow has a purpose of its own, which no operation of the document takes.
    assert set(purposes.values()) == PURPOSES - {AUTHORIZE}
    assert {name for name, one in OPERATIONS.items() if one.scheme} == purposes.keys()
    assert [name for name, one in OPERATIONS.items() if one.scheme == "RecoveryKey"] == ["recoverDid"]


def test_an_operation_as_a_whole() -> None:
    assert OPERATIONS["updateDid"] == ServedOperation(
        method="PATCH",
        path="/dids/{did}",
        query=[],
        headers=["If-Match", "Idempotency-Key"],
        forms=["application/json"],
        idempotent=True,
        keyed=False,
        scheme="DIDAuth",
        purpose="update",
        summary="Change a DID document",
    )


@pytest.mark.parametrize(
    ("name", "accept"),
    [
        ("resolveDid", "application/json"),
        ("resolveIdentifier", "application/json"),
        ("getDidLog", "text/jsonl"),
        ("getLedgerTile", "application/octet-stream"),
        ("getLedgerInclusionProof", "application/json"),
    ],
)
def test_the_usual_form_is_asked_for(name: str, accept: str) -> None:
    assert OPERATIONS[name].accept == accept


def test_every_operation_has_a_form_that_a_client_reads() -> None:
    read = {"application/json", "application/did-resolution", "text/jsonl", "text/plain", "application/octet-stream"}
    assert {one.accept for one in OPERATIONS.values()} <= read


@pytest.mark.parametrize(
    ("name", "repeatable"),
    [
        ("getProof", True),
        ("createDid", True),
        ("updateDid", True),
        ("deactivateDid", False),
        ("generateDelegatedProof", False),
        ("createDelegatedPresentation", False),
    ],
)
def test_repeatable_operations_are_listed(name: str, repeatable: bool) -> None:
    assert OPERATIONS[name].is_repeatable is repeatable
