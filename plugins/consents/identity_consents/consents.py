"""Questions of agents to holders: an agent's request names a reply, the page stores the holder's answer for it, and the agent fetches it.

Nothing is stored until the holder answers. A reply is sealed. It names agent, holder, request and its end. So only this holder can answer
it, only this agent can fetch the answer, and a link shows neither of them. The answer is an IBCT for this agent, which no other agent can
use. It is stored, sealed, until the reply expires.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson
from msgspec import Struct

from identity_client.capability import Capability, CapabilityInvalid
from identity_codec import jcs, multibase, sealing, strict_json
from identity_codec.structs import encode
from identity_codec.values import Hidden
from identity_consents.requests import MAX_REPLY
from identity_consents.store import ConsentReply, StoredConsentReplies
from identity_core.errors import IbctInvalid, InvalidRequest
from identity_core.ports.clock import Clock

LIFETIME: Final = timedelta(minutes=15)
MAX_ANSWER: Final = 16_384
_REPLY: Final = b"identity: reply of a holder, v1"
ANSWER: Final = b"identity: answer of a holder, v1"


class AskedConsent(Struct, frozen=True):
    """A question to a holder. ``reply`` is the text by which the answer is given and fetched, until ``expires_at``."""

    reply: str
    agent: str
    holder: str
    request: str
    expires_at: datetime

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.reply.encode()).digest()


class HolderApproval(Struct, frozen=True):
    """The holder's token for one use, and the credential that she chose."""

    credential_id: str
    ibct: Mapping[str, str]


class HolderConsents(Hidden, Struct, frozen=True):
    """Questions and answers. ``secret``: 32 bytes that all processes derive."""

    replies: StoredConsentReplies
    clock: Clock
    secret: bytes
    random: Callable[[int], bytes]

    def ask(self, agent: str, holder: str, request: Mapping[str, Any], lifetime: timedelta = LIFETIME) -> AskedConsent:
        """Return a reply for ``request``, which each later call about the answer must repeat."""
        expires_at = self.clock.now().replace(microsecond=0) + lifetime
        hashed = _hash(request)
        plain = orjson.dumps([agent, holder, hashed, int(expires_at.timestamp())])
        reply = multibase.base64url_encode(self.seal(plain, _REPLY))
        return AskedConsent(reply, agent, holder, hashed, expires_at)

    def seal(self, plain: bytes, place: bytes) -> bytes:
        """Return the box of ``plain`` that opens only with ``place``."""
        return sealing.seal(self.secret, plain, place, random=self.random)

    def open_reply(self, reply: str) -> AskedConsent:
        """Return the question of a reply. Raises ``InvalidRequest``: when the text is not a valid reply, or has expired."""
        try:
            box = multibase.base64url_decode(reply if len(reply) <= MAX_REPLY else "")
            agent, holder, request, ends = orjson.loads(sealing.unseal(self.secret, box, _REPLY))
        except (ValueError, sealing.BoxInvalid) as error:
            raise InvalidRequest("This is not a request that a holder can answer here.") from error
        asked = AskedConsent(reply, agent, holder, request, datetime.fromtimestamp(ends, UTC))
        if self.clock.now() >= asked.expires_at:
            raise InvalidRequest("The request has expired. Ask again.", details={"expiresAt": ends})
        return asked

    async def find(
        self, reply: str, agent: str, holder: str, request: Mapping[str, Any]
    ) -> tuple[AskedConsent, bool, HolderApproval | None]:
        """Return the question, whether it was answered, and the approval if the answer is one.

        Raises ``InvalidRequest``: when the reply is to another request, or of another agent.
        """
        asked = self.open_reply(reply)
        if (asked.agent, asked.holder, asked.request) != (agent, holder, _hash(request)):
            raise InvalidRequest("The consent is to another request.")
        kept = await self.replies.find(asked.digest)
        if kept is None:
            return asked, False, None
        answer = orjson.loads(sealing.unseal(self.secret, kept.sealed, ANSWER + asked.digest))
        return asked, True, None if answer is None else HolderApproval(**answer)

    async def answer(self, reply: str, holder: str, text: str) -> None:
        """Store the answer of the holder: the JSON ``null`` for no, or the approval ``{credentialId, ibct}``.

        Raises ``InvalidRequest``: for another holder, a text that is not an approval for this agent, and a second answer; ``IbctInvalid``.
        """
        asked = self.open_reply(reply)
        if asked.holder != holder:
            raise InvalidRequest("The request is to another holder.")
        approval = None if text == "null" else _approval(text, asked)
        sealed = self.seal(encode(approval), ANSWER + asked.digest)
        if not await self.replies.keep(ConsentReply(asked.digest, sealed, asked.expires_at)):
            raise InvalidRequest("The request has been answered.")


def _approval(text: str, asked: AskedConsent) -> HolderApproval:
    try:
        value = strict_json.loads(text.encode() if len(text) <= MAX_ANSWER else b"")
    except strict_json.JsonRefused as error:
        raise InvalidRequest("The answer is not JSON.") from error
    if not isinstance(value, dict) or not {"credentialId", "ibct"} <= value.keys():
        raise InvalidRequest("An approval has the members credentialId and ibct.")
    credential, ibct = value["credentialId"], value["ibct"]
    if (
        not isinstance(credential, str)
        or not isinstance(ibct, dict)
        or not all(isinstance(v, str) for v in ibct.values())
    ):
        raise InvalidRequest("An approval has a credentialId and an IBCT.")
    try:
        capability = Capability.parse(ibct, places=())
    except CapabilityInvalid as refused:
        raise IbctInvalid(details=refused.details) from refused
    if (capability.invoker, capability.target) != (asked.holder, asked.agent):
        raise InvalidRequest("The IBCT is of another holder, or for another agent.")
    return HolderApproval(credential, ibct)


def _hash(request: Mapping[str, Any]) -> str:
    return multibase.base64url_encode(hashlib.sha256(jcs.canonicalize(dict(request))).digest())
