"""The keys of issuers that the custodian of this service holds, as the issuers' DID documents have them now."""

from __future__ import annotations

from identity_codec import multikey
from identity_core.domain.dids import keys
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.keys import PublicKey
from identity_core.errors import InvalidCredential
from identity_core.ports.custodian import Custodian, KeyNotHeld


async def newest_held_key(
    custodian: Custodian, document: DidDocument, wanted: str | None = None, *, kind: str = multikey.BLS12381G2
) -> tuple[str, PublicKey]:
    """The newest of the issuer's assertion keys of this type that the custodian has, under the key's own id (``CreateDid`` put it there),
    or the one that is asked for. Raises ``InvalidCredential``."""
    for key_id in reversed(assertion_keys(document, kind)):
        if wanted not in (None, key_id):
            continue
        try:
            held = await custodian.public_key(key_id)
        except KeyNotHeld:
            continue
        return key_id, PublicKey.parse(kind, held)
    raise InvalidCredential(
        "The service holds no key of the issuer that signs credentials.",
        details={
            "reason": ("no" if wanted is None else "verificationMethod names no")
            + f" {kind} assertionMethod key of the issuer that is held here: create it with storeSecrets,"
            " or sign the credential elsewhere and import it"
        },
    )


def assertion_keys(document: DidDocument, kind: str = multikey.BLS12381G2) -> list[str]:
    """The ids of the keys of this type that sign credentials, in the order of the document. A key in its grace period is none: the issuer
    who rotated it wants new credentials to be signed by its successor."""
    found = []
    for key_id in document.related(keys.ASSERTION_METHOD):
        method = document.method(key_id)
        if method is not None and method.type == kind and method.revoked is None:
            found.append(key_id)
    return found
