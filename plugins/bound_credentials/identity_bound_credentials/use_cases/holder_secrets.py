"""The check that the keeper of holders' secrets still has the secret of a credential.

A replaced keeper still gives consents, but with a secret to which no credential is bound. No stored data shows that, so this check
requests a consent that is never used.

rotateHolderSecret: the holder's next secret in the custodian, or the removal of the former ones.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from identity_bbs.holders import FIRST
from identity_bound_credentials.domain.presentation import check_consent
from identity_bound_credentials.ports import SecretRotation
from identity_bound_credentials.store.holder_secrets import StoredHolderSecrets
from identity_bound_credentials.wire import RotateHolderSecretRequest
from identity_codec.strict_json import JsonValue
from identity_core.domain.activity import Event, EventRecord, Parties, RequestContext
from identity_core.domain.credentials.credential import Binding
from identity_core.domain.dids.did import Did
from identity_core.errors import Forbidden, PluginUnavailable, PredicateUnsupported
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import Custodian, KeepingCustodian, KeyNotHeld, RenewingCustodian

# No message of a consent begins so (PROTOCOL-2.md §1.1, equation 5.4).
_PROBE: Final = b"identity-service: is this secret still kept?"
REMEDY: Final = (
    "Put back what the custodian of holders' secrets keeps, from its own backup. Where it is gone for good, have the issuer revoke the "
    "credential and issue another: nothing is carried over."
)

MOST_TOLD = 1000
"""Credentials that an answer of rotateHolderSecret names."""


async def is_kept(keeper: Custodian, credential_id: str, binding: Binding) -> bool:
    """Return whether the keeper has the secret of a credential. Raises ``PluginUnavailable``: when the keeper is unreachable."""
    if not isinstance(keeper, KeepingCustodian):
        return False
    try:
        consent = await keeper.consent(binding.secret, (credential_id,), _PROBE, None)
        check_consent(consent, [binding.commitment], _PROBE, None)
    except (KeyNotHeld, PredicateUnsupported):
        return False
    return True


async def root_of_new(keeper: Custodian) -> int:
    """Return the number of the keeper's key from which new secrets follow. Raises ``PluginUnavailable``."""
    return await keeper.holders_root() if isinstance(keeper, RenewingCustodian) else FIRST


def lost() -> PluginUnavailable:
    """Return the error for a credential with which no proof can be made."""
    return PluginUnavailable("The secret that the credential is bound to is not kept here.", details={"remedy": REMEDY})


class RotateHolderSecret(Struct, frozen=True):
    """The operation rotateHolderSecret, which the holder must sign. Raises ``Forbidden``. Raises ``PluginUnavailable``: when the
    keeper is unreachable."""

    secrets: StoredHolderSecrets
    keeper: Custodian
    clock: Clock

    async def __call__(self, wish: RotateHolderSecretRequest, context: RequestContext) -> tuple[Did, SecretRotation]:
        """Return the holder, and the credentials that are bound to former secrets."""
        holder = context.caller.did
        if holder is None:
            raise Forbidden("Only the holder rotates the secret, by a signature.")
        did, now, root = str(holder), self.clock.now(), await root_of_new(self.keeper)
        change = self.secrets.forget if wish.forget_former else self.secrets.rotate
        kind = "holder.secretsForgotten" if wish.forget_former else "holder.secretRotated"

        def tell(done: SecretRotation) -> EventRecord:
            details: dict[str, JsonValue] = {"generation": done.generation, "credentials": len(done.credentials)}
            return EventRecord(Event(kind, did, Parties(holder=did), details=details), context, now)

        with context.keeping(lambda done: (holder, done)):
            return holder, await change(did, root, now, tell, limit=MOST_TOLD)
