"""DID documents as others publish them, in forms that DID Core allows and in forms that it does not.

``DID`` stands for the DID, which ``of`` writes in its place. Sources of the forms: the examples of DID Core 1.0, CID 1.0, did:web,
the 2018 to 2020 suites, did:pkh, DIDComm 2.1 and LinkedDomains. The keys are those of the examples, or short texts.
"""

from __future__ import annotations

import json
from typing import Any, Final

CONTEXT: Final = "https://www.w3.org/ns/did/v1"
ED25519: Final = "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
X25519: Final = "z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc"
P256: Final = {
    "kty": "EC",
    "crv": "P-256",
    "x": "acbIQiuMs3i8_uszEjJ2tpTtRM4EU3yz91PH6CdH2V0",
    "y": "_KcyLj9vWMptnmKtm46GqDz8wf74I5LKgrl2GzH3nSE",
}
SECP256K1: Final = {
    "kty": "EC",
    "crv": "secp256k1",
    "x": "Z4Y3NNOxv0J6tCgqOBFnHnaZhJF6LdulT7z8A-2D5_8",
    "y": "i5a2NtJoUKXkLm6q8nOEu9WOkso1Ag6FTUT6k_LMnGk",
}


def method(kind: str = "JsonWebKey2020", **key: Any) -> dict[str, Any]:
    """Return a verification method; where no key is given it has one on P-256."""
    return {"id": "DID#key-1", "type": kind, "controller": "DID", **(key or {"publicKeyJwk": P256})}


def service(endpoint: Any, kind: Any = "LinkedDomains") -> dict[str, Any]:
    """Return a service with ``endpoint``."""
    return {"id": "DID#files", "type": kind, "serviceEndpoint": endpoint}


ALLOWED: Final[dict[str, dict[str, Any]]] = {
    "a list of contexts": {"@context": [CONTEXT], "verificationMethod": [method()]},
    "one context as a text": {"@context": CONTEXT, "verificationMethod": [method()]},
    "no context": {"verificationMethod": [method()]},
    "a context with a map": {"@context": [CONTEXT, {"@base": "DID"}], "verificationMethod": [method()]},
    "only an id": {},
    "a list of controllers": {"@context": CONTEXT, "controller": ["did:web:a.example", "did:web:b.example"]},
    "another controller": {"@context": CONTEXT, "controller": "did:web:parent.example"},
    "a method in a relationship": {"@context": CONTEXT, "authentication": [method()]},
    "a method beside a reference": {
        "@context": CONTEXT,
        "verificationMethod": [method()],
        "keyAgreement": ["DID#key-1", method("Multikey", publicKeyMultibase=X25519) | {"id": "DID#key-2"}],
    },
    "relative references": {
        "@context": CONTEXT,
        "verificationMethod": [method() | {"id": "#key-1"}],
        "assertionMethod": ["#key-1"],
    },
    "a key on secp256k1": {
        "@context": CONTEXT,
        "verificationMethod": [method("EcdsaSecp256k1VerificationKey2019", publicKeyJwk=SECP256K1)],
    },
    "a key on P-384": {
        "@context": CONTEXT,
        "verificationMethod": [method(publicKeyJwk={"kty": "EC", "crv": "P-384", "x": "AQ", "y": "Ag"})],
    },
    "an RSA key": {
        "@context": CONTEXT,
        "verificationMethod": [method("RsaVerificationKey2018", publicKeyJwk={"kty": "RSA", "n": "AQAB", "e": "AQAB"})],
    },
    "a key of a post-quantum kind": {
        "@context": CONTEXT,
        "verificationMethod": [method("JsonWebKey", publicKeyJwk={"kty": "AKP", "alg": "ML-DSA-44", "pub": "AQAB"})],
    },
    "a JWK as WebCrypto exports it": {
        "@context": CONTEXT,
        "verificationMethod": [method(publicKeyJwk={**P256, "ext": True, "key_ops": ["verify"]})],
    },
    "a key in base58": {
        "@context": [CONTEXT, "https://w3id.org/security/suites/ed25519-2018/v1"],
        "verificationMethod": [
            method("Ed25519VerificationKey2018", publicKeyBase58="H3C2AVvLMv6gmMNam3uVAjZpfkcJCwDwnZn6z3wXmqPV")
        ],
    },
    "a key in PEM": {
        "@context": CONTEXT,
        "verificationMethod": [method("RsaVerificationKey2018", publicKeyPem="-----")],
    },
    "an account of a chain": {
        "@context": CONTEXT,
        "verificationMethod": [
            method(
                "EcdsaSecp256k1RecoveryMethod2020",
                blockchainAccountId="eip155:1:0xab16a96d359ec26a11e2c2b3d8f8b8942d5bfcdb",
            )
        ],
    },
    "a multikey of another kind": {
        "@context": CONTEXT,
        "verificationMethod": [
            method("Multikey", publicKeyMultibase="zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme")
        ],
    },
    "a multikey in base64url": {
        "@context": CONTEXT,
        "verificationMethod": [method("Multikey", publicKeyMultibase="u7QEAAQID")],
    },
    "a key of another controller": {
        "@context": CONTEXT,
        "verificationMethod": [method() | {"controller": "did:web:parent.example", "expires": "2027-01-01T00:00:00Z"}],
    },
    "a key that was revoked": {
        "@context": CONTEXT,
        "verificationMethod": [method("Multikey", publicKeyMultibase=ED25519, revoked="2020-01-01T00:00:00+01:00")],
    },
    "an endpoint as a map": {
        "@context": CONTEXT,
        "service": [
            service({"uri": "https://a.example", "accept": ["didcomm/v2"], "routingKeys": []}, "DIDCommMessaging")
        ],
    },
    "a list of endpoints": {
        "@context": CONTEXT,
        "service": [service(["https://a.example", {"origins": ["https://b.example"]}])],
    },
    "a list of types": {"@context": CONTEXT, "service": [service("https://a.example", ["LinkedDomains", "Files"])]},
    "a service of a URI of its own": {
        "@context": CONTEXT,
        "service": [{"id": "https://a.example/files", "type": "Files", "serviceEndpoint": "did:web:b.example#inbox"}],
    },
    "members that are not understood": {
        "@context": [CONTEXT, "https://a.example/terms"],
        "proof": {"type": "DataIntegrityProof"},
        "deep": [None, 1.5, {"x": []}],
        "verificationMethod": [method() | {"more": {"any": 1}}],
    },
    "empty lists": {"@context": [CONTEXT], "verificationMethod": [], "authentication": [], "service": []},
}

REFUSED: Final[dict[str, dict[str, Any]]] = {
    "a private key": {"verificationMethod": [method(publicKeyJwk={**P256, "d": P256["x"]})]},
    "a private key in a relationship": {"authentication": [method(publicKeyJwk={**SECP256K1, "d": "AQ"})]},
    "a private RSA key": {"verificationMethod": [method(publicKeyJwk={"kty": "RSA", "n": "AQ", "e": "AQ", "p": "AQ"})]},
    "a private key of a post-quantum kind": {
        "verificationMethod": [method(publicKeyJwk={"kty": "AKP", "alg": "ML-DSA-44", "pub": "AQ", "priv": "AQ"})]
    },
    "a key in two forms": {"verificationMethod": [method(publicKeyJwk=P256, publicKeyMultibase=ED25519)]},
    "a JWK without its family": {"verificationMethod": [method(publicKeyJwk={"crv": "P-256"})]},
    "a JWK that is a text": {"verificationMethod": [method(publicKeyJwk="{}")]},
    "a multikey that is a list": {"verificationMethod": [method(publicKeyMultibase=[ED25519])]},
    "a method without a controller": {"verificationMethod": [{"id": "#a", "type": "Multikey"}]},
    "a method without a type in a relationship": {"keyAgreement": [{"id": "#a", "controller": "DID"}]},
    "methods that are not a list": {"verificationMethod": {}},
    "a method that is a text": {"verificationMethod": ["#a"]},
    "a relationship that is a text": {"authentication": "DID#key-1"},
    "a number in a relationship": {"authentication": [1]},
    "a context that is null": {"@context": None},
    "a number among contexts": {"@context": [CONTEXT, 1]},
    "a controller that is a map": {"controller": {"id": "did:web:a.example"}},
    "a number for a name": {"alsoKnownAs": [1]},
    "one name as a text": {"alsoKnownAs": "https://a.example"},
    "a number for an end": {"verificationMethod": [method(publicKeyMultibase=ED25519, revoked=1)]},
    "a service without an endpoint": {"service": [{"id": "#a", "type": "A"}]},
    "a service without an id": {"service": [{"type": "A", "serviceEndpoint": "https://a.example"}]},
    "a number for an endpoint": {"service": [service(7)]},
    "a list of lists of endpoints": {"service": [service([["https://a.example"]])]},
    "a service that is a text": {"service": ["https://a.example"]},
}


def document_of(did: str, members: dict[str, Any]) -> dict[str, Any]:
    """Return the document of ``did`` with ``members``."""
    text = json.dumps({"id": "DID", **members})
    document: dict[str, Any] = json.loads(text.replace('"DID', f'"{did}'))
    return document


def named(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the methods and services of a document by fragment, for those that have one."""
    values = [value for value in document.values() if isinstance(value, list)]
    parts = [one for value in values for one in value if isinstance(one, dict) and "#" in str(one.get("id"))]
    return {one["id"].partition("#")[2]: one for one in parts}
