"""Requests of verifiers to wallets as they are kept: sealed, by a random id that stands in the link and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

import orjson
from msgspec import Struct

from identity_codec import multibase, p256, sealing, times
from identity_codec.strict_json import JsonValue
from identity_codec.values import Hidden
from identity_core.errors import PresentationNotFound
from identity_core.ports.clock import Clock
from identity_wallets.domain.presentation import CredentialSet, PresentationQuery, WantedClaim, WantedCredential
from identity_wallets.store import StoredPresentation, StoredPresentations

MAX_ID: Final = 64
_REQUEST: Final = "request"
_ANSWER: Final = "answer"


class KeptRequests(Hidden, Struct, frozen=True):
    """``secret`` has 32 bytes, ``random`` is the operating system's random source."""

    presentations: StoredPresentations
    secret: bytes
    random: Callable[[int], bytes]
    clock: Clock

    def new_id(self) -> str:
        """Return 128 random bits in hexadecimal: base64url may begin with a hyphen, which a command line takes for an option."""
        return self.random(16).hex()

    def new_secret(self) -> bytes:
        """Return the secret of a new key on P-256 for one request."""
        return p256.generate_secret(self.random(p256.COORDINATE_BYTES))

    async def keep(self, query: PresentationQuery, owner: str) -> None:
        """Raise ``Overloaded``."""
        wanted = [
            [
                one.id,
                one.schema_id,
                one.issuers,
                [claim.path for claim in one.claims],
                [claim.id for claim in one.claims],
                one.sets,
                [claim.values for claim in one.claims],
            ]
            for one in query.wanted
        ]
        secret = None if query.secret is None else multibase.base64url_encode(query.secret)
        sets = [[one.options, one.is_required] for one in query.sets]
        plain = orjson.dumps([query.verifier, query.nonce, query.redirect_uri, wanted, secret, sets])
        box = self._seal(query.id, _REQUEST, plain)
        await self.presentations.add(query.id, StoredPresentation(owner, box, query.expires_at), self.clock.now())

    async def find(self, request_id: str) -> tuple[PresentationQuery, StoredPresentation]:
        """Return the request, whether it has ended or not. Raises ``PresentationNotFound``."""
        stored = await self.presentations.find(request_id) if len(request_id) <= MAX_ID else None
        if stored is None:
            raise PresentationNotFound
        verifier, nonce, redirect_uri, wanted, *more = orjson.loads(self._open(request_id, _REQUEST, stored.request))
        # A request of before an upgrade has neither a key nor sets.
        key, sets = (*more, None, None)[:2]
        query = PresentationQuery(
            request_id,
            verifier,
            nonce,
            redirect_uri,
            tuple(_wanted(*one) for one in wanted),
            stored.expires_at,
            None if key is None else multibase.base64url_decode(key),
            tuple(CredentialSet(tuple(map(tuple, options)), required) for options, required in sets or ()),
        )
        return query, stored

    async def open_for_wallets(self, request_id: str) -> PresentationQuery:
        """Return a request that is unanswered and has not ended. Raises ``PresentationNotFound``."""
        query, stored = await self.find(request_id)
        if stored.answer is not None or self.clock.now() >= stored.expires_at:
            raise PresentationNotFound
        return query

    async def answer(self, query: PresentationQuery, answer: JsonValue, now: datetime) -> bool:
        """Store the wallet's answer. Return False if there is an answer already, or the request has ended."""
        return await self.presentations.answer(
            query.id, self._seal(query.id, _ANSWER, orjson.dumps([times.printed(now), answer])), now
        )

    def answer_of(self, query: PresentationQuery, stored: StoredPresentation) -> tuple[str, Any] | None:
        """Return the time (RFC 3339) and the content of the wallet's answer; None if there is none."""
        if stored.answer is None:
            return None
        answered_at, answer = orjson.loads(self._open(query.id, _ANSWER, stored.answer))
        return answered_at, answer

    def _seal(self, request_id: str, part: str, plain: bytes) -> bytes:
        return sealing.seal(self.secret, plain, _bound(request_id, part), random=self.random)

    def _open(self, request_id: str, part: str, box: bytes) -> bytes:
        try:
            return sealing.unseal(self.secret, box, _bound(request_id, part))
        except sealing.BoxInvalid as error:
            raise PresentationNotFound from error


def _wanted(
    name: str,
    schema_id: str,
    issuers: Sequence[str],
    paths: Sequence[Sequence[str]],
    ids: Sequence[str] = (),
    sets: Sequence[Sequence[str]] = (),
    values: Sequence[Sequence[JsonValue]] = (),
) -> WantedCredential:
    """Return a credential as it was kept; one of before an upgrade has no ids, sets and values."""
    claims = tuple(
        WantedClaim(tuple(path), identifier, tuple(taken))
        for path, identifier, taken in zip(paths, ids or [""] * len(paths), values or [()] * len(paths), strict=True)
    )
    return WantedCredential(name, schema_id, tuple(issuers), claims, tuple(map(tuple, sets)))


def _bound(request_id: str, part: str) -> bytes:
    return f"identity: presentation {part}, v1\n{request_id}".encode()
