"""``Idempotency-Key``: a request that is sent twice is executed once (draft-ietf-httpapi-idempotency-key-header-07).

openapi/DECISIONS.md §1.6 decides the points that the draft leaves open. A key belongs to its caller, operation and path. Under DIDAuth
the caller is the DID, and the retry is authenticated again. The same key with another body is 422. A key whose first request is still
running is 409. Only a success is stored, for 24 hours: a refusal changed nothing and may be tried again.

Under DIDAuth the sealed intent and answer name the key that signed (``Idempotency.signer``). If the change ended that key, it may still
fetch this one answer. Nothing runs for it except the completion of a recorded change.

The request is executed exactly once even if a process or a disk fails between a change and its answer (``README.md``, "A change and its
answer"). A change of the store alone is committed together with its answer (``_Attempt.keeping``). Before a change of the ledger or of a
key store its intent is stored, and a later run checks whether the change was made (``_Attempt.intend``).

An answer may contain private keys. Answer and intent are sealed under a key derived from the Idempotency-Key, the caller and a secret of
the service. Of the Idempotency-Key only a keyed hash is stored, so the table alone opens nothing.

Left out: requests without an ``Idempotency-Key``, which the dispatch does not send here, and callers without a name, whose keys any
client could guess. Such a request just runs.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from identity_codec import jcs, sealing
from identity_codec.strict_json import JsonValue
from identity_codec.structs import encode
from identity_codec.values import Hidden
from identity_core.api.request import REPEATABLE, Answer, Request
from identity_core.errors import (
    AuthFailed,
    Forbidden,
    IdempotencyMismatch,
    IdentityError,
    InternalError,
    InvalidRequest,
    RequestInProgress,
)
from identity_core.ports.activity import IdempotencyKeys, IdempotencyRecord, StoredAnswer
from identity_core.ports.clock import Clock
from identity_core.use_cases.background import erasing_time

REPLAYED = ("Idempotent-Replayed", "true")
_KEY = re.compile(r"[!-~]{1,255}", re.ASCII)
# A shorter key of an answer with secrets could be guessed by the thief of a credential that has ended or is ending.
_SECRET_KEY = re.compile(r"[!-~]{16,255}", re.ASCII)

log = logging.getLogger("identity")

Signer = tuple[str, str]
"""The scheme and the multikey of a signature, or ``ApiKey`` and the id of the key."""


_RANDOM: Final = {"remedy": "Choose a random Idempotency-Key of at least 16 characters, such as a UUID."}


class _Slot(Struct, frozen=True):
    """One use of a key: the hash under which it is stored, the fingerprint of the request, and the key that seals its answer."""

    key_hash: str
    fingerprint: str
    sealing_key: bytes


class Idempotency(Hidden, Struct, frozen=True):
    """Wrapper of a handler that stores its answer for the ``Idempotency-Key``.

    ``secret``: at least 16 bytes that all processes share and no other party knows; a new one makes every stored answer unreachable.
    ``random``: a source of bytes from the operating system.
    """

    keys: IdempotencyKeys
    clock: Clock
    secret: bytes
    random: Callable[[int], bytes]

    def __post_init__(self) -> None:
        if len(self.secret) < 16:
            raise ValueError("the secret of the stored answers has at least 16 bytes")

    async def __call__(self, request: Request, run: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return the answer of ``run``, or the answer of an earlier request with this key, marked as replayed.

        Raises ``InvalidRequest`` for a key that is not 1 to 255 visible ASCII characters, ``IdempotencyMismatch``, ``RequestInProgress``,
        ``AuthFailed`` for a former key that did not sign the earlier request, ``Forbidden``, and any error of ``run``. A change of a DID
        that a signature authorises needs at least 16 characters. A shorter key of an API key is not for another key of its chain.
        """
        key = request.header("idempotency-key")
        if key is None or request.caller is None:
            return await run()
        if _KEY.fullmatch(key) is None:
            raise InvalidRequest("An Idempotency-Key has 1 to 255 printable ASCII characters and no blanks.")
        authorization, is_short = request.caller.authorization, _SECRET_KEY.fullmatch(key) is None
        if is_short and authorization is not None and request.operation_id in REPEATABLE:
            raise InvalidRequest("The Idempotency-Key of this change has at least 16 characters.", details=_RANDOM)
        request.require_rights(request.caller)
        slot, now = self._slot(request, key, request.caller.identity), erasing_time(self.clock)
        api_key = request.caller.api_key
        signer = ("ApiKey", api_key.id) if api_key is not None else None
        if authorization is not None:
            signer = authorization.scheme, authorization.key
        earlier = await self.keys.begin(slot.key_hash, slot.fingerprint, now)
        if authorization is not None and authorization.is_former and not _is_repeated(slot, earlier, signer):
            # The record that the gate read may have expired meanwhile.
            await self.keys.abandon(slot.key_hash, now)
            raise AuthFailed
        is_other = earlier is not None and _signer(slot, earlier) not in (None, signer)
        if is_short and api_key is not None and earlier and (is_other or api_key.revoked_at is not None):
            raise Forbidden("The answer is for another API key of this chain.", details=_RANDOM)
        if earlier is not None and earlier.intent is None:
            return _replay(slot, earlier)
        attempt = request.attempt = _Attempt(self, slot, now, None if earlier is None else earlier.intent, signer)
        # A client that disconnects must not leave a request half recorded: a started request is completed and stored.
        return await asyncio.shield(attempt.run(run))

    async def signer(self, request: Request, caller: str) -> Signer | None:
        """Return the scheme and key that authenticated the attempt which the request repeats: of the same ``caller``, operation, path,
        key and body. None if no attempt is stored, if it has expired, or if the key has fewer than 16 characters."""
        key = request.header("idempotency-key")
        if key is None or _SECRET_KEY.fullmatch(key) is None:
            return None
        slot = self._slot(request, key, caller)
        try:
            return _signer(slot, await self.keys.find(slot.key_hash, erasing_time(self.clock)))
        except InternalError:
            return None

    def _slot(self, request: Request, key: str, caller: str) -> _Slot:
        # The decoded path, because "did:ids:x" and "did%3Aids%3Ax" are one path.
        place = _framed(caller, request.operation_id, json.dumps(dict(request.path), sort_keys=True))
        key_octets = key.encode("ascii")
        return _Slot(
            key_hash=hmac.digest(self.secret, b"identity idempotency key" + place + key_octets, hashlib.sha256).hex(),
            fingerprint=hashlib.sha256(place + _meaning(request)).hexdigest(),
            sealing_key=sealing.derive_key(key_octets, info=b"identity idempotency seal" + place, salt=self.secret),
        )


class _Attempt:
    """One run of a request, under the reservation that began at ``since``: the ``RequestAttempt`` of its use case. ``intent``: the sealed
    one of an earlier run. ``show``: makes the answer from the use case's result; the handler sets it. ``has_intended``: a later run may
    still make the change."""

    def __init__(
        self, keys: Idempotency, slot: _Slot, since: datetime, intent: bytes | None, signer: Signer | None
    ) -> None:
        self.show: Callable[[Any], Answer] | None = None
        self._at, self._slot, self._since = keys, slot, since
        self._is_kept = self.has_intended = False
        self.intent: Mapping[str, Any] | None = None if intent is None else json.loads(_unsealed(slot, intent, 0, ()))
        self._drawn: list[str] = [] if self.intent is None else self.intent["drawn"]
        self._to_draw = iter([*self._drawn])
        self._own_signer = signer
        # The answer of an earlier run's change belongs to the key that signed that run.
        self._signer = signer if self.intent is None else self.intent.get("signer")

    def random(self, size: int) -> bytes:
        known = next(self._to_draw, None)
        if known is not None:
            return bytes.fromhex(known)
        drawn = self._at.random(size)
        self._drawn.append(drawn.hex())
        return drawn

    async def intend(self, intent: Mapping[str, JsonValue]) -> None:
        self.has_intended, self._signer = True, self._own_signer
        sealed = self._sealed(encode({**intent, "drawn": self._drawn, "signer": self._signer}), 0, ())
        if not await self._at.keys.intend(self._slot.key_hash, self._since, sealed):
            raise RequestInProgress(details={"retryAfter": 1})

    @contextmanager
    def keeping(self, result: Callable[[Any], Any]) -> Iterator[None]:
        made: list[StoredAnswer] = []

        def answer(written: Any) -> tuple[StoredAnswer, datetime] | None:
            found = result(written)
            if found is None or self.show is None:
                return None
            made.append(self._stored(self.show(found)))
            return made[-1], self._at.clock.now()

        with self._at.keys.completing(self._slot.key_hash, self._since, answer):
            yield
        self._is_kept = bool(made)

    async def run(self, run: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return the answer of ``run``, stored if it is a success. After a refusal or failure the key is free again, unless an intent is
        stored."""
        is_done = False
        try:
            answer = await run()
            is_done = 200 <= answer.status < 300
        finally:
            if not is_done:
                with _logged("an Idempotency-Key stays reserved until its lease is up"):
                    await self._at.keys.abandon(self._slot.key_hash, self._since)
        if is_done and not self._is_kept:
            stored, now = self._stored(answer), self._at.clock.now()
            # The work is done and durable; its answer must not be lost because a repetition could not be prevented.
            with _logged("an answer could not be kept for its Idempotency-Key"):
                await self._at.keys.complete(self._slot.key_hash, self._since, stored, now)
        return answer

    def _stored(self, answer: Answer) -> StoredAnswer:
        headers = tuple((name, value) for name, value in answer.headers)
        head: Any = [answer.media_type, answer.body is None]
        if self._signer is not None and answer.body is not None:
            # A process of an earlier version reads it like the list: the media type, and a false value.
            head = {answer.media_type: self._signer, "": None}
        body = answer.body if isinstance(answer.body, bytes) else b"" if answer.body is None else encode(answer.body)
        plain = json.dumps(head).encode() + b"\n" + body
        return StoredAnswer(answer.status, headers, self._sealed(plain, answer.status, headers))

    def _sealed(self, plain: bytes, status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
        bound = _bound(self._slot, status, headers)
        return sealing.seal(self._slot.sealing_key, plain, bound, random=self._at.random)


@contextmanager
def _logged(what: str) -> Iterator[None]:
    try:
        yield
    except IdentityError as error:
        log.warning("%s: %s", what, error.code)


def _unsealed(slot: _Slot, sealed: bytes, status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    try:
        return sealing.unseal(slot.sealing_key, sealed, _bound(slot, status, headers))
    except sealing.BoxInvalid as error:
        raise InternalError("What is stored for this Idempotency-Key cannot be opened.") from error


def _signer(slot: _Slot, found: IdempotencyRecord | None) -> Signer | None:
    """Return the scheme and key that are sealed in an answer or intent of the same request. Raises ``InternalError``."""
    signer: Any = None
    if found is None or found.fingerprint != slot.fingerprint:
        return None
    if (stored := found.answer) is not None:
        head = json.loads(_unsealed(slot, stored.body, stored.status, stored.headers).partition(b"\n")[0])
        signer = next(iter(head.values())) if isinstance(head, dict) else None
    elif found.intent is not None:
        signer = json.loads(_unsealed(slot, found.intent, 0, ())).get("signer")
    return None if signer is None else (signer[0], signer[1])


def _is_repeated(slot: _Slot, earlier: IdempotencyRecord | None, signer: Signer | None) -> bool:
    """Return whether ``earlier`` is of the same request and was signed by ``signer``, or still runs."""
    if earlier is not None and earlier.answer is None and earlier.intent is None:
        return earlier.fingerprint == slot.fingerprint
    return signer is not None and _signer(slot, earlier) == signer


def _replay(slot: _Slot, earlier: IdempotencyRecord) -> Answer:
    if earlier.fingerprint != slot.fingerprint:
        raise IdempotencyMismatch
    stored = earlier.answer
    if stored is None:
        raise RequestInProgress(details={"retryAfter": 1})
    head, _, body = _unsealed(slot, stored.body, stored.status, stored.headers).partition(b"\n")
    media_type, is_empty = json.loads(head)
    return Answer(stored.status, None if is_empty else body, media_type, headers=(*stored.headers, REPLAYED))


def _meaning(request: Request) -> bytes:
    """Return the query, and the meaning of the body: its canonical form, so that blanks and the order of members do not count."""
    query = request.query_octets and b"?" + request.query_octets
    try:
        return query + (jcs.canonicalize(request.json()) if request.body_octets else b"")
    except ValueError:
        # JCS has no form for an integer beyond 53 bits; then only the very same bytes are the same request.
        return query + request.body_octets


def _bound(slot: _Slot, status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    """Return the data that the seal authenticates beside the body: the owner of the answer, and the parts that are stored unencrypted."""
    return _framed(slot.key_hash, slot.fingerprint, str(status), *(part for header in headers for part in header))


def _framed(*texts: str) -> bytes:
    """Return the texts with their lengths before them, so that no two lists of texts give the same bytes."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return b"".join(len(part).to_bytes(4, "big") + part for part in encoded)
