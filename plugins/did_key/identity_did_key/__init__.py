"""The DID method ``did:key`` (W3C CCG): the identifier is a public key, and contains everything."""

from __future__ import annotations

from identity_core.plugin import BuildContext, Provider, hookimpl
from identity_core.ports.did_method import DidMethod
from identity_did_key.method import DidKey, DidKeySettings

__all__ = ["DidKey", "DidKeySettings", "identity_provide_did_method"]


def build(settings: DidKeySettings, context: BuildContext) -> DidKey:
    """Return the method; it needs nothing of the context."""
    return DidKey(settings)


@hookimpl
def identity_provide_did_method() -> Provider[DidMethod]:
    """Return the method."""
    return Provider("key", build, DidKeySettings, "identifiers that are their own document")
