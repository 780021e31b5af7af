"""Client library of the identity service: signatures bound to what they authorise, every operation, offline verification.

``README.md`` has a proof in a few lines. ``Client`` calls any operation by its operationId; ``Session`` makes one
request and returns one answer, which the commands use. The signature, which no generator makes, is ``Signer`` and ``sign_token``::

    from identity_client import Client, Signer

    with Client("http://127.0.0.1:8080") as client:
        signed = client.as_(Signer(did, secret_multikey))
        signed.call("updateDid", {"operation": "removeService", "serviceId": "agent"}, did=did)

The service imports ``challenge``, ``action``, ``capability``, ``data_integrity`` and ``possession`` from here: each rule of a
signature is implemented once. These modules import no HTTP client.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from identity_client.answers import IdentityError as IdentityError
    from identity_client.answers import ServiceError as ServiceError
    from identity_client.answers import ServiceUnreachable as ServiceUnreachable
    from identity_client.answers import UnreadableAnswer as UnreadableAnswer
    from identity_client.challenge import ChallengeRefused as ChallengeRefused
    from identity_client.challenge import ForeignOrigin as ForeignOrigin
    from identity_client.challenge import hash_body as hash_body
    from identity_client.client import AsyncClient as AsyncClient
    from identity_client.client import CallLimits as CallLimits
    from identity_client.client import Client as Client
    from identity_client.did_auth import Signer as Signer
    from identity_client.ibct import IbctTemplate as IbctTemplate
    from identity_client.ibct import action_text as action_text
    from identity_client.ibct import sign_token as sign_token
    from identity_client.resolution import LogPlace as LogPlace
    from identity_client.resolution import PlaceUnknown as PlaceUnknown
    from identity_client.resolution import require_place as require_place
    from identity_client.session import Exchange as Exchange
    from identity_client.session import Session as Session
    from identity_client.status_list import read_status as read_status
    from identity_client.verification import Expectation as Expectation
    from identity_client.verification import verify as verify
    from identity_client.verification import verify_log as verify_log

_NAMES = {
    "answers": ("IdentityError", "ServiceError", "ServiceUnreachable", "UnreadableAnswer"),
    "challenge": ("ChallengeRefused", "ForeignOrigin", "hash_body"),
    "client": ("AsyncClient", "CallLimits", "Client"),
    "did_auth": ("Signer",),
    "ibct": ("IbctTemplate", "action_text", "sign_token"),
    "resolution": ("LogPlace", "PlaceUnknown", "require_place"),
    "session": ("Exchange", "Session"),
    "status_list": ("read_status",),
    "verification": ("Expectation", "verify", "verify_log"),
}


def __getattr__(name: str) -> Any:
    """Return a public name, and import its module then. Otherwise the service would import the HTTP client with each rule."""
    if name == "Identity":
        warnings.warn("Identity leaves in 1.2: use Client", DeprecationWarning, stacklevel=2)
        name = "Client"
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"identity_client.{module}"), name)
    raise AttributeError(f"identity_client has no {name}")
