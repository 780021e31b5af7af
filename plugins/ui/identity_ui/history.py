"""The view of a DID's history and of a proof of inclusion: the difference of two documents, the life of each key, the
tree."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from identity_codec import multibase
from identity_tlog.proofs import inclusion_spans
from identity_tlog.tree import node_hash
from identity_ui.render import readable

_KEY_CHANGES: Final = {"keyAdded": "added", "keyRevoked": "revoked", "keyRemoved": "removed", "keyExpired": "removed"}


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Lines of both documents as people read them: ``+``, ``-`` or a space, and the line."""
    lines = difflib.ndiff(readable(before).splitlines(), readable(after).splitlines())
    return [(line[0], line[2:]) for line in lines if not line.startswith("?")]


def key_lives(versions: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return the lives of the keys that ``versions`` (items of a DidHistory) add, revoke or remove: fragment →
    ``added``, ``revoked``, ``removed`` → the number of the version. A key that was there before the oldest of them has
    no ``added``."""
    lives: dict[str, dict[str, int]] = {}
    for version in sorted(versions, key=lambda one: int(one["versionId"])):
        for change in version["changes"]:
            what, _, rest = change.partition(" ")
            if what in _KEY_CHANGES:
                lives.setdefault(rest.partition(" ")[0], {})[_KEY_CHANGES[what]] = version["versionId"]
    return lives


class Level(Struct, frozen=True):
    """One level of the path from a leaf to the root. Spans are the first leaf and the last; ``own`` is the node of the path and ``beside``
    the one that the proof brings, hashes in base64url; ``is_left``: ``own`` is on the left."""

    own: str
    own_span: tuple[int, int]
    beside: str
    beside_span: tuple[int, int]
    is_left: bool


def path_to_root(inclusion: Mapping[str, Any]) -> tuple[list[Level], str]:
    """Return the levels of a LedgerInclusionProof, the leaf's first, and the root to which they lead, computed here."""
    index, levels = inclusion["leafIndex"], list[Level]()
    own, span = inclusion["leafHash"], (index, index)
    spans = inclusion_spans(index, inclusion["treeSize"])
    for beside, (first, end) in zip(inclusion["hashes"], spans, strict=True):
        is_left = span[0] < first
        levels.append(Level(own, span, beside, (first, end - 1), is_left))
        left, right = map(multibase.base64url_decode, (own, beside) if is_left else (beside, own))
        own = multibase.base64url_encode(node_hash(left, right))
        span = (min(span[0], first), max(span[1], end - 1))
    return levels, own
