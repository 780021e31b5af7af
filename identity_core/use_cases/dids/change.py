"""updateDid: one or several named operations in one atomic version.

rotateDidKey: a new key takes the place of an old one, which may stay for a grace period.

recoverDid: a new authentication key under the recovery key, which is spent and replaced.

deactivateDid: the end of a DID, for good. The reason goes to the audit log only: the public log cannot forget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from identity_core.codec import multibase, times
from identity_core.codec.structs import UNSET, UnsetType, given, member_names
from identity_core.domain.activity import RequestContext
from identity_core.domain.dids import keys
from identity_core.domain.dids.changes import (
    AddService,
    AddVerificationMethod,
    Authorization,
    Deactivate,
    NewService,
    Operation,
    Recover,
    RemoveService,
    RemoveVerificationMethod,
    Rotate,
    SetAlsoKnownAs,
    Update,
    UpdateService,
)
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import RECOVERY, Key, PublicKey
from identity_core.domain.echo import DID, echoed
from identity_core.errors import ConfirmationRequired, InvalidDocument, InvalidRequest
from identity_core.ports.custodian import Custodian
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.commit import DidWriter, keep_secrets
from identity_core.wire import (
    DeactivateDidRequest,
    RecoverDidRequest,
    RotateDidKeyRequest,
    ServiceInput,
    UpdateDidRequest,
    UpdateOperation,
)


@dataclass(frozen=True, slots=True)
class UpdateDid:
    """Raises ``InvalidDocument``, ``VersionConflict`` (``if_match``), and what every write raises."""

    writer: DidWriter

    async def __call__(
        self,
        did: Did,
        wish: UpdateDidRequest,
        authorization: Authorization,
        context: RequestContext,
        *,
        if_match: int | None,
    ) -> IndexedVersion:
        return await self.writer.commit(
            did, Update(operations_of(wish, did), authorization), context, if_match=if_match
        )


@dataclass(frozen=True, slots=True)
class Rotated:
    """``new_key`` has its secret only where it is returned; ``grace_period_end`` is when the old key stops: the entry's own time when
    there is no grace."""

    version: IndexedVersion
    new_key: Key
    grace_period_end: datetime


@dataclass(frozen=True, slots=True)
class RotateDidKey:
    """Raises ``InvalidDocument`` for unknown keys and types, a key in grace, a grace beyond the cap."""

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
        if_match: int | None,
    ) -> Rotated:
        old_key_id, brought = absolute_key_id(wish.old_key_id, did), given(wish.new_public_key_multibase, None)
        revoke_old_after = times.optional(wish.revoke_old_after, "revokeOldAfter")
        possession = possession_of(wish.proof_of_possession)
        returned, stored = given(wish.return_secrets, True), given(wish.store_secrets, False)
        if not (returned or stored or brought):
            raise InvalidRequest("returnSecrets: false needs storeSecrets: true, else the key would be lost.")
        if brought is not None:
            kind = PublicKey.parse(wish.new_key_type, brought).type
            new_key = Key(kind, brought, given(wish.purpose, ()), possession)
        else:
            new_key = keys.generate(wish.new_key_type, self.random, given(wish.purpose, ()))
            if stored:
                await keep_secrets(self.custodian, did, (replace(new_key, purposes=("rotation",)),))
        change = Rotate(old_key_id, new_key, revoke_old_after, authorization)
        version = await self.writer.commit(did, change, context, if_match=if_match)
        old = version.state.document.method(old_key_id)
        end = old.revoked if old is not None and old.revoked is not None else version.state.updated_at
        return Rotated(version, new_key if returned else replace(new_key, secret=None), end)


@dataclass(frozen=True, slots=True)
class Recovered:
    """The new version, and the recovery key that succeeds the spent one."""

    version: IndexedVersion
    recovery_key: Key


@dataclass(frozen=True, slots=True)
class RecoverDid:
    """Raises ``InvalidDocument`` for bad keys, a recovery key that is also an authentication key, or the spent one again."""

    writer: DidWriter
    random: Callable[[int], bytes]

    async def __call__(
        self, did: Did, wish: RecoverDidRequest, authorization: Authorization, context: RequestContext
    ) -> Recovered:
        new, successor = wish.new_authentication_key, given(wish.new_recovery_key, None)
        possession = possession_of(new.proof_of_possession)
        key = PublicKey.parse(new.type, new.public_key_multibase)
        if successor is not None:
            kind = PublicKey.parse(successor.type, successor.public_key_multibase).type
            following = Key(kind, successor.public_key_multibase, (RECOVERY,))
        else:
            following = keys.generate("Ed25519", self.random, (RECOVERY,))
        new_key = Key(key.type, key.multibase, keys.default_purposes(key.type, primary=True), possession)
        change = Recover(new_key, given(wish.revoke_all_existing_keys, False), following.public, authorization)
        version = await self.writer.commit(did, change, context)
        return Recovered(version, following)


@dataclass(frozen=True, slots=True)
class DeactivateDid:
    """Raises ``ConfirmationRequired`` unless ``confirm`` is true."""

    writer: DidWriter

    async def __call__(
        self,
        did: Did,
        wish: DeactivateDidRequest,
        authorization: Authorization,
        context: RequestContext,
        *,
        if_match: int | None,
    ) -> IndexedVersion:
        if not wish.confirm:
            raise ConfirmationRequired(details={"did": str(did)})
        noted = replace(context, note=given(wish.reason, None))
        return await self.writer.commit(did, Deactivate(authorization), noted, if_match=if_match)


_MEMBERS: Final = {
    "addService": {"service"},
    "updateService": {"service"},
    "removeService": {"serviceId"},
    "addVerificationMethod": {"verificationMethod", "relationships"},
    "removeVerificationMethod": {"keyId"},
    "setAlsoKnownAs": {"alsoKnownAs"},
}


def operations_of(wish: UpdateDidRequest, did: Did) -> tuple[Operation, ...]:
    """Members that belong to another operation are refused, not ignored. Raises ``InvalidRequest``, ``InvalidDocument``."""
    if isinstance(wish.operations, UnsetType):
        return (_operation(wish, did),)
    if len(member_names(wish)) > 1:
        raise InvalidRequest("operations stands alone: put every operation into it.")
    return tuple(_operation(item, did) for item in wish.operations)


def absolute_key_id(text: str, did: Did) -> str:
    """A key id as the document has it: a bare fragment is taken to be one of this DID."""
    return f"{did}{text}" if text.startswith("#") else text


def possession_of(text: str | UnsetType) -> bytes | None:
    """The proof of possession beside a key. What is no signature is refused where it is checked. Raises ``InvalidDocument``."""
    if isinstance(text, UnsetType):
        return None
    try:
        return multibase.base64url_decode(text)
    except ValueError as error:
        raise InvalidDocument(
            "proofOfPossession is base64url without padding, of 80 octets.", details={"member": "proofOfPossession"}
        ) from error


def _operation(item: UpdateOperation | UpdateDidRequest, did: Did) -> Operation:
    name = given(item.operation, "")
    if name not in _MEMBERS:
        raise InvalidRequest("operation is missing or unknown.", details={"supported": [*sorted(_MEMBERS)]})
    expected, there = _MEMBERS[name], member_names(item) - {"operation"}
    if there != expected and not (name == "addVerificationMethod" and there == {"verificationMethod"}):
        raise InvalidRequest(
            f"{name} takes {' and '.join(sorted(expected))}.",
            details={"missing": [*sorted(expected - there)], "unexpected": [*sorted(there - expected)]},
        )
    if item.service is not UNSET:
        service = _service(item.service, did)
        return AddService(service) if name == "addService" else UpdateService(service)
    if item.service_id is not UNSET:
        return RemoveService(_fragment(item.service_id, did))
    if item.key_id is not UNSET:
        return RemoveVerificationMethod(absolute_key_id(item.key_id, did))
    if item.verification_method is not UNSET:
        method = item.verification_method
        kind = keys.key_type(method.type).name
        purposes = given(item.relationships, ()) or keys.default_purposes(kind, primary=False)
        possession = possession_of(method.proof_of_possession)
        return AddVerificationMethod(Key(kind, method.public_key_multibase, purposes, possession))
    return SetAlsoKnownAs(given(item.also_known_as, ()))


def _service(service: ServiceInput, did: Did) -> NewService:
    return NewService(service.type, service.service_endpoint, _fragment(service.id, did))


def _fragment(text: str, did: Did) -> str:
    """The fragment of a service id, given bare, with ``#``, or as an absolute DID URL of this DID."""
    absolute, separator, fragment = text.rpartition("#")
    if absolute not in ("", str(did)) or (not separator and text.startswith("did:")):
        raise InvalidDocument("The service id belongs to another DID.", details={"id": echoed(text, DID)})
    return fragment
