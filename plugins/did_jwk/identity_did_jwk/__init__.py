"""The DID method ``did:jwk``: the identifier is a JSON Web Key, and the document follows from it."""

from __future__ import annotations

from identity_core.plugin import BuildContext, NoSettings, Provider, hookimpl
from identity_core.ports.did_method import DidMethod
from identity_did_jwk.method import DidJwk

__all__ = ["DidJwk", "identity_provide_did_method"]


def build(settings: NoSettings, context: BuildContext) -> DidJwk:
    """Return the method; it needs nothing of the context."""
    return DidJwk()


@hookimpl
def identity_provide_did_method() -> Provider[DidMethod]:
    """Return the method."""
    return Provider("jwk", build, summary="identifiers that are a JSON Web Key; nothing is recorded")
