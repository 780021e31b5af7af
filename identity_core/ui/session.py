"""A holder's session: a cookie that lets the pages read in her name, and nothing else.

It begins with a DIDAuth signature whose challenge is bound to the purpose ``read`` and to a body that says ``dashboard``, so no signature
for an operation begins a session, and none for a session is good for an operation that reads. It has the scopes that read and no other,
operations never see a cookie, and each change takes a signature of its own that the page makes. It ends after half an hour without a
page, after twelve hours, with the key that signed or with its DID, and when she signs out: its id is then spent as a challenge is, for
every process.

Requests that change something come from our own pages: the browser says so in ``Sec-Fetch-Site`` (Fetch Metadata, W3C), older ones in
``Origin``.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

import orjson

from identity_core.api.request import Answer, Request
from identity_core.codec import multibase
from identity_core.domain.activity import Event, RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.dids import challenge
from identity_core.domain.dids import state as history
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.evidence import DID_AUTH
from identity_core.errors import AuthFailed, DidDeactivated, DidNotFound, Forbidden, InvalidDid, StorageMismatch
from identity_core.ports.clock import Clock
from identity_core.ports.repositories import ChallengeUseRow, SpentChallenges
from identity_core.use_cases.auth.challenge import AuthenticateDid
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.record import Record

IDLE: Final = timedelta(minutes=30)
LONGEST: Final = timedelta(hours=12)
RENEWED_AFTER: Final = timedelta(minutes=1)
SCOPES: Final = frozenset({"audit:read", "credentials:read", "delegations:read", "zkp:verify"})
"""What a page may ask for. ``zkp:verify`` is that of getProof; the pages verify as strangers do."""

_ID_BYTES: Final = 16
_MAX_COOKIE: Final = 2_048
_LABEL: Final = b"identity: session, v1\n"


def body_of(did: Did) -> dict[str, str]:
    """What the challenge of a session is bound to."""
    return {"did": str(did), "session": "dashboard"}


@dataclass(frozen=True, slots=True)
class Session:
    """``key`` is the multikey that signed; times are whole seconds since 1970."""

    did: Did
    key: str
    id: str
    began: int
    seen: int

    @property
    def caller(self) -> Caller:
        """Her, with the scopes that read."""
        return Caller(subject=self.did, scopes=SCOPES)


@dataclass(frozen=True, slots=True)
class Sessions:
    """``secret``: 32 octets that all processes derive. ``origin`` is where browsers reach the service. ``mismatch`` as the gate's."""

    reader: DidReader
    signatures: AuthenticateDid
    spent: SpentChallenges
    record: Record
    clock: Clock
    secret: bytes = field(repr=False)
    random: Callable[[int], bytes]
    origin: str
    mismatch: Callable[[], StorageMismatch | None]

    @property
    def cookie_name(self) -> str:
        """With TLS one that no other host and no plain HTTP can set."""
        return "__Host-identity" if self._is_secure else "identity-session"

    async def begin(self, request: Request) -> Answer:
        """204 with the cookie, for a signature. Raises ``Forbidden``, ``AuthFailed``, ``DidNotFound``, ``DidDeactivated``."""
        self.require_own_page(request)
        self._require_writable()
        scheme, _, value = (request.header("authorization") or "").partition(" ")
        if scheme != DID_AUTH:
            raise AuthFailed
        signed = challenge.parse_header(value)
        body_hash = challenge.hash_body({**body_of(signed.did)})
        named = signed.named
        if named is None or named.purpose != challenge.READ or named.body_hash != body_hash:
            raise AuthFailed("The challenge is not one for a session.")
        proven = await self.signatures(signed, scheme=DID_AUTH, purpose=challenge.READ, body_hash=body_hash)
        now = self._seconds()
        session = Session(signed.did, proven.key, multibase.base64url_encode(self.random(_ID_BYTES)), now, now)
        await self._recorded("signIn", session, request)
        return Answer(204, headers=[self._cookie(session), ("cache-control", "no-store")])

    async def end(self, request: Request) -> None:
        """Ends the session of the request, if it has one; the answer forgets the cookie. Raises ``Forbidden``."""
        self.require_own_page(request)
        self._require_writable()
        session = await self.find(request)
        request.answer_headers = (*request.answer_headers, self._set("", 0))
        if session is not None:
            digest = _ended(session)
            await self.spent.spend(ChallengeUseRow(digest, digest[:16], 0, self.clock.now() + LONGEST))
            await self._recorded("signOut", session, request)

    async def find(self, request: Request) -> Session | None:
        """The session of the request, renewed where it is a while old; None where there is none that still holds."""
        session = self._read(request)
        if session is None or not await self._holds(session):
            return None
        now = self._seconds()
        if now - session.seen >= RENEWED_AFTER.total_seconds():
            renewed = self._cookie(replace(session, seen=now))
            request.answer_headers = (*request.answer_headers, renewed)
        return session

    async def did(self, request: Request) -> str | None:
        """Who is signed in."""
        session = await self.find(request)
        return None if session is None else str(session.did)

    def require_own_page(self, request: Request) -> None:
        """Raises ``Forbidden`` for a request that a page of another origin may have caused."""
        site, origin = request.header("sec-fetch-site"), request.header("origin")
        if site is not None:
            # It goes before Origin, which is null where a page sends no referrer. None is what the address bar and a reload say.
            is_ours = site in ("same-origin", "none")
        elif origin is not None:
            is_ours = origin == self.origin
        else:
            # A browser sends one of them; for what is none, there must be nothing to misuse.
            is_ours = request.header("cookie") is None
        if is_ours:
            return
        raise Forbidden("The request does not come from a page of this service.", details={"origin": self.origin})

    @property
    def _is_secure(self) -> bool:
        return urlsplit(self.origin).scheme == "https"

    def _require_writable(self) -> None:
        found = self.mismatch()
        if found is not None:
            raise StorageMismatch(str(found))

    def _seconds(self) -> int:
        return int(self.clock.now().timestamp())

    async def _holds(self, session: Session) -> bool:
        (ended,) = await self.spent.numbers([_ended(session)[:16]], limit=1)
        if ended:
            return False
        try:
            state = (await self.reader.caller(session.did)).head.state
        except (DidDeactivated, DidNotFound):
            return False
        return session.key in history.authentication_keys(state, self.clock.now())

    def _read(self, request: Request) -> Session | None:
        """The first cookie of our name that this installation wrote and that has not expired."""
        for pair in (request.header("cookie") or "").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self.cookie_name and len(value) <= _MAX_COOKIE:
                session = self._opened(value)
                if session is not None:
                    return session
        return None

    def _opened(self, value: str) -> Session | None:
        text, _, tag = value.partition(".")
        if not hmac.compare_digest(tag, self._tag(text)):
            return None
        said: dict[str, Any] = orjson.loads(multibase.base64url_decode(text))
        try:
            session = Session(**(said | {"did": Did.parse(said["did"])}))
        except InvalidDid:
            return None
        now = self._seconds()
        if now - session.seen >= IDLE.total_seconds() or now - session.began >= LONGEST.total_seconds():
            return None
        return session

    def _tag(self, text: str) -> str:
        return multibase.base64url_encode(hmac.digest(self.secret, _LABEL + text.encode(), hashlib.sha256))

    def _cookie(self, session: Session) -> tuple[str, str]:
        said = {
            "did": str(session.did),
            "key": session.key,
            "id": session.id,
            "began": session.began,
            "seen": session.seen,
        }
        text = multibase.base64url_encode(orjson.dumps(said))
        return self._set(f"{text}.{self._tag(text)}", int(IDLE.total_seconds()))

    def _set(self, value: str, seconds: int) -> tuple[str, str]:
        secure = "; Secure" if self._is_secure else ""
        attributes = f"Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
        return "set-cookie", f"{self.cookie_name}={value}; {attributes}"

    async def _recorded(self, operation: str, session: Session, request: Request) -> None:
        context = RequestContext(operation, session.caller, request.request_id)
        await self.record(context, Event(target=str(session.did)), self.clock.now())


def _ended(session: Session) -> bytes:
    return hashlib.sha256(b"identity: session that was ended, v1\n" + session.id.encode()).digest()
