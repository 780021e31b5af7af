"""JSON Schema calls 1.0 an integer; where proofs are asked for or checked, an integer has one form."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from identity_core.api.proofs import ProofHandlers
from identity_core.api.request import Request
from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidRequest

HANDLERS: Any = object.__new__(ProofHandlers)
HANA = Caller(did=Did.parse("did:example:hana"))


@pytest.mark.parametrize(
    ("operation", "member"),
    [
        ("generate_delegated_proof", "syncWaitMs"),
        ("verify_proof", "maxAge"),
        ("verify_stored_proof", "maxAge"),
        ("revoke_proof", "syncWaitMs"),
    ],
)
def test_a_fraction_is_no_integer(operation: str, member: str) -> None:
    request = Request(body_octets=f'{{"proof":"x","{member}":1.0}}'.encode(), path={"proofId": "x"}, caller=HANA)
    with pytest.raises(InvalidRequest) as refused:
        asyncio.run(getattr(HANDLERS, operation)(request))
    assert refused.value.details == {"member": member}
