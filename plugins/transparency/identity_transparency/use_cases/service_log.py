"""Entries in the log of the service's own DID, written beside a running service."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from identity_did_ids.service_log import LogKeyHistory
from msgspec import Struct

from identity_client import challenge
from identity_client.challenge import DID_AUTH
from identity_codec import multikey
from identity_codec.strict_json import JsonValue
from identity_core.domain.activity import OPERATOR, RequestContext
from identity_core.domain.dids import keys, requests
from identity_core.domain.dids.changes import Authorization, Change, Create, Update
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import Key
from identity_core.domain.dids.logs import LogKeys
from identity_core.errors import StorageMismatch
from identity_core.ports.custodian import Custodian
from identity_core.ports.did_method import PreRotatingDidMethod
from identity_core.use_cases.dids.commit import TICK, DidWriter
from identity_core.use_cases.dids.log_keys import SERVICE_KEY, SignedEntry
from identity_transparency.use_cases.follow import FollowServiceLog, ServiceName, find_service

CHALLENGE_SECONDS: Final = 300


class ServiceLog(Struct, frozen=True):
    """The log of the service's own DID under ``method``. ``origin``: the name of the service in challenges that its own key signs."""

    writer: DidWriter
    follow: FollowServiceLog
    method: PreRotatingDidMethod
    tree: ServiceName
    origin: str

    @property
    def history(self) -> LogKeyHistory:
        """Return the content of the log. Raises ``StorageMismatch``: when it has not begun."""
        if self.follow.history is None:
            raise StorageMismatch("The service log is not on the ledger.")
        return self.follow.history

    async def begun(self) -> Did:
        """Return the service's own DID. Begin its log if it has not begun."""
        if self.follow.history is None:
            custodian = self.writer.signer.custodian
            known = await find_service(self.writer.ledger, custodian)
            await self.tree.begin_service(known or await self._begin(custodian))
            await self.follow.now()
        return Did.parse(self.history.did)

    async def _begin(self, custodian: Custodian) -> str:
        public = await custodian.generate(SERVICE_KEY, multikey.ED25519, did="-", purpose=SERVICE_KEY)
        # A DID needs a controller; this key is not used to sign in.
        key = Key(multikey.ED25519, public, keys.default_purposes(multikey.ED25519, primary=True))
        now = self.writer.clock.now()
        signed = await self.writer.signer.signed(self.method, None, Create((key,), (), strict_evidence=True), now)
        version = await self.writer.append(None, signed, RequestContext("beginServiceLog", OPERATOR), owner=None)
        return str(version.state.did)

    async def append(self, did: Did, change: Change, name: str, said: LogKeys | None = None) -> None:
        """Append an entry about the log's own keys, signed by the custodian's key of this name."""
        standing = await self.writer.reader.active(did)
        state = standing.recorded.state
        public = await self.writer.signer.custodian.public_key(name)
        at = max(self.writer.clock.now(), state.updated_at + TICK)
        draft = self.method.draft(state, change, at, signer=public, next_keys=said)
        signature = await self.writer.signer.custodian.sign(name, draft.signing_input)
        await self.writer.append(state, SignedEntry(draft, signature), RequestContext("rotateLogKey", OPERATOR))
        await self.follow.now()

    async def update(self, did: Did, steps: Sequence[JsonValue], nonce: bytes) -> None:
        """Append an entry that changes the document by the operations ``steps``, as updateDid does. The service's own key
        authorizes it over a challenge with this nonce of 32 bytes."""
        body: dict[str, JsonValue] = {"operations": [*steps]}
        custodian = self.writer.signer.custodian
        text = challenge.build(
            origin=self.origin,
            did=str(did),
            purpose=challenge.UPDATE,
            body_hash=challenge.hash_body(body),
            nonce=nonce,
            expires_at=self.writer.clock.now() + timedelta(seconds=CHALLENGE_SECONDS),
        )
        signature = await custodian.sign(SERVICE_KEY, text.encode())
        key = await custodian.public_key(SERVICE_KEY)
        authorization = Authorization(DID_AUTH, key, text, signature, body)
        change = Update(requests.operations(body, str(did)), authorization)
        await self.writer.commit(did, change, RequestContext("replaceServiceKey", OPERATOR))
        await self.follow.now()
