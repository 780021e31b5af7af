"""Domain linkage credentials: the website of a DID, stated by both (DIF Well Known DID Configuration v1,
https://identity.foundation/.well-known/resources/did-configuration/).

A credential is a JWT (EdDSA or ES256) or has a proof of ``eddsa-jcs-2022``. All errors are ``ValueError``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from identity_client.data_integrity import (
    AHEAD,
    CRYPTOSUITE,
    PROOF_PURPOSE,
    PROOF_TYPE,
    check_proof_options,
    check_signature,
    proof_input,
)
from identity_client.issuer_key import absolute, assertion_multikey
from identity_codec import multibase, times
from identity_codec.jose import CompactJws, JoseKey, check_claims
from identity_codec.strict_json import JsonValue

PATH: Final = "/.well-known/did-configuration.json"
SERVICE: Final = "LinkedDomains"
MOST: Final = 16
"""Credentials of a website that are tried."""

_LONGEST: Final = 16_384
_TYPE: Final = "DomainLinkageCredential"
_BEGINS: Final = ("validFrom", "issuanceDate")
_ENDS: Final = ("validUntil", "expirationDate")


def is_linked(configuration: Mapping[str, JsonValue], origin: str, document: Mapping[str, Any], now: datetime) -> bool:
    """Return whether a credential of the website's ``configuration`` links ``origin`` with the DID of ``document``."""
    listed = configuration.get("linked_dids")
    for one in listed[:MOST] if isinstance(listed, list) else ():
        try:
            if isinstance(one, str):
                _check_jwt(one, origin, document, now)
            else:
                _check_proof(one, origin, document, now)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
        return True
    return False


def _check_jwt(text: str, origin: str, document: Mapping[str, Any], now: datetime) -> None:
    did, jws = document["id"], CompactJws.open(text, longest=_LONGEST)
    check_claims(jws.claims, now, audience=None, required=("iss", "sub", "exp", "vc"))
    if jws.claims["iss"] != did or jws.claims["sub"] != did:
        raise ValueError("iss and sub are not the DID")
    _check_subject(jws.claims["vc"], origin, did, now)
    key_id = absolute(did, jws.header["kid"])
    JoseKey.of_multikey(assertion_multikey(document, str(key_id), now)).verify(jws)


def _check_proof(credential: Any, origin: str, document: Mapping[str, Any], now: datetime) -> None:
    did, proof = document["id"], credential["proof"]
    expected = {"type": PROOF_TYPE, "cryptosuite": CRYPTOSUITE, "proofPurpose": PROOF_PURPOSE}
    if credential["issuer"] != did or any(proof[name] != value for name, value in expected.items()):
        raise ValueError("the issuer is not the DID, or the proof is of another kind")
    if not {*_ENDS} & {*credential}:
        raise ValueError("it has no end")
    _check_subject(credential, origin, did, now)
    check_proof_options(proof, now)
    config = {name: value for name, value in proof.items() if name != "proofValue"}
    unsigned = {name: value for name, value in credential.items() if name != "proof"}
    key = assertion_multikey(document, proof["verificationMethod"], now)
    check_signature(key, proof_input(config, unsigned), multibase.base58btc_decode(proof["proofValue"]))


def _check_subject(credential: Mapping[str, Any], origin: str, did: str, now: datetime) -> None:
    subject, types = credential["credentialSubject"], credential["type"]
    begins, ends = ([times.parse(credential[one]) for one in named if one in credential] for named in (_BEGINS, _ENDS))
    if any(one > now + AHEAD for one in begins) or any(one <= now for one in ends):
        raise ValueError("it has expired, or is not valid yet")
    if (
        _TYPE not in ([types] if isinstance(types, str) else types)
        or subject["id"] != did
        or subject["origin"] != origin
    ):
        raise ValueError("it is not a credential about this website and this DID")
