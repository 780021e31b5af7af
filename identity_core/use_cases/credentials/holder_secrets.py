"""Whether the keeper of holders' secrets still has the one that a credential is bound to.

A keeper that was lost, or is another one, still gives consents: to a secret that no credential is bound to. Nothing that is stored tells,
so it is asked for a consent that serves nothing.
"""

from __future__ import annotations

from typing import Final

from identity_core.domain.credentials.credential import Binding
from identity_core.domain.credentials.holder_secret import FIRST
from identity_core.errors import PluginUnavailable, PredicateUnsupported
from identity_core.ports.custodian import Custodian, KeepingCustodian, KeyNotHeld, RenewingCustodian

# No message of a consent begins so (PROTOCOL-2.md §1.1, equation 5.4).
_PROBE: Final = b"identity-service: is this secret still kept?"
REMEDY: Final = (
    "Put back what the custodian of holders' secrets keeps, from its own backup. Where it is gone for good, have the issuer revoke the "
    "credential and issue another: nothing is carried over."
)


async def is_kept(keeper: Custodian, credential_id: str, binding: Binding) -> bool:
    """Raises ``PluginUnavailable`` where the keeper is away."""
    if not isinstance(keeper, KeepingCustodian):
        return False
    try:
        consent = await keeper.consent(binding.secret, (credential_id,), _PROBE, None)
        consent.check([binding.commitment], _PROBE, None)
    except (KeyNotHeld, PredicateUnsupported):
        return False
    return True


async def root_of_new(keeper: Custodian) -> int:
    """The number of the keeper's key that secrets follow from which are named now. Raises ``PluginUnavailable``."""
    return await keeper.holders_root() if isinstance(keeper, RenewingCustodian) else FIRST


def lost() -> PluginUnavailable:
    """No proof can be made with the credential."""
    return PluginUnavailable("The secret that the credential is bound to is not kept here.", details={"remedy": REMEDY})
