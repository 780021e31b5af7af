"""A holder's session: a cookie that lets the pages read for the holder and suspend delegations, and nothing else.

It begins with a DIDAuth signature whose challenge is bound to the purpose ``read`` and to a body that contains ``dashboard``, so no
signature for an operation begins a session, and none for a session is good for an operation that reads. It has the scopes that read and
the one that stops agents. Operations never see a cookie, and every other change takes a signature of its own that the page makes. It ends
after half an hour without a page, after twelve hours, with the key that signed or with its DID, and at sign-out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from msgspec import Struct, structs

from identity_client.challenge import DID_AUTH, READ, hash_body
from identity_codec.strict_json import JsonValue
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.domain.activity import Event, RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.dids import challenge
from identity_core.domain.dids import state as history
from identity_core.domain.dids.did import Did
from identity_core.errors import AuthFailed, DidDeactivated, DidNotFound, InvalidDid
from identity_core.use_cases.auth.challenge import AuthenticateDid
from identity_core.use_cases.dids.index import DidReader
from identity_ui.cookies import CookieSessions

SCOPES: Final = frozenset({"audit:read", "credentials:read", "delegations:read", "delegations:suspend", "zkp:verify"})
"""The scopes of a page. No token, API key or program can have ``delegations:suspend``.

``zkp:verify`` is that of getProof; the pages verify as strangers do."""


def body_of(did: Did) -> dict[str, str]:
    """Return the body to which the challenge of a session is bound."""
    return {"did": str(did), "session": "dashboard"}


class Session(Struct, frozen=True):
    """``key`` is the multikey that signed; times are whole seconds since 1970."""

    did: Did
    key: str
    id: str
    began: int
    seen: int

    @property
    def target(self) -> str:
        """Her DID."""
        return str(self.did)

    @property
    def caller(self) -> Caller:
        """Her, with the scopes that read."""
        return Caller(subject=self.did, scopes=SCOPES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions(CookieSessions):
    """Sessions of holders."""

    NAME: ClassVar[str] = "identity"
    LABEL: ClassVar[bytes] = b"identity: session, v1\n"

    reader: DidReader
    signatures: AuthenticateDid

    async def begin(self, request: Request) -> Answer:
        """204 with the cookie, for a signature. Raises ``Forbidden``, ``AuthFailed``, ``DidNotFound``, ``DidDeactivated``."""
        self.require_change(request)
        scheme, _, value = (request.header("authorization") or "").partition(" ")
        if scheme != DID_AUTH:
            raise AuthFailed
        signed = challenge.parse_header(value)
        body_hash = hash_body({**body_of(signed.did)})
        named = signed.named
        if named is None or named.purpose != READ or named.body_hash != body_hash:
            raise AuthFailed("The challenge is not one for a session.")
        proven = await self.signatures(signed, scheme=DID_AUTH, purpose=READ, body_hash=body_hash, target="/ui/session")
        now = self._seconds()
        session = Session(signed.did, proven.key, self._new_id(), now, now)
        await self._recorded("signIn", session, request)
        return Answer(204, headers=[self._cookie(session), NO_STORE])

    async def find(self, request: Request) -> Session | None:
        """Return the session of the request, renewed where it is a while old; None where there is none that still holds."""
        said = self._read(request)
        session = None if said is None else _session(said)
        if said is None or session is None or not await self._holds(session):
            return None
        self._renew(request, said)
        return session

    async def record_stop(self, session: Session, request: Request, delegations: Sequence[str]) -> None:
        """Write an audit line that names the session which stopped ``delegations``."""
        context = RequestContext("stopAgents", session.caller, request.request_id)
        details: dict[str, JsonValue] = {"session": session.id, "delegations": [*delegations]}
        await self.record(context, Event(target=session.target, details=details), self.clock.now())

    async def did(self, request: Request) -> str | None:
        """Return the DID that is signed in."""
        session = await self.find(request)
        return None if session is None else str(session.did)

    async def _holds(self, session: Session) -> bool:
        if await self._has_ended(session.id):
            return False
        try:
            state = (await self.reader.caller(session.did)).head.state
        except (DidDeactivated, DidNotFound):
            return False
        return session.key in history.authentication_keys(state, self.clock.now())

    def _cookie(self, session: Session) -> tuple[str, str]:
        return self._written(structs.asdict(session) | {"did": str(session.did)})


def _session(said: dict[str, Any]) -> Session | None:
    try:
        return Session(**(said | {"did": Did.parse(said["did"])}))
    except InvalidDid:
        return None
