"""Verification of proofs and logs for the Python client, without a service. ``identity_client`` finds both functions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from identity_bound_credentials.checks import SUITES
from identity_prover_bbs import BbsProver
from identity_verification.domain.checks import CheckCode, wrong
from identity_verification.offline import GivenDocuments, verify_offline
from identity_verification.use_cases.check import NAME

from identity_bbs.bls12381 import select
from identity_codec.strict_json import JsonValue
from identity_commands import verify_log
from identity_core.errors import IdentityError

CLOCK_SKEW: Final = timedelta(minutes=5)
"""The difference between the clocks of two machines."""


def check_log(log: str | bytes, *, now: datetime | None, witness_file: bytes | None = None) -> verify_log.Verified:
    """Verify a log. See ``identity_client.verify_log``."""
    data, latest = log.encode() if isinstance(log, str) else log, now or datetime.now(UTC) + CLOCK_SKEW
    try:
        return verify_log.verify(data, now=latest, witness_file=witness_file)
    except IdentityError as error:
        raise ValueError(f"{error} {error.details or ''}".strip()) from None


def verify(
    proof: Mapping[str, Any],
    expect: Mapping[str, JsonValue],
    logs: Iterable[str | bytes],
    documents: Iterable[Mapping[str, Any]],
    now: datetime,
) -> dict[str, Any]:
    """Return the answer of verifyProof. See ``identity_client.verify``."""
    issuers: dict[str, Any] = {one["id"]: one for one in documents}
    for issuer in (check_log(log, now=now + CLOCK_SKEW) for log in logs):
        issuers[issuer.did] = wrong(NAME, CheckCode.ISSUER_DEACTIVATED) if issuer.deactivated else issuer.document
    keys, prover = GivenDocuments(issuers), BbsProver(select(), os.urandom)
    return verify_offline(dict(proof), expect, keys, prover=prover, suites=SUITES, now=now)
