"""HTTP client that is written from the specification alone. It imports no code of this project.

``Service`` sends requests; ``Controller`` holds the keys of a DID and signs challenges and capability tokens.
"""

from __future__ import annotations

import base64
import http.client
import json
import secrets
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from nacl.public import PrivateKey
from nacl.signing import SigningKey

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
ED25519_PUBLIC, X25519_PUBLIC = b"\xed\x01", b"\xec\x01"
"""Multicodec prefixes of public keys."""
RATE_LIMIT_TRIES = 60
UNPREFIXED = ("/auth/challenge", "/openapi.json")


def to_base58(data: bytes) -> str:
    """Return base58btc (draft-msporny-base58)."""
    number, digits = int.from_bytes(data, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        digits = ALPHABET[rest] + digits
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + digits


def from_base58(text: str) -> bytes:
    """Return the bytes of base58btc."""
    number = 0
    for digit in text:
        number = number * 58 + ALPHABET.index(digit)
    return bytes(len(text) - len(text.lstrip("1"))) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def canonical(value: Any) -> bytes:
    """Return the JCS (RFC 8785) of JSON whose names and numbers are ASCII and integers, as those of an IBCT are."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def timestamp(**ahead: float) -> str:
    """Return an ISO 8601 date-time that is ``ahead`` of now."""
    return (datetime.now(UTC) + timedelta(**ahead)).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_public_key(kind: str = "Ed25519") -> str:
    """Return the multibase of a new public key whose secret is forgotten."""
    if kind == "X25519":
        return "z" + to_base58(X25519_PUBLIC + bytes(PrivateKey.generate().public_key))
    return public_multibase(SigningKey.generate())


def public_multibase(key: SigningKey) -> str:
    """Return the multibase of the public key."""
    return "z" + to_base58(ED25519_PUBLIC + bytes(key.verify_key))


def signing_key(private: str) -> SigningKey:
    """Return the key of a ``privateKey``: multibase of a two-byte multicodec prefix and 32 bytes."""
    return SigningKey(from_base58(private[1:])[2:])


@dataclass(frozen=True)
class Reply:
    """An HTTP response. ``json`` is None for a body that is not JSON."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    @property
    def outcome(self) -> tuple[int, str | None]:
        """The status and, for an error, its code."""
        error = self.json.get("error") if self.status >= 400 and isinstance(self.json, dict) else None
        return self.status, (error or {}).get("code")


@dataclass(frozen=True)
class Service:
    """A running service. ``url``: scheme, host and port; ``prefix``: the version prefix of all operations but the challenge."""

    url: str
    api_key: str
    prefix: str = "/api/v1"

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        waits: bool = True,
    ) -> Reply:
        """Send one request. ``path`` is relative to the prefix, except those of ``UNPREFIXED``; ``body`` is JSON, or bytes as they are.

        When rate limited, wait as ``Retry-After`` states and repeat, if ``waits``.
        """
        target = (path if path.startswith(UNPREFIXED) else self.prefix + path) + (
            "?" + urlencode(query, quote_via=quote) if query else ""
        )
        sent = dict(headers or {})
        octets = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        if octets is not None:
            sent.setdefault("Content-Type", "application/json")
        for _ in range(RATE_LIMIT_TRIES):
            reply = self._once(method, target, octets, sent)
            if reply.status != 429 or not waits:
                return reply
            time.sleep(float(reply.headers.get("retry-after", "1")))
        return reply

    def _once(self, method: str, target: str, octets: bytes | None, headers: Mapping[str, str]) -> Reply:
        parts = urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.netloc, timeout=60)
        try:
            connection.request(method, target, octets, dict(headers))
            answer = connection.getresponse()
            fields = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, fields, answer.read())
        finally:
            connection.close()

    @property
    def operator(self) -> dict[str, str]:
        """The header of an API key."""
        return {"X-API-Key": self.api_key}

    def new_controller(self, method: str = "ids", **options: Any) -> Controller:
        """Create a DID and return its controller."""
        body = {"method": method, "keyType": "Ed25519"} | ({"options": options} if options else {})
        reply = self.call("POST", "/dids", body, {"Authorization": f"Bearer {self.api_key}"})
        if reply.status != 201:
            raise RuntimeError(f"no DID was created: {reply.status} {reply.body!r}")
        return Controller(self, reply.json["did"], reply.json)


@dataclass(frozen=True)
class Controller:
    """The holder of the keys of a DID."""

    service: Service
    did: str
    created: Mapping[str, Any] = field(repr=False)

    @property
    def path(self) -> str:
        """The path of the DID, percent-encoded."""
        return f"/dids/{quote(self.did, safe='')}"

    def key(self, purpose: str = "authentication") -> SigningKey:
        """Return the private key that the creation returned for the purpose."""
        return signing_key(self.created["keys"][purpose]["privateKey"])

    def challenge(self) -> str:
        """Fetch a challenge."""
        reply = self.service.call("GET", "/auth/challenge", query={"did": self.did})
        if reply.status != 200:
            raise RuntimeError(f"no challenge: {reply.status} {reply.body!r}")
        return str(reply.json["challenge"])

    def signed(
        self,
        scheme: str = "DIDAuth",
        *,
        key: SigningKey | None = None,
        challenge: str | None = None,
        padded: bool = True,
    ) -> dict[str, str]:
        """Return the header with a signature over a fresh challenge: base64 of (did + "." + base64url(signature))."""
        key = key or self.key("recovery" if scheme == "RecoveryKey" else "authentication")
        signature = key.sign((challenge or self.challenge()).encode()).signature
        encoded = base64.urlsafe_b64encode(signature).decode()
        value = base64.b64encode(f"{self.did}.{encoded if padded else encoded.rstrip('=')}".encode()).decode()
        return {"Authorization": f"{scheme} {value if padded else value.rstrip('=')}"}

    def ibct(self, agent: str, delegation: str, action: str, **changes: Any) -> dict[str, Any]:
        """Return a signed capability token for ``agent``. A change of None leaves the member out; ``key`` signs instead of the holder's."""
        key = changes.pop("key", None) or self.key()
        form = changes.pop("form", "")
        token = {
            "id": f"urn:uuid:{uuid.uuid4()}",
            "type": "InvocationBoundCapabilityToken",
            "invoker": self.did,
            "target": agent,
            "action": action,
            "delegationRef": delegation,
            "nonce": secrets.token_urlsafe(18),
            "issuedAt": timestamp(seconds=-1),
            "expiresAt": timestamp(hours=1),
        } | changes
        token = {name: value for name, value in token.items() if value is not None or name not in changes}
        if "proofValue" not in changes:
            token["proofValue"] = form + to_base58(key.sign(canonical(token)).signature)
        return {name: value for name, value in token.items() if value is not None}


ATTRIBUTES: Sequence[dict[str, Any]] = (
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 150},
    {"name": "income", "type": "decimal", "scale": 2},
    {"name": "born", "type": "date"},
    {"name": "member", "type": "boolean"},
    {"name": "country", "type": "string"},
)
VALUES = {"age": 24, "income": "7.25", "born": "2000-05-17", "member": True, "country": "Wakanda"}
TYPES = ("gte", "gt", "lte", "lt", "eq", "set_member")


@dataclass(frozen=True)
class Case:
    """A holder, an agent, a credential and a delegation. The specification does not show how the last two are made."""

    service: Service
    holder: Controller
    agent: Controller
    credential: str
    delegation: str

    @classmethod
    def prepare(cls, service: Service, known: dict[str, Any], **terms: Any) -> Case:
        """Make a new credential and a new delegation; ``known`` keeps the people and the schema for the next case."""
        if not known:
            bls = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
            known["issuer"] = service.new_controller(additionalKeys=[bls], storeSecrets=True)
            known["holder"], known["agent"] = service.new_controller(), service.new_controller()
            schema = {"id": f"urn:uuid:{uuid.uuid4()}", "attributes": ATTRIBUTES}
            known["schema"] = _made(service, "/credential-schemas", schema)["id"]
        holder, agent = known["holder"], known["agent"]
        credential = {"issuerDid": known["issuer"].did, "holderDid": holder.did, "schemaId": known["schema"]}
        wanted = {
            "holderDid": holder.did,
            "agentDid": agent.did,
            "actions": [f"zkp.prove.{one['name']}.{kind}" for one in ATTRIBUTES for kind in _types(one["type"])],
            "autonomyLevel": 5,
            "expiresAt": timestamp(days=30),
        }
        return cls(
            service,
            holder,
            agent,
            _made(service, "/credentials", credential | {"attributes": VALUES})["id"],
            _made(service, "/delegations", wanted | terms)["id"],
        )

    def request(
        self, predicate: Mapping[str, Any], *, ibct: Mapping[str, Any] | None = None, **more: Any
    ) -> dict[str, Any]:
        """Return a DelegatedProofRequest; ``ibct`` changes members of the token before it is signed."""
        action = f"zkp.prove.{predicate.get('attributeName', 'age')}.{predicate.get('type', 'gte')}"
        changes = {"action": action} | dict(ibct or {})
        body = {
            "holderDid": self.holder.did,
            "agentDid": self.agent.did,
            "credentialId": self.credential,
            "predicate": dict(predicate),
            "ibct": self.holder.ibct(self.agent.did, self.delegation, **changes),
        } | more
        return {name: value for name, value in body.items() if value is not None}

    def prove(self, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Reply:
        """Send the request, under the API key where no headers are given."""
        sent = {"Authorization": f"Bearer {self.service.api_key}"} if headers is None else headers
        return self.service.call("POST", "/zkp/delegated-proofs", body, sent)


def _types(attribute: str) -> Sequence[str]:
    if attribute == "boolean":
        return ("eq",)
    return ("eq", "set_member") if attribute == "string" else TYPES


def _made(service: Service, path: str, body: Any) -> dict[str, Any]:
    reply = service.call("POST", path, body, service.operator)
    if reply.status not in (200, 201):
        raise RuntimeError(f"{path}: {reply.status} {reply.body!r}")
    made: dict[str, Any] = reply.json
    return made
