"""The common part of the sessions of holders and operators: a cookie with a MAC that every process can check, when it
ends, and which requests come from our own pages.

Nothing is stored until a session ends; then its id is spent as a challenge is, for every process. Requests that change something come
from our own pages: the browser states it in ``Sec-Fetch-Site`` (Fetch Metadata, W3C), older ones in ``Origin``.
"""

from __future__ import annotations

import hashlib
import hmac
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar, Final, Protocol
from urllib.parse import urlsplit

import orjson

from identity_codec import multibase
from identity_core.api.request import Request
from identity_core.domain.activity import Event, RequestContext
from identity_core.domain.callers import Caller
from identity_core.errors import Forbidden, IdentityError
from identity_core.ports.clock import Clock
from identity_core.ports.repositories import ChallengeUseRow, SpentChallenges
from identity_core.use_cases.record import Record

IDLE: Final = timedelta(minutes=30)
LONGEST: Final = timedelta(hours=12)
RENEWED_AFTER: Final = timedelta(minutes=1)

_ID_BYTES: Final = 16
_MAX_COOKIE: Final = 2_048


class Opened(Protocol):
    """A session that holds. ``target`` is who signed in, for the audit log."""

    @property
    def id(self) -> str: ...
    @property
    def caller(self) -> Caller: ...
    @property
    def target(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CookieSessions(ABC):
    """``secret``: 32 bytes that all processes derive. ``origin`` is where browsers reach the service. ``mismatch`` as the gate's.

    ``NAME`` is that of the cookie, and ``LABEL`` keeps the MAC of one kind of session from being good for another.
    """

    NAME: ClassVar[str]
    LABEL: ClassVar[bytes]

    spent: SpentChallenges
    record: Record
    clock: Clock
    secret: bytes = field(repr=False)
    random: Callable[[int], bytes]
    origin: str
    mismatch: Callable[[], IdentityError | None]

    @abstractmethod
    async def find(self, request: Request) -> Opened | None:
        """Return the session of the request, renewed where it is a while old; None where there is none that still holds."""

    async def end(self, request: Request) -> None:
        """End the session of the request, if it has one; the answer forgets the cookie. Raises ``Forbidden``."""
        self.require_change(request)
        session = await self.find(request)
        self._forget(request)
        if session is not None:
            await self._end(session.id)
            await self._recorded("signOut", session, request)

    @property
    def cookie_name(self) -> str:
        """Return the name of the cookie. With TLS it is one that neither another host nor plain HTTP can set."""
        return f"__Host-{self.NAME}" if self._is_secure else f"{self.NAME}-session"

    def require_own_page(self, request: Request) -> None:
        """Raise ``Forbidden`` for a request that a page of another origin may have caused."""
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

    def require_change(self, request: Request) -> None:
        """Raise ``Forbidden`` for another origin's request, ``StorageMismatch`` while the databases are not ours."""
        self.require_own_page(request)
        found = self.mismatch()
        if found is not None:
            raise found

    @property
    def _is_secure(self) -> bool:
        return urlsplit(self.origin).scheme == "https"

    def _seconds(self) -> int:
        return int(self.clock.now().timestamp())

    def _new_id(self) -> str:
        return multibase.base64url_encode(self.random(_ID_BYTES))

    def _read(self, request: Request) -> dict[str, Any] | None:
        """Return the content of the first cookie of our name that this installation wrote and that has not expired."""
        for pair in (request.header("cookie") or "").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self.cookie_name and len(value) <= _MAX_COOKIE:
                found = self._open_cookie(value)
                if found is not None:
                    return found
        return None

    def _open_cookie(self, value: str) -> dict[str, Any] | None:
        text, _, tag = value.partition(".")
        if not hmac.compare_digest(tag, self._tag(text)):
            return None
        said: dict[str, Any] = orjson.loads(multibase.base64url_decode(text))
        now = self._seconds()
        if now - said["seen"] >= IDLE.total_seconds() or now - said["began"] >= LONGEST.total_seconds():
            return None
        return said

    def _tag(self, text: str) -> str:
        return multibase.base64url_encode(hmac.digest(self.secret, self.LABEL + text.encode(), hashlib.sha256))

    def _written(self, said: dict[str, Any]) -> tuple[str, str]:
        """Return the header that sets the cookie."""
        text = multibase.base64url_encode(orjson.dumps(said))
        return self._set(f"{text}.{self._tag(text)}", int(IDLE.total_seconds()))

    def _renew(self, request: Request, said: dict[str, Any]) -> None:
        """Set the cookie again in the answer if it is old."""
        now = self._seconds()
        if now - said["seen"] >= RENEWED_AFTER.total_seconds():
            request.answer_headers = (*request.answer_headers, self._written(said | {"seen": now}))

    def _forget(self, request: Request) -> None:
        request.answer_headers = (*request.answer_headers, self._set("", 0))

    def _set(self, value: str, seconds: int) -> tuple[str, str]:
        secure = "; Secure" if self._is_secure else ""
        attributes = f"Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
        return "set-cookie", f"{self.cookie_name}={value}; {attributes}"

    async def _recorded(self, operation: str, session: Opened, request: Request) -> None:
        context = RequestContext(operation, session.caller, request.request_id)
        await self.record(context, Event(target=session.target), self.clock.now())

    async def _has_ended(self, session_id: str) -> bool:
        (ended,) = await self.spent.numbers([_digest(session_id)[:16]], limit=1)
        return bool(ended)

    async def _end(self, session_id: str) -> None:
        digest = _digest(session_id)
        await self.spent.spend(ChallengeUseRow(digest, digest[:16], 0, self.clock.now() + LONGEST))


def _digest(session_id: str) -> bytes:
    return hashlib.sha256(b"identity: session that was ended, v1\n" + session_id.encode()).digest()
