"""What an agent asks its holder on her page, and how her answer comes back: the agent's request names a reply, the page sends the answer
for it, and the agent asks for it by the same name.

Nothing is stored until the holder answers. A reply is sealed: it names agent, holder, request and its end, so that nobody but this holder
answers it, nobody but this agent fetches the answer, and no one reads who they are from a link. The answer is an IBCT for this agent,
which nobody else can use, and it is kept sealed for no longer than the reply is good.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from identity_core.codec import jcs, multibase, strict_json
from identity_core.crypto import sealing
from identity_core.domain.delegations.ibct import Capability
from identity_core.errors import InvalidRequest
from identity_core.ports.clock import Clock
from identity_core.ports.consents import ConsentReplies, ConsentReply
from identity_core.values import value_class

LIFETIME: Final = timedelta(minutes=15)
MAX_REPLY: Final = 8_192
MAX_ANSWER: Final = 16_384
_REPLY: Final = b"identity: reply of a holder, v1"
_ANSWER: Final = b"identity: answer of a holder, v1"


@value_class
class AskedConsent:
    """``reply`` is the text by which the answer is given and fetched, until ``expires_at``."""

    reply: str
    agent: str
    holder: str
    request: str
    expires_at: datetime

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.reply.encode()).digest()


@value_class
class HolderApproval:
    """The holder's token for one use, and the credential that she chose."""

    credential_id: str
    ibct: Mapping[str, str]


@value_class
class HolderConsents:
    """``secret``: 32 octets that all processes derive."""

    replies: ConsentReplies
    clock: Clock
    secret: bytes = field(repr=False)
    random: Callable[[int], bytes]

    def ask(self, agent: str, holder: str, request: Mapping[str, Any]) -> AskedConsent:
        """A reply for ``request``, which any later question about the answer has to repeat."""
        expires_at = self.clock.now().replace(microsecond=0) + LIFETIME
        hashed = _hash(request)
        said = orjson.dumps([agent, holder, hashed, int(expires_at.timestamp())])
        reply = multibase.base64url_encode(sealing.seal(self.secret, said, _REPLY, random=self.random))
        return AskedConsent(reply, agent, holder, hashed, expires_at)

    def opened(self, reply: str) -> AskedConsent:
        """Raises ``InvalidRequest`` for a text that is no reply of ours, or has expired."""
        try:
            box = multibase.base64url_decode(reply if len(reply) <= MAX_REPLY else "")
            agent, holder, request, ends = orjson.loads(sealing.unseal(self.secret, box, _REPLY))
        except (ValueError, sealing.BoxInvalid) as error:
            raise InvalidRequest("This is no request that a holder can answer here.") from error
        asked = AskedConsent(reply, agent, holder, request, datetime.fromtimestamp(ends, UTC))
        if self.clock.now() >= asked.expires_at:
            raise InvalidRequest("The request has expired. Ask again.", details={"expiresAt": ends})
        return asked

    async def find(
        self, reply: str, agent: str, holder: str, request: Mapping[str, Any]
    ) -> tuple[AskedConsent, bool, HolderApproval | None]:
        """What was asked, whether it was answered, and the approval if it was one. Raises ``InvalidRequest`` for the reply to another
        request, or another agent's."""
        asked = self.opened(reply)
        if (asked.agent, asked.holder, asked.request) != (agent, holder, _hash(request)):
            raise InvalidRequest("The consent is to another request.")
        kept = await self.replies.find(asked.digest)
        if kept is None:
            return asked, False, None
        answer = orjson.loads(sealing.unseal(self.secret, kept.sealed, _ANSWER + asked.digest))
        return asked, True, None if answer is None else HolderApproval(**answer)

    async def answer(self, reply: str, holder: str, text: str) -> None:
        """Keeps what the holder says: the JSON ``null`` for no, or her approval ``{credentialId, ibct}``. Raises ``InvalidRequest`` for
        another holder, what is no approval for the agent that asked, and where she has answered before; ``IbctInvalid``."""
        asked = self.opened(reply)
        if asked.holder != holder:
            raise InvalidRequest("The request is to another holder.")
        approval = None if text == "null" else _approval(text, asked)
        octets = orjson.dumps(approval)
        sealed = sealing.seal(self.secret, octets, _ANSWER + asked.digest, random=self.random)
        if not await self.replies.keep(ConsentReply(asked.digest, sealed, asked.expires_at)):
            raise InvalidRequest("The request has been answered.")


def _approval(text: str, asked: AskedConsent) -> HolderApproval:
    try:
        value = strict_json.loads(text.encode() if len(text) <= MAX_ANSWER else b"")
    except strict_json.JsonRefused as error:
        raise InvalidRequest("The answer is no JSON.") from error
    if not isinstance(value, dict) or not {"credentialId", "ibct"} <= value.keys():
        raise InvalidRequest("An approval has the members credentialId and ibct.")
    credential, ibct = value["credentialId"], value["ibct"]
    if (
        not isinstance(credential, str)
        or not isinstance(ibct, dict)
        or not all(isinstance(v, str) for v in ibct.values())
    ):
        raise InvalidRequest("An approval has a credentialId and an IBCT.")
    capability = Capability.parse(ibct, places=())
    if (capability.invoker, capability.target) != (asked.holder, asked.agent):
        raise InvalidRequest("The IBCT is of another holder, or for another agent.")
    return HolderApproval(credential, ibct)


def _hash(request: Mapping[str, Any]) -> str:
    return multibase.base64url_encode(hashlib.sha256(jcs.canonicalize(dict(request))).digest())
