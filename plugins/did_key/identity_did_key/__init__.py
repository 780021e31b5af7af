"""The DID method ``did:key`` (W3C CCG): the identifier is a public key, and says everything itself."""

from __future__ import annotations

from identity_core.plugin import BuildContext, NoSettings, Provider, hookimpl
from identity_core.ports.did_method import DidMethod
from identity_did_key.method import DidKey

__all__ = ["DidKey", "identity_provide_did_method"]


def build(settings: NoSettings, context: BuildContext) -> DidKey:
    """The method; it needs nothing."""
    return DidKey()


@hookimpl
def identity_provide_did_method() -> Provider[DidMethod]:
    """Hands over the method."""
    return Provider("key", build, NoSettings, "identifiers that are their own document")
