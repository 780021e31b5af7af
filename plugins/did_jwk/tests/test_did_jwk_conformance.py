from __future__ import annotations

import base64
import json

import pytest
from identity_did_jwk import DidJwk
from identity_kit.conformance.expanding import ExpandingDidMethodConformance

ED25519 = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
# RFC 7517 appendix A.1.
P256 = {
    "kty": "EC",
    "crv": "P-256",
    "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
    "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
}
X25519 = {"kty": "OKP", "crv": "X25519", "use": "enc", "x": "3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08"}


def build_did(key: object) -> str:
    data = key if isinstance(key, bytes) else json.dumps(key, separators=(",", ":")).encode()
    return "did:jwk:" + base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class TestDidJwk(ExpandingDidMethodConformance):
    @pytest.fixture
    def method(self) -> DidJwk:
        return DidJwk()

    @pytest.fixture
    def dids(self) -> list[str]:
        return [build_did(ED25519), build_did(P256), build_did(X25519)]

    @pytest.fixture
    def malformed(self) -> list[str]:
        return [
            "did:jwk:x",
            "did:jwk:e30",
            build_did([]),
            build_did({"kty": "oct", "k": "AAAA"}),
            build_did(b"{"),
            build_did(ED25519) + "A",
        ]
