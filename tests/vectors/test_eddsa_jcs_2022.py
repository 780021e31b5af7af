"""eddsa-jcs-2022 step by step (W3C vc-di-eddsa)."""

from __future__ import annotations

import hashlib

import pytest
from identity_did_ids import entry

from identity_client import data_integrity
from identity_codec import ed25519, multibase, multikey
from identity_core.domain.dids.state import LogInvalid
from tests.vectors.files import ROOT, vector, vector_json

FOLDER = "eddsa/eddsa-jcs-2022"


def text(pattern: str) -> str:
    vector(FOLDER)
    (path,) = (ROOT / FOLDER).glob(pattern)
    return path.read_text().strip()


def test_the_signed_bytes_and_the_signature() -> None:
    pair = vector_json("eddsa/keyPair.json")
    signed = vector_json(f"{FOLDER}/signedJCS.json")
    proof = signed.pop("proof")
    _, seed = multikey.decode_secret(pair.get("secretKeyMultibase") or pair["privateKeyMultibase"])
    config = {name: value for name, value in proof.items() if name != "proofValue"}
    data = data_integrity.proof_input(config, signed)
    assert data.hex() == text("combinedHashJCS.txt")
    assert data[:32] == hashlib.sha256(text("proofCanonJCS.txt").encode()).digest()
    signature = ed25519.sign(seed, data)
    assert signature.hex() == text("sigHexJCS.txt")
    assert multibase.base58btc_encode(signature) == proof["proofValue"]


def test_the_proof_is_checked_as_a_whole() -> None:
    signed = vector_json(f"{FOLDER}/signedJCS.json")
    proof = signed.pop("proof")
    key = vector_json("eddsa/keyPair.json")["publicKeyMultibase"]
    proof["verificationMethod"] = f"did:key:{key}#{key}"
    with pytest.raises(LogInvalid):
        entry.check_proof(proof | {"proofPurpose": "authentication"}, signed, {key})
