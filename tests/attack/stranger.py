"""A stranger's own client: requests as bytes and plain JSON, with nacl and the standard library alone.

An adversary does not use our library, so nothing of it is imported here; what these tests build, anybody could.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from nacl.signing import SigningKey

PREFIX = "/api/v1"
SECONDS = 60.0
IDLE_SECONDS = 2.0
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
GENEROUS = {
    f"IDENTITY_THROTTLE_{bucket}_{size}": "1000000"
    for bucket in ("ADDRESS", "CHALLENGE", "DID", "KEY")
    for size in ("PER_SECOND", "BURST")
} | {"IDENTITY_SERVER_MAX_CONNECTIONS_PER_ADDRESS": "10000"}
# Purpose of the challenge and HTTP method and path below the DID, by what is done.
ACTS = {
    "update": ("PATCH", ""),
    "deactivate": ("DELETE", ""),
    "rotate": ("POST", "/keys/rotate"),
    "recover": ("POST", "/recover"),
}


def rounds(few: int) -> int:
    """How often a test repeats itself: ``IDENTITY_ROUNDS``, else ``few``."""
    return int(os.environ.get("IDENTITY_ROUNDS") or few)


def base58(data: bytes) -> str:
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def from_base58(text: str) -> bytes:
    number = 0
    for character in text:
        number = number * 58 + ALPHABET.index(character)
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes(len(text) - len(text.lstrip("1"))) + data


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def multikey(raw: bytes, prefix: bytes = b"\xed\x01") -> str:
    return "z" + base58(prefix + raw)


def public(key: SigningKey) -> str:
    return multikey(bytes(key.verify_key))


def signing_key(private: str) -> SigningKey:
    """The key of a ``privateKey`` that the service gave out: multibase of a two-byte prefix and the seed."""
    return SigningKey(from_base58(private[1:])[2:])


def body_hash(body: Any) -> str:
    """What a challenge binds ``body`` by. The bodies of these tests hold no numbers and only ASCII names, so that this is
    their JCS."""
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return base64url(hashlib.sha256(canonical).digest())


def header(did: str, signature: bytes, scheme: str = "DIDAuth") -> str:
    return f"{scheme} " + base64.b64encode(f"{did}.{base64url(signature)}".encode()).decode()


@dataclass(frozen=True)
class Answer:
    """One answer. ``json`` is None for a body that is invalid."""

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
    def code(self) -> str | None:
        """The code of the one error shape. Raises when an error has another shape."""
        if self.status < 400:
            return None
        error = self.json["error"]
        if set(error) != {"code", "message", "details"} or not error["details"]["requestId"]:
            raise ValueError(f"not the error shape: {error!r}")
        return str(error["code"])

    @property
    def outcome(self) -> tuple[int, str | None]:
        return self.status, self.code

    @property
    def process(self) -> str:
        """Which process of the service answered: its request ids begin with a part of their own."""
        return self.headers["x-request-id"].rpartition("-")[0]


@dataclass
class Wire:
    """A service at ``url``; a connection for each thread that calls."""

    url: str
    _local: threading.local = field(default_factory=threading.local)

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return str(parts.hostname), int(parts.port or 80)

    def call(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, *, fresh: bool = False
    ) -> Answer:
        """``body``: bytes go out as they are, anything else as JSON; None sends none. ``fresh`` takes a new connection,
        which with several workers may be another process."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = ({"Content-Type": "application/json"} if data is not None else {}) | dict(headers or {})
        if fresh:
            self.close()
        connection = self.connect()
        try:
            connection.request(method, path, data, sent)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        except BaseException:
            self.close()
            raise

    def await_processes(self, count: int) -> None:
        """Returns when each of the processes has answered: a service is ready when one of them is."""
        end, seen = time.monotonic() + SECONDS, set()
        while len(seen) < count:
            assert time.monotonic() < end, f"only {len(seen)} of {count} processes answer"
            seen.add(self.call("GET", "/health", fresh=True).process)

    def connect(self) -> http.client.HTTPConnection:
        """This thread's connection. One that has been idle may be closed at the other end and is replaced."""
        if time.monotonic() - getattr(self._local, "used", 0.0) > IDLE_SECONDS:
            self.close()
        self._local.used = time.monotonic()
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = http.client.HTTPConnection(*self.address, timeout=SECONDS)
            connection.connect()
        return connection

    def close(self) -> None:
        """Closes this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None


@dataclass
class Holder:
    """Who controls a DID: its keys, and the ways to act on it."""

    wire: Wire
    did: str
    key: SigningKey
    recovery: SigningKey | None
    created: dict[str, Any]

    @property
    def key_id(self) -> str:
        return f"{self.did}#{public(self.key)}"

    def path(self, act: str = "") -> str:
        return did_path(self.did) + (ACTS[act][1] if act else "")

    def challenge(self, purpose: str | None = None, digest: str | None = None) -> str:
        answer = self.ask(purpose, digest)
        if answer.status != 200:
            raise RuntimeError(f"no challenge: {answer.body!r}")
        text: str = answer.json["challenge"]
        return text

    def ask(self, purpose: str | None = None, digest: str | None = None) -> Answer:
        query = f"?did={quote(self.did, safe='')}"
        query += "" if purpose is None else f"&purpose={purpose}"
        query += "" if digest is None else f"&bodyHash={digest}"
        return self.wire.call("GET", f"{PREFIX}/auth/challenge{query}")

    def signed(self, act: str, body: Any, *, key: SigningKey | None = None, scheme: str | None = None) -> str:
        """The Authorization header for exactly this."""
        scheme = scheme or ("RecoveryKey" if act == "recover" else "DIDAuth")
        signer = key or (self.recovery if scheme == "RecoveryKey" else self.key)
        if signer is None:
            raise ValueError("no key")
        text = self.challenge(act, body_hash(body))
        return header(self.did, signer.sign(text.encode()).signature, scheme)

    def act(self, act: str, body: Any, authorization: str | None = None, **how: Any) -> Answer:
        """Does ``act``, signed by this holder where no header is given."""
        value = self.signed(act, body, **how) if authorization is None else authorization
        return self.send(act, body, value)

    def send(self, act: str, body: Any, authorization: str) -> Answer:
        return self.wire.call(ACTS[act][0], self.path(act), body, {"Authorization": authorization})

    def resolve(self, query: str = "") -> Answer:
        return self.wire.call("GET", self.path() + query)

    def log(self) -> bytes:
        answer = self.wire.call("GET", self.path() + "/log")
        if answer.status != 200:
            raise RuntimeError(f"no log: {answer.body!r}")
        return answer.body


def did_path(did: str) -> str:
    return f"{PREFIX}/dids/{quote(did, safe='')}"


@dataclass
class Stranger:
    """A client with an API key."""

    wire: Wire
    api_key: str

    def create(self, body: Any) -> Answer:
        return self.wire.call("POST", f"{PREFIX}/dids", body, {"X-API-Key": self.api_key})

    def holder(self, **options: Any) -> Holder:
        """A new DID with a recovery key, and with whatever else ``options`` asks for. Tests that sign challenges which are not bound to
        their change ask for ``strictEvidence=False``, else they would be refused for that alone."""
        method = options.pop("method", "ids")
        body = {"method": method, "keyType": "Ed25519", "options": {"recoveryKey": True} | options}
        answer = self.create(body)
        if answer.status != 201:
            raise RuntimeError(f"no DID: {answer.body!r}")
        created = answer.json
        keys = created["keys"]
        recovery = keys.get("recovery")
        return Holder(
            self.wire,
            created["did"],
            signing_key(keys["authentication"]["privateKey"]),
            None if recovery is None else signing_key(recovery["privateKey"]),
            created,
        )


def at_once(wire: Wire, calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """What the calls return, or the exceptions that they raise. Each has a thread and an open connection of its own, and
    all start together at a barrier. A call that makes several requests may take as long as several."""
    barrier = threading.Barrier(len(calls))
    results: list[Any] = [None] * len(calls)

    def run(place: int) -> None:
        try:
            wire.connect()
            barrier.wait(SECONDS)
            results[place] = calls[place]()
        except Exception as error:
            results[place] = error
        finally:
            wire.close()

    threads = [threading.Thread(target=run, args=(place,), daemon=True) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5 * SECONDS)
    if any(thread.is_alive() for thread in threads):
        raise TimeoutError("a call has not ended")
    return results


# Bodies that the service takes, and that change something.


def service(name: str = "files", endpoint: str = "https://hana.example/") -> dict[str, Any]:
    one = {"id": name, "type": "LinkedDomains", "serviceEndpoint": endpoint}
    return {"operation": "addService", "service": one}


def add_key(multibase: str, *relationships: str, kind: str = "Ed25519VerificationKey2020") -> dict[str, Any]:
    method = {"type": kind, "publicKeyMultibase": multibase}
    return {
        "operation": "addVerificationMethod",
        "verificationMethod": method,
        "relationships": list(relationships or ("authentication",)),
    }


def remove_key(key_id: str) -> dict[str, Any]:
    return {"operation": "removeVerificationMethod", "keyId": key_id}


def rotation(old: str, new: str | None = None, **more: Any) -> dict[str, Any]:
    own = {} if new is None else {"newPublicKeyMultibase": new}
    return {"oldKeyId": old, "newKeyType": "Ed25519"} | own | more


def recovery_body(new: str, *, revoke: bool = True, **more: Any) -> dict[str, Any]:
    key = {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": new}
    return {"newAuthenticationKey": key, "revokeAllExistingKeys": revoke} | more


LEAVE = {"confirm": True, "reason": "the end"}


def witness_proof(version_id: str, key: SigningKey, **changes: Any) -> dict[str, Any]:
    """The approval of a witness of did:webvh: eddsa-jcs-2022 over ``{"versionId"}``. ``changes`` of its members are signed too."""
    name = public(key)
    config = {"type": "DataIntegrityProof", "cryptosuite": "eddsa-jcs-2022", "proofPurpose": "assertionMethod"}
    config |= {"verificationMethod": f"did:key:{name}#{name}", "created": "2026-11-01T00:00:00Z"} | changes
    parts = (config, {"versionId": version_id})
    data = [json.dumps(part, sort_keys=True, separators=(",", ":")).encode() for part in parts]
    signature = key.sign(b"".join(hashlib.sha256(part).digest() for part in data)).signature
    return config | {"proofValue": "z" + base58(signature)}
