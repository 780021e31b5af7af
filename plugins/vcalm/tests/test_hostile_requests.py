"""``/vcalm`` by raw bytes: whatever a stranger sends is an outcome or a refusal of its form, and never one that verifies."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from tests import securing
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
        b'{"verifiableCredential":{},"options":{"checks":[]}}',
        b'{"verifiableCredential":{},"options":{"checks":"proof"}}',
        b'{"verifiableCredential":{"a":' + b"[" * 100 + b"]" * 100 + b"}}",
        b'{"verifiableCredential":{"a":NaN}}',
        b'{"verifiableCredential":{"a":"\xff"}}',
    ],
    ids=lambda body: body[:40].decode(errors="replace"),
)
def test_malformed_request_is_refused(target: Target, body: bytes) -> None:
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


BLS = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
TERMS = "https://www.w3.org/ns/credentials/undefined-terms/v2"


def disclose(issuer: Any, subject: Any, **changed: Any) -> dict[str, Any]:
    """A credential that the issuer has signed, of which everything is disclosed."""
    claims = {"@context": [VC, TERMS], "type": ["VerifiableCredential"], "issuer": issuer.did} | changed
    key = issuer.created["keys"]["assertionMethod"]
    pointers = ["/credentialSubject"]
    return securing.disclosed(
        claims | {"credentialSubject": subject},
        key,
        mandatory=["/issuer"],
        pointers=pointers + [f"/{n}" for n in changed],
    )


def verified(target: Target, credential: Any, **options: Any) -> bool:
    response = post(target, CREDENTIALS, json.dumps({"verifiableCredential": credential, "options": options}).encode())
    assert response.status == 200, response.body
    return bool(json.loads(response.body)["verified"])


def problem(target: Target, credential: Any) -> tuple[str, str]:
    """The one problem of it."""
    response = post(target, CREDENTIALS, json.dumps({"verifiableCredential": credential}).encode())
    (found,) = json.loads(response.body)["problemDetails"]
    return found["title"], found["detail"]


def test_sixteen_kilobytes_and_64_blank_nodes_are_taken(target: Target) -> None:
    """An issuer of this service has signed each, so that nothing but its size is wrong."""
    issuer = target.stranger.holder(additionalKeys=[BLS])

    def padded(size: int) -> dict[str, Any]:
        """Build a credential with another proof in the set, which is not of this format and is not signed here."""

        def credential_of(padding: int) -> dict[str, Any]:
            return whole | {"proof": [whole["proof"], {"type": "Other", "proofValue": "x" * padding}]}

        return credential_of(size - len(json.dumps(credential_of(0), separators=(",", ":")).encode()))

    whole = disclose(issuer, {"text": "x" * 12_000})
    assert verified(target, padded(16_384))
    assert problem(target, padded(16_385)) == ("PARSING_ERROR", "it has more than 16384 bytes")
    # The subject and the credential are blank nodes, too.
    nodes = [{"n": number} for number in range(62)]
    full = disclose(issuer, {"of": nodes})
    assert verified(target, full)
    grown = full | {"credentialSubject": {"of": [*nodes, {"n": 62}]}}
    assert problem(target, grown) == ("PARSING_ERROR", "the document has more than 64 blank nodes")


def test_nobody_is_asked_for_what_a_credential_names(target: Target) -> None:
    """Its status list, a schema, and terms have the URL of a listening socket; there is no request."""
    issuer = target.stranger.holder(additionalKeys=[BLS])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0)
        place = f"http://127.0.0.1:{listening.getsockname()[1]}"
        status = {"id": f"{place}/1#7", "type": "BitstringStatusListEntry", "statusPurpose": "revocation"}
        status |= {"statusListIndex": "7", "statusListCredential": f"{place}/1"}
        schema = {"id": f"{place}/schema", "type": "JsonSchema"}
        named = disclose(issuer, {"age": 24}, credentialStatus=status, credentialSchema=schema)
        assert not verified(target, named)
        for checks in (["status"], ["proof", "credentialStatus"], ["Proof"], ["proof "]):
            assert not verified(target, named, checks=checks)
        assert verified(target, named, checks=["proof"])
        assert not verified(target, named | {"@context": [VC, TERMS, f"{place}/terms"]}, checks=["proof"])
        with pytest.raises(BlockingIOError):
            listening.accept()


MODEL = "https://www.w3.org/2018/credentials#"
NICKNAME = "https://www.w3.org/ns/credentials/undefined-term#nickname"
STATUS = {"id": "https://x.example/1#7", "type": "BitstringStatusListEntry", "statusPurpose": "revocation"}
STATUS |= {"statusListIndex": "7", "statusListCredential": "https://x.example/1"}


@pytest.mark.parametrize("term", ["stamp", f"{MODEL}credentialStatus"])
def test_renamed_status_is_still_a_status(target: Target, term: str) -> None:
    """The holder renames the member; its statements are signed (VC Data Integrity BBS 1.0 §3.4). Correct: STATUS_RETRIEVAL_ERROR."""
    named = disclose(target.stranger.holder(additionalKeys=[BLS]), {"age": 24}, credentialStatus=STATUS)
    assert problem(target, named)[0] == "STATUS_RETRIEVAL_ERROR"
    renamed = {name: part for name, part in named.items() if name != "credentialStatus"} | {term: STATUS}
    renamed["@context"] = [*named["@context"], {"stamp": f"{MODEL}credentialStatus"}]
    response = post(target, CREDENTIALS, json.dumps({"verifiableCredential": renamed}).encode())
    assert outcome(response)[0] == "STATUS_RETRIEVAL_ERROR"


def test_claim_is_returned_by_its_signed_name(target: Target) -> None:
    """Signed is ``nickname``; the holder's own context calls it ``role``."""
    named = disclose(target.stranger.holder(additionalKeys=[BLS]), {"nickname": "administrator"})
    context = [*named["@context"], {"role": NICKNAME}]
    forged = named | {"@context": context, "credentialSubject": {"role": "administrator"}}
    body = {"verifiableCredential": forged, "options": {"returnCredential": True}}
    answer = json.loads(post(target, CREDENTIALS, json.dumps(body).encode()).body)
    assert answer["verified"] is True
    assert answer["credential"]["credentialSubject"] == {"nickname": "administrator"}
    assert [one["title"] for one in answer["problemDetails"]] == ["MALFORMED_VALUE_ERROR"]
