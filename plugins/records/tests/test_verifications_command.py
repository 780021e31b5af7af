"""``identity verifications``: the words of a verdict for each row."""

from __future__ import annotations

from typing import Any

import pytest
from identity_records.commands.verifications import _counts, _row

ROW: dict[str, Any] = {"ts": "2026-01-05T09:00:00Z", "proofId": None, "holderDid": None, "missing": [], "reasons": []}


@pytest.mark.parametrize(
    ("row", "ends"),
    [
        ({"verdict": "valid"}, "valid"),
        ({"verdict": "unbound", "missing": ["challenge", "domain"]}, "unbound (challenge, domain)"),
        ({"verdict": "invalid", "reasons": [{"code": "PROOF_EXPIRED"}]}, "invalid (PROOF_EXPIRED)"),
    ],
)
def test_row_shows_verdict_and_reason(row: dict[str, Any], ends: str) -> None:
    assert _row(ROW | row) == f"2026-01-05T09:00:00Z  -  -  {ends}"


def test_counts_name_all_three_verdicts() -> None:
    counts = {"total": 6, "valid": 2, "verified": 5, "refused": 1, "reasons": [{"code": "PROOF_EXPIRED", "count": 1}]}
    assert _counts(counts) == "6 in all, 2 valid, 3 unbound, 1 invalid\n  PROOF_EXPIRED: 1"
