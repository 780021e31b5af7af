"""The DID method ``did:ids`` (openapi/DECISIONS.md §2.1): self-certifying identifiers, a hash-chained and signed log.

Copy this plugin to write your own method. A plugin is a module with a hook, and the hook returns a ``Provider``. Its ``build`` gets
the plugin's validated settings and returns the object that the core calls from then on.
"""

from __future__ import annotations

from identity_core.plugin import BuildContext, Provider, hookimpl
from identity_core.ports.did_method import DidMethod
from identity_did_ids.method import DidIds, DidIdsSettings

__all__ = ["DidIds", "DidIdsSettings", "identity_provide_did_method"]


def build(settings: DidIdsSettings, context: BuildContext) -> DidIds:
    """Return the method. It needs nothing of the context: a DID method has no clock, no disk and no network."""
    return DidIds(settings)


@hookimpl
def identity_provide_did_method() -> Provider[DidMethod]:
    """Return the method."""
    return Provider("ids", build, DidIdsSettings, "self-certifying DIDs with a log that anybody can check")
