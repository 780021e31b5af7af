"""The verification of ``identity proof verify`` with the members of a request of verifyProof."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from identity_commands.proof_verify import verify_octets
from identity_commands.verify_log import verify as verify_log
from identity_prover_bbs import BbsProver
from identity_verification.domain.checks import BOUND, verdict_of
from identity_verification.use_cases.verify import expectation_of
from identity_verification.wire import VerifyProofRequest

from identity_bbs.bls12381 import select
from identity_client.issuer_key import assertion_key
from identity_codec.strict_json import JsonValue
from identity_codec.structs import convert
from identity_core.errors import IdentityError, ProofInvalid


def verify(
    proof: Mapping[str, Any],
    expect: Mapping[str, JsonValue],
    logs: Iterable[str | bytes],
    documents: Iterable[Mapping[str, Any]],
    now: datetime,
) -> dict[str, Any]:
    """Return the verdict, and what was not compared; ``proof`` and ``expect`` have the members of a request of verifyProof."""
    try:
        question = expectation_of(convert({"proof": "x", **expect}, VerifyProofRequest))
        # The clocks of two machines differ.
        latest = now + timedelta(minutes=5)
        verified = [verify_log(one.encode() if isinstance(one, str) else one, now=latest) for one in logs]
    except IdentityError as error:
        raise ValueError(f"{error} {error.details or ''}".strip()) from None
    issuers = {one["id"]: one for one in documents} | {one.did: one.document for one in verified if not one.deactivated}

    def find_key(method: str) -> bytes:
        return assertion_key(issuers.get(method.partition("#")[0], {}), method, now)

    missing = [name for name in BOUND if name in question.unchecked]
    prover, data = BbsProver(select(), os.urandom), json.dumps(dict(proof)).encode()
    try:
        content = verify_octets(data, prover=prover, find_key=find_key, expectation=question, now=now)
    except (ProofInvalid, ValueError) as error:
        reason = getattr(error, "details", {}).get("reason", error)
        return {"verdict": "invalid", "missing": missing, "reason": str(reason)}
    return content | {"verdict": verdict_of(True, missing), "missing": missing}
