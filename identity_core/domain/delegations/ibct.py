"""The holder's own signature under a delegation: ``eddsa-jcs-2022`` (VC Data Integrity EdDSA 1.0 §3.3), purpose
``capabilityDelegation``.

A proof does not need it, because the holder signs every IBCT (``identity_client.capability``). It shows an auditor that the holder
wanted the record as it is. The signed document is the request that made the record, without ``holderProof`` itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from identity_client.data_integrity import CRYPTOSUITE, PROOF_TYPE, check_proof_options, proof_input
from identity_codec import ed25519, multibase
from identity_codec.strict_json import JsonValue
from identity_core.domain.dids import keys
from identity_core.domain.dids.document import DidDocument
from identity_core.errors import DelegationInvalid, InvalidDocument


def check_holder_proof(
    proof: Mapping[str, JsonValue], request: Mapping[str, JsonValue], document: DidDocument, now: datetime
) -> None:
    """Raises ``DelegationInvalid`` unless a key that the holder's ``document`` allows to delegate has signed ``request``."""
    if (proof.get("type"), proof.get("cryptosuite"), proof.get("proofPurpose")) != (
        PROOF_TYPE,
        CRYPTOSUITE,
        keys.CAPABILITY_DELEGATION,
    ):
        reason = "its type, cryptosuite or purpose is another"
        raise DelegationInvalid(details={"member": "holderProof", "reason": reason})
    try:
        check_proof_options(proof, now)
        check_holder_signature(proof, request, document, now)
    except (LookupError, ValueError) as error:
        raise DelegationInvalid(details={"member": "holderProof", "reason": str(error)}) from error


def check_holder_signature(
    proof: Mapping[str, JsonValue], signed: Mapping[str, JsonValue], document: DidDocument, now: datetime
) -> str:
    """Return the multikey of the holder's ``document`` that made the ``proof`` of ``signed`` (``eddsa-jcs-2022``).

    Raises ``LookupError``: the document names no such key for the proof's purpose. Raises ``ValueError``: the signature is wrong.
    """
    method = document.method(str(proof.get("verificationMethod")))
    if (
        method is None
        or method.type != keys.ED25519.name
        or method.id not in document.related(str(proof.get("proofPurpose")))
        or (method.revoked is not None and method.revoked <= now)
    ):
        raise LookupError(f"the holder's document names no such key for {proof.get('proofPurpose')}")
    config = {name: value for name, value in proof.items() if name != "proofValue"}
    try:
        signature = multibase.base58btc_decode(str(proof.get("proofValue")))
        ed25519.verify(keys.PublicKey.parse(method.type, method.multibase).raw, proof_input(config, signed), signature)
    except (ValueError, InvalidDocument, ed25519.Ed25519SignatureInvalid) as error:
        raise ValueError("the holder's signature is wrong") from error
    return method.multibase
