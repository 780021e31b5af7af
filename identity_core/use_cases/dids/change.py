"""updateDid: one or several named operations in one atomic version.

rotateDidKey: a new key replaces an old one, which may stay valid for a grace period.

recoverDid: a new authentication key, authorised by the recovery key, which is used up and replaced. On request it restores an earlier
version.

deactivateDid: the permanent end of a DID. Only the audit log has the reason, because entries of the public log cannot be deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from functools import partial

from msgspec import Struct

from identity_codec.structs import plain, value_or
from identity_codec.values import replace
from identity_core.domain.activity import RequestContext
from identity_core.domain.dids import keys, requests
from identity_core.domain.dids.changes import Authorization, Deactivate, Recover, Rotate, SetWitnesses, Update, has_step
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import RECOVERY, Key, PublicKey
from identity_core.domain.inputs import optional_time
from identity_core.errors import ConfirmationRequired, InvalidRequest
from identity_core.ports.custodian import Custodian
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.commit import DidWriter, keep_secrets
from identity_core.use_cases.transparency import WitnessApprovals
from identity_core.wire import DeactivateDidRequest, RecoverDidRequest, RotateDidKeyRequest, UpdateDidRequest


class UpdateDid(Struct, frozen=True):
    """Use case updateDid. Raises ``InvalidDocument``, ``VersionConflict`` (``if_match``), and the errors of ``DidWriter.commit``."""

    writer: DidWriter
    approvals: WitnessApprovals

    async def __call__(
        self,
        did: Did,
        wish: UpdateDidRequest,
        authorization: Authorization,
        context: RequestContext,
        *,
        if_match: Collection[int] | None,
    ) -> IndexedVersion:
        # An entry with the signed body is refused if that has them: verifiers of logs interpret it as it is.
        change = Update(requests.operations(requests.without_empty_lists(plain(wish)), str(did)), authorization)
        if has_step(change, SetWitnesses):
            self.approvals.require()
        return await self.writer.commit(did, change, context, if_match=if_match)


class Rotated(Struct, frozen=True):
    """The result of a rotation. ``new_key`` has its secret only if the secret is returned. ``grace_period_end`` is the end of the old
    key: the time of the entry if there is no grace period."""

    version: IndexedVersion
    new_key: Key
    grace_period_end: datetime


class RotateDidKey(Struct, frozen=True):
    """Use case rotateDidKey. Raises ``InvalidDocument``: when a key or type is unknown, the old key is in its grace period, or the new
    grace period exceeds the maximum."""

    writer: DidWriter
    custodian: Custodian
    random: Callable[[int], bytes]

    async def __call__(
        self,
        did: Did,
        wish: RotateDidKeyRequest,
        authorization: Authorization,
        context: RequestContext,
        *,
        if_match: Collection[int] | None,
    ) -> Rotated:
        old_key_id = requests.absolute_key_id(wish.old_key_id, str(did))
        brought = value_or(wish.new_public_key_multibase, None)
        revoke_old_after = optional_time(wish.revoke_old_after, "revokeOldAfter")
        possession = requests.possession(value_or(wish.proof_of_possession, None))
        returned, stored = value_or(wish.return_secrets, True), value_or(wish.store_secrets, False)
        random = self.random if context.attempt is None else context.attempt.random
        if not (returned or stored or brought):
            raise InvalidRequest("returnSecrets: false needs storeSecrets: true, else the key would be lost.")
        if brought is not None:
            kind = PublicKey.parse(wish.new_key_type, brought).type
            new_key = Key(kind, brought, value_or(wish.purpose, ()), possession)
        else:
            new_key = keys.generate(wish.new_key_type, random, value_or(wish.purpose, ()))
            if stored and context.intent is None:
                await keep_secrets(self.custodian, did, (replace(new_key, purposes=("rotation",)),))
        change = Rotate(old_key_id, new_key, revoke_old_after, authorization)

        def rotated(version: IndexedVersion) -> Rotated:
            old = version.state.document.method(old_key_id)
            end = old.revoked if old is not None and old.revoked is not None else version.state.updated_at
            return Rotated(version, new_key if returned else replace(new_key, secret=None), end)

        return rotated(await self.writer.commit(did, change, replace(context, result=rotated), if_match=if_match))


class Recovered(Struct, frozen=True):
    """The new version, and the next recovery key, which replaces the used one."""

    version: IndexedVersion
    recovery_key: Key


class RecoverDid(Struct, frozen=True):
    """Use case recoverDid. Raises ``InvalidDocument``: when a key is invalid, the recovery key is also an authentication key or was used
    before, or the version may not be restored. Raises ``DidNotFound``: when the version does not exist."""

    writer: DidWriter
    random: Callable[[int], bytes]

    async def __call__(
        self, did: Did, wish: RecoverDidRequest, authorization: Authorization, context: RequestContext
    ) -> Recovered:
        new, successor = wish.new_authentication_key, value_or(wish.new_recovery_key, None)
        possession = requests.possession(value_or(new.proof_of_possession, None))
        key = PublicKey.parse(new.type, new.public_key_multibase)
        if successor is not None:
            kind = PublicKey.parse(successor.type, successor.public_key_multibase).type
            following = Key(kind, successor.public_key_multibase, (RECOVERY,))
        else:
            random = self.random if context.attempt is None else context.attempt.random
            following = keys.generate("Ed25519", random, (RECOVERY,))
        new_key = Key(key.type, key.multibase, keys.default_purposes(key.type, primary=True), possession)
        change = Recover(
            new_key,
            value_or(wish.revoke_all_existing_keys, False),
            following.public,
            authorization,
            value_or(wish.restore_version, None),
        )
        context = replace(context, result=partial(Recovered, recovery_key=following))
        return Recovered(await self.writer.commit(did, change, context), following)


class DeactivateDid(Struct, frozen=True):
    """Use case deactivateDid. Raises ``ConfirmationRequired``: when ``confirm`` is not true."""

    writer: DidWriter

    async def __call__(
        self,
        did: Did,
        wish: DeactivateDidRequest,
        authorization: Authorization,
        context: RequestContext,
        *,
        if_match: Collection[int] | None,
    ) -> IndexedVersion:
        if not wish.confirm:
            raise ConfirmationRequired(details={"did": str(did)})
        noted = replace(context, note=value_or(wish.reason, None))
        return await self.writer.commit(did, Deactivate(authorization), noted, if_match=if_match)
