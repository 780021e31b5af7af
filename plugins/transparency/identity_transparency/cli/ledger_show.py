"""``identity ledger show``: the tree of the log, and the path by which an entry is in it, drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click
from identity_commands.remote import session, url_option

from identity_codec.multibase import base64url_encode
from identity_core.cli.options import Whole
from identity_core.cli.output import Command, failing, show
from identity_tlog.leaf import LogLeaf
from identity_tlog.note import Checkpoint, Note
from identity_tlog.proofs import Span, inclusion_spans, subtrees
from identity_tlog.tree import Malformed, Refuted, leaf_hash, node_hash
from identity_transparency.cli.ledger_prove import entry_summary, fetched_proof


@click.command(name="show", cls=Command)
@click.argument("subject", metavar="[DID|TRANSACTION]", required=False)
@url_option
@click.option("--version-id", type=Whole(1), help="Number of the version of the DID.  [default: the newest]")
def show_tree(subject: str | None, url: str, version_id: int | None) -> None:
    """Draw the tree of the log under the service's checkpoint. With a DID or a transaction, draw the path from its
    entry to the root.

    Hashes from the service are marked `given`. The others are computed here, up to the root of the checkpoint.
    `identity ledger verify` proves the signature of the log's key and the content of the entry.
    """
    if subject is None and version_id is not None:
        raise click.UsageError("--version-id goes with a DID.")
    with session(url) as http, failing((Malformed, Refuted), url, "do not trust this log until you know why"):
        if subject is None:
            checkpoint = Checkpoint.parse(Note.parse(http.get_bytes("/ledger/checkpoint")).text)
            nodes, entry = _peaks(checkpoint), None
        else:
            leaf, _, checkpoint, hashes = fetched_proof(http, subject, version_id, None)
            nodes, entry = _path(leaf, checkpoint.size, hashes), entry_summary(leaf)
    body = {
        "origin": checkpoint.origin,
        "treeSize": checkpoint.size,
        "rootHash": base64url_encode(checkpoint.root),
        "entry": entry,
        "nodes": nodes,
    }
    show(body, text=lambda one: "\n".join(drawn(one)))


def _node(depth: int, span: Span, digest: bytes | None, *, given: bool) -> dict[str, Any]:
    """Return a node over the entries ``first`` to ``last``, counted from 1."""
    shown = None if digest is None else base64url_encode(digest)
    return {"depth": depth, "first": span[0] + 1, "last": span[1], "hash": shown, "given": given}


def _peaks(checkpoint: Checkpoint) -> list[dict[str, Any]]:
    """Return the complete subtrees of the log, from left to right. A checkpoint contains only the root of all of them."""
    whole = subtrees((0, checkpoint.size)) if checkpoint.size else ()
    spans = [(number << height, (number + 1) << height) for height, number in whole]
    return [_node(1, span, None, given=False) for span in spans]


def _path(leaf: LogLeaf, size: int, hashes: Sequence[bytes]) -> list[dict[str, Any]]:
    """Return the nodes below the root on the way to the leaf, top down: in each depth one that the proof gives, and one that is
    computed."""
    span, digest, levels = (leaf.index, leaf.index + 1), leaf_hash(leaf.encode()), []
    for sibling, given in zip(inclusion_spans(leaf.index, size), hashes, strict=True):
        pair = [(span, digest, False), (sibling, given, True)]
        levels.append(sorted(pair, key=lambda one: one[0]))
        (left, one, _), (right, other, _) = levels[-1]
        span, digest = (left[0], right[1]), node_hash(one, other)
    return [
        _node(depth, span, digest, given=given)
        for depth, level in enumerate(reversed(levels), 1)
        for span, digest, given in level
    ]


def drawn(body: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the picture. The children of a computed node follow below it, the left one first."""
    yield f"{body['origin']}, {body['treeSize']} {'entry' if body['treeSize'] == 1 else 'entries'}"
    yield f"root  {body['rootHash']}"
    levels: dict[int, list[dict[str, Any]]] = {}
    for node in body["nodes"]:
        levels.setdefault(node["depth"], []).append(node)
    yield from _below(levels, 1, "")
    if body["entry"] is not None:
        entry = body["entry"]
        yield f"entry: version {entry['versionId']} of {entry['did']}, recorded {entry['recordedAt']}"


def _below(levels: dict[int, list[dict[str, Any]]], depth: int, indent: str) -> Iterator[str]:
    nodes = levels.get(depth, [])
    for node in nodes:
        last = node is nodes[-1]
        many = node["first"] != node["last"]
        name = f"entries {node['first']} to {node['last']}" if many else f"entry {node['first']}"
        digest = "" if node["hash"] is None else f"  {node['hash']}"
        yield f"{indent}{'`-- ' if last else '|-- '}{name}{digest}{'  given' if node['given'] else ''}"
        if not node["given"]:
            yield from _below(levels, depth + 1, indent + ("    " if last else "|   "))
