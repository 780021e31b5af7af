"""Client library of the identity service: signatures bound to what they authorise, every operation, status lists checked offline.

``README.md`` has a proof in a few lines. ``Identity`` calls any operation by its operationId; ``Client`` is what the commands use: one
request and one answer. Generated clients call every operation too. The signature, which no generator makes, is ``Signer`` and ``ibct``::

    from identity_client import Identity, Signer

    with Identity("http://127.0.0.1:8080") as identity:
        signed = identity.as_(Signer(did, secret_multikey))
        signed.call("updateDid", {"operation": "removeService", "serviceId": "agent"}, did=did)

The service imports ``challenge``, ``action``, ``capability``, ``data_integrity`` and ``possession`` from here: each rule of a
signature is implemented once. These modules import no HTTP client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from identity_client.challenge import hash_body
    from identity_client.did_auth import ForeignOrigin, Signer
    from identity_client.identity import CallLimits, Identity
    from identity_client.resolution import LogPlace, PlaceUnknown, require_place
    from identity_client.session import Client, Exchange, ServiceError, ServiceUnreachable, UnreadableAnswer

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


def __getattr__(name: str) -> Any:
    """Return a public name, and import its module then. Otherwise the service would import the HTTP client with each rule."""
    if name in __all__:
        for module in ("challenge", "did_auth", "resolution", "session", "identity"):
            names = vars(import_module(f"identity_client.{module}"))
            if name in names:
                return names[name]
    raise AttributeError(f"identity_client has no {name}")
