"""Whole numbers are integers in the bodies of proofs, as in every other body."""

from __future__ import annotations

from typing import Any

import pytest

from identity_core.api.contract import load_document
from identity_core.api.decode import RequestBody
from identity_core.api.schemas import Schemas
from identity_core.errors import InvalidRequest

SCHEMAS = Schemas(load_document().value)
TOKEN = dict.fromkeys(
    ("id", "type", "invoker", "target", "action", "delegationRef", "nonce", "issuedAt", "expiresAt", "proofValue"), "t"
)
PREDICATE = {"attributeName": "age", "type": "gte", "value": 18}
PROOF = {"holderDid": "h", "agentDid": "a", "credentialId": "c", "predicate": PREDICATE, "ibct": TOKEN}


@pytest.mark.parametrize(
    ("name", "body", "member"),
    [
        ("DelegatedProofRequest", PROOF, "syncWaitMs"),
    ],
)
def test_whole_number_is_an_integer(name: str, body: dict[str, Any], member: str) -> None:
    schema = {"$ref": f"#/components/schemas/{name}"}
    reader = RequestBody({"content": {"application/json": {"schema": schema}}}, SCHEMAS, 65_536)
    snake = {"syncWaitMs": "sync_wait_ms", "maxAge": "max_age"}[member]
    assert getattr(reader.typed(body | {member: 1.0}), snake) == 1
    with pytest.raises(InvalidRequest):
        reader.typed(body | {member: 1.5})
