"""For programs that call the service: signatures bound to what they authorise, every operation, logs that are checked offline.

``README.md`` has a proof in a few lines. ``Identity`` calls any operation by its operationId; ``Client`` is what the commands use: one
request and one answer. Clients that are generated speak every operation too; what no generator makes is the signature, and that is
``Signer`` and ``ibct``::

    from identity_core.client import Identity, Signer

    with Identity("http://127.0.0.1:8080") as identity:
        signed = identity.as_(Signer(did, secret_multikey))
        signed.call("updateDid", {"operation": "removeService", "serviceId": "agent"}, did=did)
"""

from identity_core.client.did_auth import ForeignOrigin, Signer
from identity_core.client.identity import CallLimits, Identity
from identity_core.client.resolution import LogPlace, PlaceUnknown, require_place
from identity_core.client.session import Client, Exchange, ServiceError, ServiceUnreachable, UnreadableAnswer
from identity_core.domain.dids.challenge import hash_body

__all__ = [
    "CallLimits",
    "Client",
    "Exchange",
    "ForeignOrigin",
    "Identity",
    "LogPlace",
    "PlaceUnknown",
    "ServiceError",
    "ServiceUnreachable",
    "Signer",
    "UnreadableAnswer",
    "hash_body",
    "require_place",
]
