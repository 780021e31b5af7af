"""Options of a Data Integrity proof, for all readers of them (VC Data Integrity 1.0, "Proofs")."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from identity_did_ids.entry import check_proof
from identity_did_webvh.approvals import check_approval

from identity_client import data_integrity
from identity_client.data_integrity import check_proof_options, proof_input
from identity_codec import ed25519, multibase, multikey
from identity_core.domain.delegations.delegation import check_holder_proof
from identity_core.domain.dids.document import DidDocument, VerificationMethod
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import DelegationInvalid

NOW = datetime(2026, 1, 5, 10, tzinfo=UTC)
DID = "did:web:hana.example"
METHOD = f"{DID}#key-1"
PAIR = ed25519.generate(bytes(range(32)))
KEY = multikey.encode_public(multikey.ED25519, PAIR.public)
VC = "https://www.w3.org/ns/credentials/v2"

GOOD: list[dict[str, Any]] = [
    {},
    {"created": "2026-01-05T10:05:00Z"},
    {"created": "2026-01-05T09:00:00-01:00", "expires": "2026-01-05T10:00:01Z"},
    {"id": "urn:uuid:1", "nonce": "n"},
]
BAD: list[dict[str, Any]] = [
    {"created": "yesterday"},
    {"created": "2026-01-05"},
    {"created": "2026-01-05T10:00:00"},
    {"created": None},
    {"created": 1_767_268_800},
    {"created": "9999-01-01T00:00:00Z"},
    {"created": "2026-01-05T10:05:01Z"},
    {"expires": "2026-01-05T10:00:00Z"},
    {"expires": "never"},
    {"expires": None},
    {"created": "2026-01-05T10:00:00Z", "expires": "2026-01-05T09:59:59Z"},
    {"previousProof": "urn:uuid:unknown"},
    {"previousProof": []},
    {"nonce": 7},
    {"id": ["urn:uuid:1"]},
]
DOMAINS: list[tuple[Any, set[str] | None]] = [
    ("https://a.example", {"https://a.example"}),
    (["https://a.example"], {"https://a.example"}),
    (["https://a.example", "https://b.example"], {"https://a.example", "https://b.example"}),
    (7, None),
    (None, None),
    ([["https://a.example"]], None),
]


@pytest.mark.parametrize("options", GOOD)
def test_option_of_the_standard_is_accepted(options: dict[str, Any]) -> None:
    assert check_proof_options(options, NOW) == frozenset()


@pytest.mark.parametrize("options", BAD)
def test_other_option_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        check_proof_options(options, NOW)


@pytest.mark.parametrize(("domain", "expected"), DOMAINS)
def test_domain_is_a_text_or_a_set_of_texts(domain: Any, expected: set[str] | None) -> None:
    if expected is None:
        with pytest.raises(ValueError):
            check_proof_options({"domain": domain}, NOW)
    else:
        assert check_proof_options({"domain": domain}, NOW) == expected


def test_without_a_clock_the_form_counts_alone() -> None:
    check_proof_options({"created": "9999-01-01T00:00:00Z"}, None)
    check_proof_options({"expires": "2020-01-01T00:00:00Z"}, None)
    with pytest.raises(ValueError):
        check_proof_options({"created": "yesterday"}, None)


def signed(document: dict[str, Any], purpose: str, method: str, **options: Any) -> dict[str, Any]:
    proof = {"type": data_integrity.PROOF_TYPE, "cryptosuite": data_integrity.CRYPTOSUITE, "proofPurpose": purpose}
    proof |= {"verificationMethod": method, "created": "2026-01-05T10:00:00Z"} | options
    signature = ed25519.sign(PAIR.seed, proof_input(proof, document))
    return proof | {"proofValue": multibase.base58btc_encode(signature)}


def holder_document() -> DidDocument:
    method = VerificationMethod(METHOD, multikey.ED25519, KEY)
    return DidDocument(DID, (method,), (("authentication", (METHOD,)), ("capabilityDelegation", (METHOD,))))


@pytest.mark.parametrize("options", BAD)
def test_every_reader_refuses_the_option(options: dict[str, Any]) -> None:
    """Entries and approvals of logs, and holders' proofs; each with a valid signature."""
    body = {"versionId": "1-Qm"}
    with pytest.raises(LogInvalid):
        check_proof(signed(body, "assertionMethod", f"did:key:{KEY}#{KEY}", **options), body, {KEY}, NOW)
    with pytest.raises(DelegationInvalid):
        check_holder_proof(signed(body, "capabilityDelegation", METHOD, **options), body, holder_document(), NOW)
    if options.get("created") not in ("9999-01-01T00:00:00Z", "2026-01-05T10:05:01Z") and "10:00:00Z" not in str(
        options
    ):
        with pytest.raises(LogInvalid):
            check_approval("1-Qm", signed(body, "assertionMethod", f"did:key:{KEY}#{KEY}", **options))


def test_readers_accept_good_proofs() -> None:
    body = {"versionId": "1-Qm"}
    assert check_proof(signed(body, "assertionMethod", f"did:key:{KEY}#{KEY}"), body, {KEY}, NOW) == KEY
    assert check_approval("1-Qm", signed(body, "assertionMethod", f"did:key:{KEY}#{KEY}")) == KEY
    check_holder_proof(signed(body, "capabilityDelegation", METHOD), body, holder_document(), NOW)


def test_created_may_be_some_minutes_ahead() -> None:
    check_proof_options({"created": (NOW + data_integrity.AHEAD).isoformat()}, NOW)
    assert timedelta(minutes=5) == data_integrity.AHEAD
