"""What a client of any language writes and reads itself, by the standards and not by the service's own code.

Multikeys are those of CID 1.0 §2.2.2, canonical JSON is RFC 8785, times are RFC 3339, signatures of JSON VC Data Integrity EdDSA 1.0 §3.3.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import base58
import rfc8785
from nacl.public import PrivateKey
from nacl.signing import SigningKey, VerifyKey

BREAKING_FORMAT = "breaks-on-demand"
"""The securing format of the fault plugin."""
DID_AUTH, RECOVERY_KEY = "DIDAuth", "RecoveryKey"
ED25519, X25519 = "Ed25519VerificationKey2020", "X25519KeyAgreementKey2020"
SIGNATURE_OCTETS = 64
_PREFIXES = {ED25519: (b"\xed\x01", b"\x80\x26"), X25519: (b"\xec\x01", b"\x82\x26")}


@dataclass(frozen=True)
class KeyPair:
    """Both halves as multikeys."""

    type: str
    public: str
    secret: str


def new_key(type_: str = ED25519) -> KeyPair:
    """Return a new key pair of this type."""
    raw = os.urandom(32)
    public = bytes(SigningKey(raw).verify_key) if type_ == ED25519 else bytes(PrivateKey(raw).public_key)
    prefix, secret_prefix = _PREFIXES[type_]
    return KeyPair(type_, base58btc(prefix + public), base58btc(secret_prefix + raw))


def base58btc(data: bytes) -> str:
    """As multibase."""
    return "z" + base58.b58encode(data).decode()


def raw_key(multikey: str) -> bytes:
    """The bytes behind the two of the prefix."""
    return base58.b58decode(multikey[1:])[2:]


def sign(secret: str, message: bytes) -> bytes:
    """64 bytes, by a secret multikey."""
    return SigningKey(raw_key(secret)).sign(message).signature


def signed_by_specification(did: str, secret: str, challenge: str, scheme: str = DID_AUTH) -> str:
    """Return an Authorization header over the UTF-8 bytes of ``challenge``: ``base64(did.base64url(signature))``."""
    signature = base64.urlsafe_b64encode(sign(secret, challenge.encode())).rstrip(b"=")
    return f"{scheme} " + base64.b64encode(did.encode() + b"." + signature).decode()


def base64url(data: bytes) -> str:
    """Without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text: str) -> bytes:
    """Of text without padding."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def printed(time: datetime) -> str:
    """In whole seconds, UTC."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def canonical(value: Any) -> bytes:
    """The one text of a JSON value."""
    return rfc8785.dumps(value)


def data_integrity_input(config: Mapping[str, Any], document: Mapping[str, Any]) -> bytes:
    """What ``eddsa-jcs-2022`` signs: the hash of the proof without its value, and that of the document."""
    return b"".join(hashlib.sha256(canonical(dict(part))).digest() for part in (config, document))


def check_data_integrity(proof: Mapping[str, Any], document: Mapping[str, Any], public: str) -> None:
    """Raises unless the holder of the public multikey has signed the document by ``eddsa-jcs-2022``."""
    assert (proof["type"], proof["cryptosuite"]) == ("DataIntegrityProof", "eddsa-jcs-2022")
    config = {name: value for name, value in proof.items() if name != "proofValue"}
    signature = base58.b58decode(proof["proofValue"].removeprefix("z"))
    VerifyKey(raw_key(public)).verify(data_integrity_input(config, document), signature)
