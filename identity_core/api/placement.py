"""Where operations are served besides their own path at the public listener: at the root, or at a listener for operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

# The paths at the root that are operations of the document (openapi/DECISIONS.md §1.1), and which ones.
ROOT_ALIASES: Mapping[str, Sequence[str]] = {
    "/.well-known/jwks.json": ("getJwks",),
    "/auth/challenge": ("getDidAuthChallenge",),
    "/health": ("getHealth",),
    "/ready": ("getReadiness",),
    "/metrics": ("getMetrics",),
    "/version": ("getVersion",),
    "/1.0/identifiers/{identifier:path}": ("resolveIdentifier", "resolveIdentifierWithOptions"),
    "/1.0/methods": ("listDidMethods",),
    "/1.0/properties": ("listDidMethodProperties",),
    # So ACA-Py writes it.
    "/1.0/properties/": ("listDidMethodProperties",),
    "/1.0/testIdentifiers": ("listTestIdentifiers",),
    "/1.0/traits": ("listDidTraits",),
    "/1.0/create": ("registerDid",),
    "/1.0/update": ("registerDidUpdate",),
    "/1.0/deactivate": ("registerDidDeactivation",),
    "/vcalm/credentials/verify": ("verifyVcalmCredential",),
    "/vcalm/presentations/verify": ("verifyVcalmPresentation",),
    "/vcalm/challenges": ("createVcalmChallenge",),
}

# What a listener for operators serves: the operations of these tags and these besides, and ``WITH_BOTH`` so that it can be asked for its
# own health.
APART_TAGS: Final = frozenset({"api_keys", "audit"})
APART: Final = frozenset({"getMetrics"})
WITH_BOTH: Final = frozenset({"getHealth", "getReadiness", "getVersion"})
# Pages of operators are served there too, and what those load and lead to by both.
APART_PAGES: Final = "/ui/operator"
PAGES_WITH_BOTH: Final = ("/ui/static/", "/ui/did/", "/ui/transaction/", "/ui/search")


def is_apart(operation_id: str, tags: Sequence[str]) -> bool:
    """Whether a listener for operators, where there is one, is the only one that serves the operation."""
    return operation_id in APART or not APART_TAGS.isdisjoint(tags)
