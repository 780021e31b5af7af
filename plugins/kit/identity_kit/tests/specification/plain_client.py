"""An HTTP client that is written from the specification alone and uses no code of the project.

The encodings are its own: base58btc, base64url (RFC 4648) and canonical JSON (RFC 8785) for objects with text members.
"""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
from nacl.signing import SigningKey

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
ED25519_PUBLIC = b"\xed\x01"
KEY_BYTES = 32
RETRIES = 30


def encode_base58btc(data: bytes) -> str:
    """Encode bytes; each leading zero byte becomes the digit 1."""
    number = int.from_bytes(data, "big")
    digits = ""
    while number:
        number, digit = divmod(number, 58)
        digits = ALPHABET[digit] + digits
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + digits


def decode_base58btc(text: str) -> bytes:
    """Decode the digits after the multibase prefix."""
    number = 0
    for digit in text:
        number = number * 58 + ALPHABET.index(digit)
    zeros = len(text) - len(text.lstrip("1"))
    return b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")


def encode_multikey(key: SigningKey) -> str:
    """Return the multibase text of an Ed25519 public key."""
    return "z" + encode_base58btc(ED25519_PUBLIC + bytes(key.verify_key))


def read_signing_key(secret: str) -> SigningKey:
    """Read the ``privateKey`` of a creation response: a multikey, whose last 32 bytes are the key."""
    return SigningKey(decode_base58btc(secret.removeprefix("z"))[-KEY_BYTES:])


def encode_base64url(data: bytes) -> str:
    """Encode without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def sign_challenge(did: str, key: SigningKey, challenge: str) -> str:
    """Return the credentials of DIDAuth and RecoveryKey for one challenge."""
    signature = key.sign(challenge.encode()).signature
    return base64.b64encode(f"{did}.{encode_base64url(signature)}".encode()).decode()


def canonicalize(value: dict[str, Any]) -> bytes:
    """Return the canonical JSON of an object that has ASCII names and text values only."""
    if not all(name.isascii() and isinstance(text, str) for name, text in value.items()):
        raise ValueError("canonicalize takes objects with ASCII names and text values")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sign_ibct(token: dict[str, Any], key: SigningKey) -> dict[str, Any]:
    """Return the token with its ``proofValue``."""
    unsigned = {name: value for name, value in token.items() if name != "proofValue"}
    return unsigned | {"proofValue": encode_base58btc(key.sign(canonicalize(unsigned)).signature)}


@dataclass
class Controller:
    """A DID, the response that created it, and its current keys."""

    did: str
    created: dict[str, Any]
    key: SigningKey
    recovery_key: SigningKey | None = None


@dataclass
class PlainClient:
    """Calls to one service. ``base_url`` ends in ``/api/v1``; the challenge endpoint is outside of it."""

    base_url: str
    api_key: str
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=120))

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Send one request; an underscore in a header name stands for a hyphen."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.request(method, self.base_url + path, json=body, headers=named)

    def request_as_operator(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send one request with the API key and return its JSON. Raises ``RuntimeError``: when the service refuses it."""
        response = self.request(method, path, body, X_API_Key=self.api_key)
        if not response.is_success:
            raise RuntimeError(f"{method} {path}: {response.status_code} {response.text}")
        content: dict[str, Any] = response.json()
        return content

    def get_challenge(self, did: str) -> httpx.Response:
        """Get a challenge without any authentication. A 429 is repeated after the time that it states."""
        address = self.base_url.removesuffix("/api/v1") + "/auth/challenge"
        for _ in range(RETRIES):
            response = self.http.get(address, params={"did": did})
            if response.status_code != 429:
                return response
            time.sleep(float(response.headers["Retry-After"]))
        raise RuntimeError("the rate limit of challenges does not end")

    def authorize(self, did: str, key: SigningKey, scheme: str = "DIDAuth") -> str:
        """Return an ``Authorization`` header that signs a new challenge."""
        response = self.get_challenge(did)
        if not response.is_success:
            raise RuntimeError(f"no challenge: {response.status_code} {response.text}")
        return f"{scheme} {sign_challenge(did, key, response.json()['challenge'])}"

    def create_did(self, body: dict[str, Any]) -> Controller:
        """Create a DID and read its keys."""
        created = self.request_as_operator("POST", "/dids", body)
        keys = created["keys"]
        recovery = keys.get("recovery")
        return Controller(
            created["did"],
            created,
            read_signing_key(keys["authentication"]["privateKey"]),
            read_signing_key(recovery["privateKey"]) if recovery else None,
        )

    def send_signed(self, method: str, path: str, body: Any, controller: Controller) -> httpx.Response:
        """Send one request on a DID with DID Auth by its authentication key."""
        header = self.authorize(controller.did, controller.key)
        return self.request(method, did_path(controller.did, path), body, Authorization=header)


def did_path(did: str, path: str = "") -> str:
    """Return the path of a DID, percent-encoded, followed by ``path``."""
    return f"/dids/{quote(did, safe=':')}{path}"
