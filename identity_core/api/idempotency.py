"""``Idempotency-Key``: a request that is sent twice is done once (draft-ietf-httpapi-idempotency-key-header-07).

openapi/DECISIONS.md §1.6 decides what the draft leaves open. A key belongs to its caller, operation and path; under DIDAuth the
caller is the DID, and the retry is authenticated anew. The same key with another body is 422, one whose first request is still
running 409. Only success is kept, for 24 hours: what was refused changed nothing and may be tried again.

An answer may hold private keys. It is sealed under a key that is made of the Idempotency-Key, the caller and a secret of
the service; of the Idempotency-Key only a keyed hash is stored. So the table alone opens nothing.

Left out: requests without an ``Idempotency-Key``, which the dispatch does not send here, and callers without a name,
whose keys anybody could guess: for them the request just runs.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import Any

from identity_core.api.request import Answer, Request
from identity_core.codec import jcs
from identity_core.codec.structs import encode
from identity_core.crypto import sealing
from identity_core.errors import (
    IdempotencyMismatch,
    IdentityError,
    InternalError,
    InvalidRequest,
    RequestInProgress,
)
from identity_core.ports.clock import Clock
from identity_core.ports.repositories import IdempotencyKeys, IdempotencyRecord, StoredAnswer
from identity_core.values import value_class

REPLAYED = ("Idempotent-Replayed", "true")
_KEY = re.compile(r"[!-~]{1,255}", re.ASCII)

log = logging.getLogger("identity")


@value_class
class _Slot:
    """One use of a key: the hash under which it is stored, what the request was, and the key of its answer's seal."""

    key_hash: str
    fingerprint: str
    sealing_key: bytes


@value_class
class Idempotency:
    """Stands around a handler. ``secret`` is at least 16 octets that all processes share and no one else knows; a new
    one forgets every stored answer. ``random`` gives octets of the operating system's random source."""

    keys: IdempotencyKeys
    clock: Clock
    secret: bytes = field(repr=False)
    random: Callable[[int], bytes]

    def __post_init__(self) -> None:
        if len(self.secret) < 16:
            raise ValueError("the secret of the stored answers has at least 16 octets")

    async def __call__(self, request: Request, run: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer of ``run``, or the one that an earlier request with this key got, marked as replayed.

        Raises ``InvalidRequest`` for a key that is not 1 to 255 visible ASCII characters, ``IdempotencyMismatch``,
        ``RequestInProgress``, and whatever ``run`` raises.
        """
        key = request.header("idempotency-key")
        if key is None or request.caller is None:
            return await run()
        if _KEY.fullmatch(key) is None:
            raise InvalidRequest("An Idempotency-Key has 1 to 255 printable ASCII characters and no blanks.")
        slot = self._slot(request, key, request.caller.identity)
        earlier = await self.keys.begin(slot.key_hash, slot.fingerprint, self.clock.now())
        if earlier is not None:
            return _replay(slot, earlier)
        # A client that goes away must not leave a request half recorded: what has begun is done and kept.
        return await asyncio.shield(self._run_and_keep(slot, run))

    def _slot(self, request: Request, key: str, caller: str) -> _Slot:
        # The decoded path, because "did:ids:x" and "did%3Aids%3Ax" are one place.
        place = _framed(caller, request.operation_id, json.dumps(dict(request.path), sort_keys=True))
        key_octets = key.encode("ascii")
        return _Slot(
            key_hash=hmac.digest(self.secret, b"identity idempotency key" + place + key_octets, hashlib.sha256).hex(),
            fingerprint=hashlib.sha256(place + _meaning(request)).hexdigest(),
            sealing_key=sealing.derive_key(key_octets, info=b"identity idempotency seal" + place, salt=self.secret),
        )

    async def _run_and_keep(self, slot: _Slot, run: Callable[[], Awaitable[Answer]]) -> Answer:
        kept = False
        try:
            answer = await run()
            if 200 <= answer.status < 300:
                await self._keep(slot, answer)
                kept = True
            return answer
        finally:
            if not kept:
                await self.keys.abandon(slot.key_hash)

    async def _keep(self, slot: _Slot, answer: Answer) -> None:
        headers = tuple((name, value) for name, value in answer.headers)
        plain = json.dumps([answer.media_type, answer.body is None]).encode() + b"\n" + _octets(answer.body)
        sealed = sealing.seal(slot.sealing_key, plain, _bound(slot, answer.status, headers), random=self.random)
        try:
            await self.keys.complete(slot.key_hash, StoredAnswer(answer.status, headers, sealed), self.clock.now())
        except IdentityError as error:
            # The work is done and durable; its answer must not be lost because a repetition could not be prevented.
            log.warning("an answer could not be kept for its Idempotency-Key: %s", error.code)


def _replay(slot: _Slot, earlier: IdempotencyRecord) -> Answer:
    if earlier.fingerprint != slot.fingerprint:
        raise IdempotencyMismatch
    stored = earlier.answer
    if stored is None:
        raise RequestInProgress(details={"retryAfter": 1})
    try:
        plain = sealing.unseal(slot.sealing_key, stored.body, _bound(slot, stored.status, stored.headers))
    except sealing.BoxInvalid as error:
        raise InternalError("The stored answer cannot be opened.") from error
    head, _, body = plain.partition(b"\n")
    media_type, is_empty = json.loads(head)
    return Answer(stored.status, None if is_empty else body, media_type, headers=(*stored.headers, REPLAYED))


def _meaning(request: Request) -> bytes:
    """What the body says: its canonical form, so that blanks and the order of members do not count."""
    if not request.body_octets:
        return b""
    try:
        return jcs.canonicalize(request.json())
    except ValueError:
        # JCS has no form for an integer beyond 53 bits; then only the very same octets are the same request.
        return request.body_octets


def _bound(slot: _Slot, status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    """What the seal vouches for beside the body: whose answer it is, and the parts that are stored in the open."""
    return _framed(slot.key_hash, slot.fingerprint, str(status), *(part for header in headers for part in header))


def _framed(*texts: str) -> bytes:
    """The texts with their lengths before them, so that no two lists of texts give the same octets."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return b"".join(len(part).to_bytes(4, "big") + part for part in encoded)


def _octets(body: Any) -> bytes:
    return body if isinstance(body, bytes) else b"" if body is None else encode(body)
