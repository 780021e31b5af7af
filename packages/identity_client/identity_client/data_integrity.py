"""Data Integrity proofs ``eddsa-jcs-2022`` (VC Data Integrity EdDSA 1.0 §3.3): of log entries, status lists and approvals.

Log entries and status lists are signed by did:key verification methods. All errors are ``ValueError``, whose text quotes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from identity_codec import ed25519, jcs, multibase, multikey, times

AHEAD: Final = timedelta(minutes=5)
"""How far the clock of the signer may be ahead."""

PROOF_TYPE: Final = "DataIntegrityProof"
CRYPTOSUITE: Final = "eddsa-jcs-2022"
PROOF_PURPOSE: Final = "assertionMethod"


def proof_config(signer: str, created: str) -> dict[str, Any]:
    """Return a proof without its value. ``signer`` is an Ed25519 multikey, ``created`` an RFC 3339 time."""
    return {
        "type": PROOF_TYPE,
        "cryptosuite": CRYPTOSUITE,
        "verificationMethod": f"did:key:{signer}#{signer}",
        "created": created,
        "proofPurpose": PROOF_PURPOSE,
    }


def proof_input(config: Mapping[str, Any], document: Mapping[str, Any]) -> bytes:
    """Return the 64 bytes that are signed: hash of the configuration, hash of the document. Raises ``ValueError``."""
    return b"".join(hashlib.sha256(jcs.canonicalize(dict(part))).digest() for part in (config, document))


def check_proof_options(proof: Mapping[str, Any], now: datetime | None) -> frozenset[str]:
    """Check the options that any Data Integrity proof may have, and return its domains (VC Data Integrity 1.0, "Proofs").

    ``now`` None compares no time with the clock. Chains of proofs (``previousProof``) are refused: nothing here verifies them.
    """
    created, expires = (times.parse(proof[name]) if name in proof else None for name in ("created", "expires"))
    if created is not None and (
        (now is not None and created > now + AHEAD) or (expires is not None and expires <= created)
    ):
        raise ValueError("it was created in the future, or after its end")
    if expires is not None and now is not None and expires <= now:
        raise ValueError("it has expired")
    if "previousProof" in proof or not all(type(proof.get(name, "")) is str for name in ("id", "challenge", "nonce")):
        raise ValueError("it names a proof before it, or an option is not text")
    domain = proof.get("domain", [])
    return frozenset(map(_text, domain if type(domain) is list else [domain]))


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError("an option is not text")
    return value


def check_proof(
    proof: Mapping[str, Any], document: Mapping[str, Any], signers: Collection[str], now: datetime | None = None
) -> str:
    """Return the multikey, one of ``signers``, that made ``proof`` of ``document``. ``now`` None compares its times with no clock."""
    if (
        proof.get("type") != PROOF_TYPE
        or proof.get("cryptosuite") != CRYPTOSUITE
        or proof.get("proofPurpose") != PROOF_PURPOSE
    ):
        raise ValueError("The proof is of another type, cryptosuite or purpose.")
    signer = signer_of_proof(proof)
    if signer not in signers:
        raise ValueError("The proof is by a key that may not sign this entry.")
    config = {name: proof[name] for name in proof if name != "proofValue"}
    try:
        check_proof_options(proof, now)
        signature = multibase.base58btc_decode(_text(proof.get("proofValue")))
    except ValueError as error:
        raise ValueError("The signature of the proof, or one of its options, is wrong.") from error
    check_signature(signer, proof_input(config, document), signature)
    return signer


def check_signature(signer: str, signing_input: bytes, signature: bytes) -> None:
    """Raise ``ValueError`` unless ``signature`` is one of ``signing_input`` by the multikey ``signer``."""
    try:
        ed25519.verify(ed25519_key_of(signer), signing_input, signature)
    except (ValueError, ed25519.Ed25519SignatureInvalid) as error:
        raise ValueError("The signature of the proof is wrong.") from error


# A log is signed by few keys, and each point is checked once.
@lru_cache(maxsize=1024)
def ed25519_key_of(multikey_text: str) -> bytes:
    """Return the 32 bytes of an Ed25519 multikey. Raises ``ValueError`` for any other one, and for a key that is not safe."""
    kind, raw = multikey.decode_public(multikey_text)
    if kind != multikey.ED25519:
        raise ValueError("the key is not an Ed25519 key")
    ed25519.check_public_key(raw)
    return raw


def signer_of_proof(proof: Mapping[str, Any]) -> str:
    """Return the multikey of the did:key DID URL that a proof names, without checking the proof. Body and fragment must be equal: some
    readers use one, some the other."""
    method = proof.get("verificationMethod")
    if type(method) is not str or not method.startswith("did:key:"):
        raise ValueError("The proof names no did:key.")
    body, separator, fragment = method.removeprefix("did:key:").partition("#")
    if not separator or body != fragment:
        raise ValueError("The proof names two keys.")
    return body
