"""The service by plain HTTP: requests, signatures and tokens, with the standard library and PyNaCl alone.

Copy this file into a program of yours, or use the Python client instead.
"""

from __future__ import annotations

import base64
import json
import secrets
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from nacl.signing import SigningKey

DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

Json = dict[str, Any]


class Refused(Exception):
    """An answer that is not 2xx. ``code`` is the stable code of the error, ``details`` has a remedy where one is known."""

    def __init__(self, status: int, error: Json) -> None:
        super().__init__(f"{status} {error['code']}: {error['message']} {error['details'].get('remedy', '')}".rstrip())
        self.status, self.code, self.details = status, error["code"], error["details"]


@dataclass(frozen=True)
class Service:
    """A service at ``url``. An empty API key calls what needs none."""

    url: str
    api_key: str

    def call(self, method: str, path: str, body: Json | None = None, authorization: str | None = None) -> Json:
        """Return the answer of an operation below ``/api/v1``. Raises ``Refused``."""
        headers = {"Content-Type": "application/json"}
        if authorization:
            headers["Authorization"] = authorization
        elif self.api_key:
            headers["X-API-Key"] = self.api_key
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/v1{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                found: Json = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            raise Refused(error.code, json.load(error)["error"]) from error

    def create_did(self) -> Party:
        """Create a DID and keep its private key."""
        created = self.call("POST", "/dids", {"method": "ids", "keyType": "Ed25519"})
        return Party(created["did"], created["keys"]["authentication"]["privateKey"])

    def create_issuer(self) -> str:
        """Create a DID whose keys for credentials the service keeps, and return it."""
        key = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
        options = {"storeSecrets": True, "additionalKeys": [key]}
        did: str = self.call("POST", "/dids", {"method": "ids", "keyType": "Ed25519", "options": options})["did"]
        return did

    def sign_in(self, party: Party) -> str:
        """Return the ``Authorization`` of one request that the DID of ``party`` signs."""
        challenge = self.call("GET", f"/auth/challenge?did={party.did}")["challenge"]
        signature = base64.urlsafe_b64encode(party.sign(challenge.encode())).decode().rstrip("=")
        return "DIDAuth " + base64.b64encode(f"{party.did}.{signature}".encode()).decode()


@dataclass(frozen=True)
class Party:
    """A DID and its private key as multibase. The key stays in this program."""

    did: str
    private_key: str

    def sign(self, message: bytes) -> bytes:
        """Return the Ed25519 signature, 64 bytes."""
        return SigningKey(decode(self.private_key[1:])[-32:]).sign(message).signature

    def sign_token(self, agent_did: str, action: str, delegation_id: str) -> Json:
        """Return an invocation-bound token (IBCT) that is valid once, within 15 minutes, for ``agent_did``."""
        now = datetime.now(UTC).replace(microsecond=0)
        token = {
            "id": f"urn:uuid:{uuid.uuid4()}",
            "type": "InvocationBoundCapabilityToken",
            "invoker": self.did,
            "target": agent_did,
            "action": action,
            "delegationRef": delegation_id,
            "nonce": secrets.token_urlsafe(24),
            "issuedAt": now.isoformat(),
            "expiresAt": (now + timedelta(minutes=15)).isoformat(),
        }
        # All members are texts, so sorted members without spaces are canonical JSON (RFC 8785).
        canonical = json.dumps(token, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return token | {"proofValue": encode(self.sign(canonical.encode()))}


def decode(text: str) -> bytes:
    """Return the bytes of base58btc without its prefix."""
    number = 0
    for digit in text:
        number = number * 58 + DIGITS.index(digit)
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def encode(data: bytes) -> str:
    """Return ``data`` as base58btc without a prefix."""
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = DIGITS[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text
