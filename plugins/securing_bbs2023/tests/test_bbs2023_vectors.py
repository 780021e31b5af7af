"""The W3C vectors, byte for byte: what is signed, what is disclosed, and the proof values.

The random scalars of the derived proofs are not those of the seed that the vectors name; so the BBS proof within is taken from them, which
verifies here, and everything around it is made.
"""

from __future__ import annotations

from typing import Any

import pytest
from identity_securing_bbs2023 import suite
from identity_securing_bbs2023.proof_values import BaseProofValue, decode_base, decode_derived
from identity_securing_bbs2023.refused import Malformed, Unverified
from identity_securing_bbs2023.statements import Statements

from identity_bbs import interface
from identity_bbs.bls12381 import select
from identity_bbs.suite import ciphersuite
from identity_codec.values import replace
from tests.vectors.files import vector_json

CASES = (("", "windMandatory.json", "windSelective.json"), ("prc/", "prCredMandatory.json", "prCredSelective.json"))


@pytest.fixture(scope="module")
def statements() -> Statements:
    return Statements()


@pytest.fixture(scope="module")
def bbs() -> Any:
    return ciphersuite(select())


def read(name: str) -> Any:
    return vector_json(f"bbs-2023/{name}")


def keys() -> tuple[bytes, bytes, bytes]:
    material = read("BBSKeyMaterial.json")
    return tuple(bytes.fromhex(material[name]) for name in ("privateKeyHex", "publicKeyHex", "hmacKeyString"))  # type: ignore[return-value]


def unvalued(folder: str) -> dict[str, Any]:
    return {name: value for name, value in read(f"{folder}addProofConfig.json").items() if name != "@context"}


def parted(secured: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], str]:
    document = {name: value for name, value in secured.items() if name != "proof"}
    proof = dict(secured["proof"])
    return document, proof, proof.pop("proofValue")


@pytest.mark.parametrize(("folder", "mandatory", "_"), CASES)
def test_a_base_proof(statements: Statements, bbs: Any, folder: str, mandatory: str, _: str) -> None:
    secret, public, hmac_key = keys()
    pointers = read(mandatory)
    # Of the second case the unsigned file has another description than what was signed.
    document, _, text = parted(read(f"{folder}addSignedSDBase.json"))
    signed = suite.sign_data(statements, document, unvalued(folder), hmac_key, pointers)
    hashes = read(f"{folder}addHashData.json")
    assert signed.header.hex() == hashes["proofHash"] + hashes["mandatoryHash"]
    signature = interface.sign(bbs, secret, public, signed.header, signed.messages)
    assert signature.hex() == read(f"{folder}addRawBaseSignatureInfo.json")["bbsSignature"]
    value = BaseProofValue(signature, signed.header, public, hmac_key, pointers)
    assert value.encode() == text
    assert decode_base(text) == value


@pytest.mark.parametrize(("folder", "_", "selective"), CASES)
def test_a_derived_proof(statements: Statements, bbs: Any, folder: str, _: str, selective: str) -> None:
    document, proof, value = parted(read(f"{folder}addSignedSDBase.json"))
    header = bytes.fromhex(read("BBSDeriveMaterial.json")["presentationHeaderHex"])
    revealed, derived = suite.derive(statements, bbs, document, proof, decode_base(value), read(selective), header)
    expected = read(f"{folder}derivedRevealDocument.json")
    random = decode_derived(expected["proof"]["proofValue"]).proof
    assert len(random) == len(derived.proof)
    whole = replace(derived, proof=random)
    assert {**revealed, "proof": {**proof, "proofValue": whole.encode()}} == expected
    _, public, _ = keys()
    suite.verify(statements, bbs, revealed, proof, derived, public)


@pytest.mark.parametrize("folder", ["", "prc/"])
def test_derived_vectors_are_valid(statements: Statements, bbs: Any, folder: str) -> None:
    _, public, _ = keys()
    document, proof, text = parted(read(f"{folder}derivedRevealDocument.json"))
    value = decode_derived(text)
    suite.verify(statements, bbs, document, proof, value, public)
    with pytest.raises(Unverified):
        suite.verify(statements, bbs, document, {**proof, "created": "2023-08-15T23:36:39Z"}, value, public)
    with pytest.raises(Unverified):
        suite.verify(statements, bbs, {**document, "issuer": "https://vc.example/other"}, proof, value, public)
    with pytest.raises(Malformed):
        decode_base(text)
