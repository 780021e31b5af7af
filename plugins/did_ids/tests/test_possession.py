"""Proofs of possession: the bytes that are signed, and that nothing else passes for one."""

from __future__ import annotations

import pytest
from identity_did_ids import evidence
from identity_kit.conformance.controller import Controller

from identity_bbs import core, interface
from identity_bbs.bls12381 import keys as bls
from identity_bbs.bls12381 import select
from identity_bbs.suite import ciphersuite
from identity_client import possession
from identity_codec import multikey
from identity_core.domain.dids.changes import Create
from identity_core.domain.dids.document import DidDocument, VerificationMethod
from identity_core.domain.dids.keys import Key
from identity_core.errors import InvalidDocument

DID = "did:ids:QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG"
SECRET = bls.generate_secret(bytes(range(32)))
KEY = multikey.encode_public(multikey.BLS12381G2, bls.public_key(SECRET))
SIGNED = (f'IDENTITY-SERVICE-BBS-POP-V1:{{"did":"{DID}","id":"{DID}#{KEY}","publicKeyMultibase":"{KEY}"}}').encode()


def document(*multibases: str, did: str = DID) -> DidDocument:
    """Only the keys count."""
    kind = multikey.BLS12381G2
    return DidDocument(did, tuple(VerificationMethod(f"{did}#{one}", kind, one) for one in multibases), ())


def signed(header: bytes, *messages: bytes) -> bytes:
    return interface.sign(ciphersuite(select()), SECRET, bls.public_key(SECRET), header, messages)


def test_signed_bytes_are_exact() -> None:
    proof = possession.prove_possession(DID, KEY, SECRET)
    assert len(proof) == 80
    assert proof == signed(SIGNED)
    interface.verify(ciphersuite(select()), bls.public_key(SECRET), proof, SIGNED, ())


def test_it_is_asked_of_new_keys_only() -> None:
    assert evidence.require_possession(DID, document(KEY), document(KEY), {}) == {}
    assert evidence.require_possession(DID, document(KEY), document(), {}) == {}
    with pytest.raises(InvalidDocument, match="proofOfPossession"):
        evidence.require_possession(DID, document(), document(KEY), {})


def test_a_key_that_was_made_here_proves_itself_to_the_did() -> None:
    key = Key(multikey.BLS12381G2, KEY, secret=multikey.encode_secret(multikey.BLS12381G2, SECRET))
    made = evidence.require_possession(DID, None, document(KEY), {KEY: key})
    assert made == {KEY: signed(SIGNED)}


def test_a_key_whose_secret_is_another_proves_nothing() -> None:
    other = multikey.encode_secret(multikey.BLS12381G2, bls.generate_secret(b"\xaa" * 32))
    with pytest.raises(InvalidDocument, match="not one of this key for this DID"):
        evidence.require_possession(DID, None, document(KEY), {KEY: Key(multikey.BLS12381G2, KEY, secret=other)})


def test_a_proof_that_is_made_wrong_leaves_no_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    right = core.core_sign
    # A signature of something else, as after a fault while it was made.
    monkeypatch.setattr(core, "core_sign", lambda *given: right(*given[:3], given[3] + b"!", given[4]))
    key = Key(multikey.BLS12381G2, KEY, secret=multikey.encode_secret(multikey.BLS12381G2, SECRET))
    with pytest.raises(InvalidDocument, match="not one of this key for this DID"):
        evidence.require_possession(DID, None, document(KEY), {KEY: key})


OTHER_DID = DID[:-1] + "H"
NOT_PROOFS = {
    "of another DID": signed(SIGNED.replace(DID.encode(), OTHER_DID.encode())),
    "of another id": signed(SIGNED.replace(f"{DID}#".encode(), f"{OTHER_DID}#".encode(), 1)),
    "of the DID alone": signed(f'IDENTITY-SERVICE-BBS-POP-V1:{{"did":"{DID}"}}'.encode()),
    "of another tag": signed(SIGNED.replace(b"V1", b"V2")),
    "of a credential's tag": signed(SIGNED.replace(b"BBS-POP", b"CREDENTIAL")),
    "with a message": signed(SIGNED, b""),
    "cut": signed(SIGNED)[:79],
    "longer": signed(SIGNED) + b"\0",
    "zeros": bytes(80),
    "nothing": b"",
    "infinity": b"\xc0" + bytes(79),
    "e turned": signed(SIGNED)[:48] + bytes(31) + b"\x01",
}


@pytest.mark.parametrize("proof", NOT_PROOFS.values(), ids=NOT_PROOFS)
def test_malformed_proof_is_refused(proof: bytes) -> None:
    with pytest.raises(InvalidDocument, match="not one of this key for this DID"):
        evidence.require_possession(DID, None, document(KEY), {KEY: proof})


def test_every_flipped_octet_is_noticed() -> None:
    good = signed(SIGNED)
    for place in range(80):
        bad = good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :]
        with pytest.raises(InvalidDocument):
            evidence.require_possession(DID, None, document(KEY), {KEY: bad})


def test_a_refused_bbs_key_carries_a_remedy_and_a_doc_url() -> None:
    """The documented members alone are not enough; the answer states what to sign, and where that is described."""
    for offered in ({}, {KEY: bytes(80)}):
        with pytest.raises(InvalidDocument) as refused:
            evidence.require_possession(DID, document(), document(KEY), offered)
        details = refused.value.details
        assert details["publicKeyMultibase"] == KEY
        assert "proofOfPossession" in str(details["remedy"])
        assert details["docUrl"] == "/openapi.json#/components/schemas/ProofOfPossession"


def test_the_proof_of_another_key_is_none() -> None:
    other = bls.generate_secret(b"\xaa" * 32)
    with pytest.raises(InvalidDocument):
        evidence.require_possession(DID, None, document(KEY), {KEY: possession.prove_possession(DID, KEY, other)})


def test_a_proof_belongs_to_a_key_that_is_there() -> None:
    good = signed(SIGNED)
    for before, after in ((None, document()), (document(KEY), document(KEY))):
        with pytest.raises(InvalidDocument, match="leave it out"):
            evidence.require_possession(DID, before, after, {KEY: good})


def test_keys_that_are_not_bbs_keys_make_none() -> None:
    hana = Controller("hana")
    assert evidence.possessions(Create((hana.new_key(),), ())) == {}
    assert evidence.possessions(Create((key := hana.new_key("Bls12381G2Key2020"),), ())) == {key.public: key}
    assert "secret" not in repr(Controller("hana").new_key("Bls12381G2Key2020"))
