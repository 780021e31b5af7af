"""An operator's session: a cookie that lets the operator's pages read as an administrator's API key, and nothing else.

It begins with the key itself, in a form, and remembers only a box in which the key's SHA-256 is sealed: who has the cookie cannot even try
weak keys against it. Each page looks the key up again, so a session ends with its key. The pages of operators ask operations that
read; none of their forms changes anything, and operations never see a cookie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from msgspec import Struct

from identity_codec import multibase
from identity_codec.sealing import BoxInvalid, derive_key, seal, unseal
from identity_core.api.request import Request
from identity_core.domain.callers import ApiKey, Caller
from identity_core.errors import AuthFailed, Forbidden
from identity_core.use_cases.auth.authenticate import AuthenticateApiKey
from identity_ui.cookies import CookieSessions

_BOX: Final = b"identity: API key of an operator's session, v1"


class OperatorSession(Struct, frozen=True):
    """The key as it stands now."""

    key: ApiKey
    id: str

    @property
    def target(self) -> str:
        """The id of the key."""
        return self.key.id

    @property
    def caller(self) -> Caller:
        """The key itself."""
        return Caller(api_key=self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSessions(CookieSessions):
    """Sessions of operators."""

    NAME: ClassVar[str] = "identity-operator"
    LABEL: ClassVar[bytes] = b"identity: session of an operator, v1\n"

    api_keys: AuthenticateApiKey

    async def begin(self, request: Request, text: str) -> None:
        """Begin a session, whose cookie the answer sets. Raises ``Forbidden``: for a key that is not an administrator's for every
        DID. Raises ``AuthFailed``: for an unknown key."""
        self.require_change(request)
        key = await self.api_keys(text)
        _require_operator(key)
        now, session = self._seconds(), OperatorSession(key, self._new_id())
        box = seal(self._box_key(), bytes.fromhex(key.digest), session.id.encode(), random=self.random)
        said = {"key": multibase.base64url_encode(box), "id": session.id, "began": now, "seen": now}
        await self._recorded("signIn", session, request)
        request.answer_headers = (*request.answer_headers, self._written(said))

    async def find(self, request: Request) -> OperatorSession | None:
        """Return the session of the request; None where there is none, or its key is not an administrator's any more."""
        said = self._read(request)
        if said is None or await self._has_ended(said["id"]):
            return None
        try:
            box = multibase.base64url_decode(said["key"])
            key = await self.api_keys.by_digest(unseal(self._box_key(), box, said["id"].encode()).hex())
            _require_operator(key)
        except (AuthFailed, BoxInvalid, Forbidden):
            return None
        self._renew(request, said)
        return OperatorSession(key, said["id"])

    def _box_key(self) -> bytes:
        return derive_key(self.secret, info=_BOX)


def _require_operator(key: ApiKey) -> None:
    """Raise ``Forbidden``."""
    if key.scopes is not None or key.allowed_targets is not None:
        raise Forbidden("The pages of operators take an administrator's key.", details={"role": "admin"})
