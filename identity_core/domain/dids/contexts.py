"""The JSON-LD contexts of services: of each type whose specification publishes one. Contexts are never fetched.

JSON-LD in safe mode refuses a document that has a service of another type (``openapi/DECISIONS.md``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

DIDCOMM: Final = "https://didcomm.org/messaging/contexts/v2"
# In the order in which a document lists them.
_BY_TYPE: Final = {
    "DIDCommMessaging": DIDCOMM,
    "LinkedDomains": "https://identity.foundation/.well-known/did-configuration/v1",
    "LinkedVerifiablePresentation": "https://identity.foundation/linked-vp/contexts/v1",
}
SERVICE_CONTEXTS: Final = tuple(_BY_TYPE.values())


def listed(types: Sequence[str], among: Collection[str]) -> tuple[str, ...]:
    """The contexts that a document with services of these ``types`` lists: those it uses ``among`` some, and DIDComm's, which was known
    before there were logs."""
    if not types:
        return ()
    known = [context for name, context in _BY_TYPE.items() if name in types]
    return tuple([context for context in known if context == DIDCOMM or context in among])
