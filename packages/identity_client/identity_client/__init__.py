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
    from identity_client.challenge import hash_body as hash_body
    from identity_client.did_auth import ForeignOrigin as ForeignOrigin
    from identity_client.did_auth import Signer as Signer
    from identity_client.identity import CallLimits as CallLimits
    from identity_client.identity import Identity as Identity
    from identity_client.resolution import LogPlace as LogPlace
    from identity_client.resolution import PlaceUnknown as PlaceUnknown
    from identity_client.resolution import require_place as require_place
    from identity_client.session import Client as Client
    from identity_client.session import Exchange as Exchange
    from identity_client.session import ServiceError as ServiceError
    from identity_client.session import ServiceUnreachable as ServiceUnreachable
    from identity_client.session import UnreadableAnswer as UnreadableAnswer

_NAMES = {
    "challenge": ("hash_body",),
    "did_auth": ("ForeignOrigin", "Signer"),
    "identity": ("CallLimits", "Identity"),
    "resolution": ("LogPlace", "PlaceUnknown", "require_place"),
    "session": ("Client", "Exchange", "ServiceError", "ServiceUnreachable", "UnreadableAnswer"),
}


def __getattr__(name: str) -> Any:
    """Return a public name, and import its module then. Otherwise the service would import the HTTP client with each rule."""
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"identity_client.{module}"), name)
    raise AttributeError(f"identity_client has no {name}")
