"""Key encodings, weak and confused keys, DID syntax, endpoints, edge signatures."""

from __future__ import annotations

import json

import pytest

from identity_codec import ed25519, multibase, multikey, times
from identity_core.domain.dids import did as endpoint
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.keys import PublicKey
from identity_core.errors import InvalidDid, InvalidDocument
from tests.vectors.files import vector_json

ENCODINGS = "did/key-encoding-vectors.json"
INPUTS = "did/negative-inputs.json"


def test_every_key_encodes_and_decodes() -> None:
    for known in vector_json(ENCODINGS)["vectors"]:
        public, secret = bytes.fromhex(known["publicKeyHex"]), bytes.fromhex(known["secretKeyHex"])
        assert PublicKey.parse(known["type"], known["publicKeyMultibase"]).raw == public
        assert multikey.encode_public(known["type"], public) == known["publicKeyMultibase"]
        assert multikey.encode_secret(known["type"], secret) == known["secretKeyMultibase"]
        assert multikey.decode_secret(known["secretKeyMultibase"]) == (known["type"], secret)


def test_every_codec_of_the_table() -> None:
    for name, codec in vector_json(ENCODINGS)["codecs"].items():
        kind = {"ed": multikey.ED25519, "x2": multikey.X25519, "bl": multikey.BLS12381G2}[name[:2]]
        encode = multikey.encode_secret if name.endswith("priv") else multikey.encode_public
        text = encode(kind, b"\x80" * codec["raw_len"])
        assert multibase.base58btc_decode(text)[:2].hex() == codec["prefix"]
        # The fourth character of a long prefix can be one further, by the size of the secret.
        assert (text[:3], len(text)) == (codec["starts"][:3], codec["multibase_len"])


def test_every_weak_or_confused_key_is_refused() -> None:
    rejects = vector_json(ENCODINGS)["reject"]
    assert len(rejects) == 10
    for case in rejects:
        with pytest.raises(InvalidDocument):
            PublicKey.parse(case["for_type"], case["publicKeyMultibase"])


def test_did_syntax() -> None:
    for case in vector_json(INPUTS)["did_syntax"]:
        if case["valid_w3c_did"]:
            assert str(Did.parse(case["did"])) == case["did"]
        else:
            with pytest.raises(InvalidDid):
                Did.parse(case["did"])


def test_version_times() -> None:
    for case in vector_json(INPUTS)["version_time"]:
        if case["expect"].startswith("400"):
            with pytest.raises(ValueError, match=r".+"):
                times.parse(case["v"])
        else:
            times.parse(case["v"])


def test_service_endpoints() -> None:
    for case in vector_json(INPUTS)["service_endpoint"]:
        if case["expect"].startswith("422"):
            with pytest.raises(InvalidDocument):
                endpoint.check_uri(case["v"], "serviceEndpoint")
        else:
            endpoint.check_uri(case["v"], "serviceEndpoint")


def test_the_sample_document_is_ours_but_for_a_name() -> None:
    """Its service is called ``#didcomm-1``, which a caller may choose; all else is what we would have written."""
    sample = vector_json("did/sample-document-2020-suites.json")
    document = DidDocument.parse(sample)
    assert document.to_json() == sample
    assert json.loads(document.encoded) == sample


def test_another_profile_is_not_taken_for_ours() -> None:
    with pytest.raises(InvalidDocument):
        DidDocument.parse(vector_json("did/sample-document-multikey.json"))


@pytest.mark.parametrize("number", range(12))
def test_ed25519_speccheck(number: int) -> None:
    """All twelve are refused: eleven by their signature, and the one with a key of mixed order where keys are registered. Only the
    keys of 6 and 7 are sound."""
    case = vector_json("ed25519-speccheck/cases.json")[number]
    public, message, signature = (bytes.fromhex(case[name]) for name in ("pub_key", "message", "signature"))
    if number not in (6, 7):
        with pytest.raises(ed25519.InvalidEd25519Key):
            ed25519.check_public_key(public)
        with pytest.raises(InvalidDocument):
            PublicKey.parse("Ed25519", multikey.encode_public(multikey.ED25519, public))
    if number != 3:
        with pytest.raises(ed25519.Ed25519SignatureInvalid):
            ed25519.verify(public, message, signature)
