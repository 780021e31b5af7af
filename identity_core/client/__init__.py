"""For programs that call the service: DIDAuth signatures bound to what they authorise, and a small HTTP session.

Generated clients speak every operation; what no generator makes is the signature, and that is here::

    from identity_core.client import Client, Signer

    session = Client("http://127.0.0.1:8080")
    signer = Signer(did, secret_multikey)
    session.update(did, {"operation": "removeService", "serviceId": "agent"}, signer)
"""

from identity_core.client.did_auth import ForeignOrigin, Signer
from identity_core.client.resolution import LogPlace, PlaceUnknown, require_place
from identity_core.client.session import Client, Exchange, ServiceError, ServiceUnreachable
from identity_core.domain.dids.challenge import hash_body

__all__ = [
    "Client",
    "Exchange",
    "ForeignOrigin",
    "LogPlace",
    "PlaceUnknown",
    "ServiceError",
    "ServiceUnreachable",
    "Signer",
    "hash_body",
    "require_place",
]
