"""``/vcalm`` by raw octets: whatever a stranger sends is an outcome or a refusal of its form, and never one that verifies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.attack.conftest import Target
from tests.attack.raw_http import Response, exchange, request

CREDENTIALS, PRESENTATIONS, CHALLENGES = (
    f"/vcalm/{name}" for name in ("credentials/verify", "presentations/verify", "challenges")
)
VC = "https://www.w3.org/ns/credentials/v2"
PROOF = {
    "type": "DataIntegrityProof",
    "cryptosuite": "bbs-2023",
    "proofPurpose": "assertionMethod",
    "verificationMethod": "did:web:issuer.example#key",
    "proofValue": "u2V0DhUCgQIBA",
}
GOOD = {
    "@context": [VC],
    "type": ["VerifiableCredential"],
    "issuer": "did:web:issuer.example",
    "credentialSubject": {"id": "did:web:hana.example"},
    "proof": PROOF,
}
HOLDER = "did:key:z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH"
SIGNED = {
    "@context": [VC],
    "type": "VerifiablePresentation",
    "holder": HOLDER,
    "verifiableCredential": [],
    "proof": {
        "type": "DataIntegrityProof",
        "cryptosuite": "eddsa-jcs-2022",
        "proofPurpose": "authentication",
        "verificationMethod": f"{HOLDER}#z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH",
        "proofValue": "z" + "1" * 64,
    },
}


BAD_KEY = {**PROOF, "cryptosuite": "eddsa-jcs-2022", "verificationMethod": "did:key:zBad#k"}


def post(target: Target, path: str, body: bytes) -> Response:
    return exchange(target.wire.address, request("POST", path.encode(), b"Content-Type: application/json", body=body))


def outcome(response: Response) -> list[str]:
    """The problems of something that does not verify."""
    assert response.status == 200, response.body
    body = json.loads(response.body)
    assert body["verified"] is False
    assert body["problemDetails"], "it does not say what is wrong"
    return [problem["title"] for problem in body["problemDetails"]]


def credential(**changed: Any) -> bytes:
    return json.dumps({"verifiableCredential": GOOD | changed}).encode()


def presentation(options: Any = None, **changed: Any) -> bytes:
    return json.dumps({"verifiablePresentation": SIGNED | changed, "options": options or {}}).encode()


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"proof": None},
        {"proof": []},
        {"proof": [PROOF, PROOF]},
        {"proof": {"cryptosuite": ["bbs-2023"]}},
        {"proof": {"cryptosuite": "bbs-2023"}},
        {"proof": PROOF | {"proofValue": "u2V0D" + "gYGB" * 2_000}},
        {"proof": PROOF | {"verificationMethod": "did:web:victim.example#key"}},
        {"issuer": {"id": None}},
        {"@context": "https://attacker.example/context"},
        {"@context": [VC, {"@import": "https://attacker.example/context"}]},
        {"credentialSubject": [{"id": f"_:n{i}", "knows": [{"id": f"_:n{j}"} for j in range(12)]} for i in range(12)]},
        {"credentialSubject": {"text": "x" * 20_000}},
        {"type": "EnvelopedVerifiableCredential", "id": "data:application/dc+sd-jwt,~~~~"},
        {"type": "EnvelopedVerifiableCredential", "id": "data:application/bbs-2023,eyJ9"},
        {"type": "EnvelopedVerifiableCredential", "id": "data:text/html,<script>"},
    ],
    ids=lambda changed: json.dumps(changed)[:60],
)
def test_no_such_credential_verifies(target: Target, changed: dict[str, Any]) -> None:
    assert outcome(post(target, CREDENTIALS, credential(**changed)))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"verifiableCredential":"eyJ"}',
        b'{"verifiableCredential":{},"verifiableCredential":{}}',
        b'{"verifiableCredential":{},"options":{"unknown":true}}',
        b'{"verifiableCredential":{"a":' + b"[" * 100 + b"]" * 100 + b"}}",
        b'{"verifiableCredential":{"a":NaN}}',
        b'{"verifiableCredential":{"a":"\xff"}}',
    ],
    ids=lambda body: body[:40].decode(errors="replace"),
)
def test_what_has_another_form_is_refused(target: Target, body: bytes) -> None:
    response = post(target, CREDENTIALS, body)
    assert (response.status, json.loads(response.body)["error"]["code"]) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize(
    ("changed", "options", "problem"),
    [
        ({}, {}, "PROOF_VERIFICATION_ERROR"),
        ({"type": "VerifiableCredential"}, {}, "PARSING_ERROR"),
        ({"holder": None}, {}, "PARSING_ERROR"),
        ({"holder": "did:web:victim.example"}, {}, "INVALID_VERIFICATION_METHOD"),
        ({"proof": [SIGNED["proof"]]}, {}, "PARSING_ERROR"),
        ({"verifiableCredential": [{}] * 17}, {}, "PARSING_ERROR"),
        ({}, {"challenge": "x"}, "INVALID_CHALLENGE_ERROR"),
        ({}, {"domain": "x"}, "INVALID_DOMAIN_ERROR"),
        ({}, {"challenge": "vcalm_"}, "INVALID_CHALLENGE_ERROR"),
        ({}, {"challenge": "vcalm_" + "_" * 75}, "INVALID_CHALLENGE_ERROR"),
        ({"holder": "did:key:zBad", "proof": BAD_KEY}, {}, "INVALID_VERIFICATION_METHOD"),
    ],
)  # fmt: skip
def test_no_such_presentation_verifies(target: Target, changed: Any, options: Any, problem: str) -> None:
    assert outcome(post(target, PRESENTATIONS, presentation(options, **changed))) == [problem]


def test_every_challenge_is_another(target: Target) -> None:
    """And none is stored: they cost the service nothing."""
    made = {json.loads(post(target, CHALLENGES, b"").body)["challenge"] for _ in range(5)}
    assert len(made) == 5
    for challenge in made:
        changed = challenge[:-1] + ("A" if challenge[-1] != "A" else "E")
        assert outcome(post(target, PRESENTATIONS, presentation({"challenge": changed}))) == ["INVALID_CHALLENGE_ERROR"]
