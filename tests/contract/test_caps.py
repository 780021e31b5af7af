"""Caps that the document promises and other places keep: one number each."""

from __future__ import annotations

import json
from pathlib import Path

from identity_client import action
from identity_core.domain.proofs import proof


def test_largest_proof_fits_verify_proof() -> None:
    reference = json.loads((Path(__file__).parents[2] / "openapi/reference.json").read_bytes())
    schema = reference["components"]["schemas"]["VerifyProofRequest"]["properties"]["proof"]
    assert (schema["maxLength"], proof.MAX_ENVELOPE_CHARACTERS) == (131_072, 131_072)


def test_a_set_has_at_most_4096_elements() -> None:
    assert action.MAX_SET_SIZE == 4_096
