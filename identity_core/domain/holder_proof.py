"""The holder's own signature under a delegation: ``eddsa-jcs-2022`` (VC Data Integrity EdDSA 1.0 §3.3), purpose
``capabilityDelegation``.

Nobody needs it for a proof, because the holder signs every IBCT; it shows an auditor that the holder wanted the record as it is.
The signed document is the request that made the record, without ``holderProof`` itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from identity_core.codec import jcs, multibase
from identity_core.crypto import ed25519
from identity_core.domain import keys, times
from identity_core.domain.document import DidDocument, VerificationMethod
from identity_core.errors import DelegationInvalid, InvalidDocument, JsonValue

PROOF_TYPE: Final = "DataIntegrityProof"
CRYPTOSUITE: Final = "eddsa-jcs-2022"


def signing_input(config: Mapping[str, JsonValue], request: Mapping[str, JsonValue]) -> bytes:
    """The 64 octets that are signed: the hash of the proof without its value, and that of the request. Raises ``ValueError``."""
    return b"".join(hashlib.sha256(jcs.canonicalize(dict(part))).digest() for part in (config, request))


def check_holder_proof(
    proof: Mapping[str, JsonValue], request: Mapping[str, JsonValue], document: DidDocument, now: datetime
) -> None:
    """Raises ``DelegationInvalid`` unless a key that the holder's ``document`` allows to delegate has signed ``request``."""
    if (proof.get("type"), proof.get("cryptosuite"), proof.get("proofPurpose")) != (
        PROOF_TYPE,
        CRYPTOSUITE,
        keys.CAPABILITY_DELEGATION,
    ):
        raise _refused("its type, cryptosuite or purpose is another")
    method = _method(str(proof.get("verificationMethod")), document, now)
    config = {name: value for name, value in proof.items() if name != "proofValue"}
    try:
        times.parse(str(proof.get("created")))
        signature = multibase.base58btc_decode(str(proof.get("proofValue")))
        raw = keys.PublicKey.parse(method.type, method.multibase).raw
        ed25519.verify(raw, signing_input(config, request), signature)
    except (ValueError, InvalidDocument, ed25519.Ed25519SignatureInvalid) as error:
        raise _refused("its signature or its time is wrong") from error


def _method(name: str, document: DidDocument, now: datetime) -> VerificationMethod:
    method = document.method(name)
    if (
        method is None
        or method.type != keys.ED25519.name
        or name not in document.related(keys.CAPABILITY_DELEGATION)
        or (method.revoked is not None and method.revoked <= now)
    ):
        raise _refused("the holder's document names no such key for capabilityDelegation")
    return method


def _refused(reason: str) -> DelegationInvalid:
    return DelegationInvalid(details={"member": "holderProof", "reason": reason})
