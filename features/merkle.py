"""What a stranger needs who checks the ledger: RFC 6962 and RFC 9162 for the tree, C2SP for notes, checkpoints, tiles and kept proofs.

Written from these pages and not with the service's own code. What is wrong raises ``AssertionError``, or an error of nacl for a signature.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nacl.signing import VerifyKey

from features.formats import from_base64url

TILE_WIDTH = 256
EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(leaf: bytes) -> bytes:
    return hashlib.sha256(b"\0" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


@dataclass(frozen=True)
class Checkpoint:
    """What the log has signed."""

    size: int
    root: bytes


def open_checkpoint(note: bytes, verifier_key: str) -> Checkpoint:
    """Of a signed note, by a key of the form ``name+hex id+base64``."""
    name, key_id, encoded = verifier_key.split("+", 2)
    data = base64.b64decode(encoded, validate=True)
    assert data[0] == 1, "a key of another kind"
    assert key_id == hashlib.sha256(name.encode() + b"\n" + data).hexdigest()[:8]
    text, blank, lines = note.decode().partition("\n\n")
    assert blank
    signatures = [
        base64.b64decode(line.split(" ")[2]) for line in lines.splitlines() if line.startswith(f"\u2014 {name} ")
    ]
    (signature,) = (one[4:] for one in signatures if one[:4].hex() == key_id)
    VerifyKey(data[1:]).verify(f"{text}\n".encode(), signature)
    origin, size, root = text.split("\n")
    assert origin == name
    return Checkpoint(int(size), base64.b64decode(root, validate=True))


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> None:
    """RFC 9162 §2.1.3.2, for the hash of a leaf."""
    assert 0 <= index < size
    place, last, found = index, size - 1, leaf
    for sibling in proof:
        assert last > 0
        if place % 2 or place == last:
            found = node_hash(sibling, found)
            while place % 2 == 0 and place:
                place, last = place // 2, last // 2
        else:
            found = node_hash(found, sibling)
        place, last = place // 2, last // 2
    assert (last, found) == (0, root)


def verify_consistency(old: Checkpoint, new: Checkpoint, proof: Sequence[bytes]) -> None:
    """RFC 9162 §2.1.4.2."""
    if old.size in (0, new.size):
        assert (old.root, list(proof)) == (EMPTY_ROOT if old.size == 0 else new.root, [])
        return
    assert 0 < old.size < new.size
    first, *steps = ([old.root] if old.size & (old.size - 1) == 0 else []) + list(proof)
    place, last = old.size - 1, new.size - 1
    while place % 2:
        place, last = place // 2, last // 2
    before = after = first
    for step in steps:
        assert last > 0
        if place % 2 or place == last:
            before, after = node_hash(step, before), node_hash(step, after)
            while place % 2 == 0 and place:
                place, last = place // 2, last // 2
        else:
            after = node_hash(after, step)
        place, last = place // 2, last // 2
    assert (last, before, after) == (0, old.root, new.root)


def leaf_of(transaction: dict[str, Any]) -> bytes:
    """The bytes that the tree has for a transaction, as ``getLedgerTransaction`` answers it."""
    return leaf_with(
        receipt_of(transaction), transaction, transaction["sequence"], from_base64url(transaction["entry"])
    )


def receipt_of(transaction: dict[str, Any]) -> bytes:
    """The three lines of a leaf that no reader of a DID's log knows."""
    named = (("transaction", "transactionHash"), ("block", "blockNumber"), ("recorded", "recordedAt"))
    return "".join(f"{name} {transaction[member]}\n" for name, member in named).encode()


def leaf_with(receipt: bytes, of: dict[str, Any], sequence: int, entry: bytes) -> bytes:
    """The same from its parts; ``of`` says ``did`` and ``versionId``."""
    head = f"identity-ledger-leaf/v1\nsequence {sequence}\n".encode()
    return head + receipt + f"version {of['versionId']}\ndid {of['did']}\n\n".encode() + entry


def last_tile(size: int) -> str:
    """Number and width of the last tile of the lowest level, and of the last bundle, as their paths say them."""
    number, width = divmod(size - 1, TILE_WIDTH)
    groups = [f"{number % 1000:03}"]
    while number := number // 1000:
        groups.insert(0, f"x{number % 1000:03}")
    return "/".join(groups) + ("" if width + 1 == TILE_WIDTH else f".p/{width + 1}")


def unbundled(data: bytes) -> list[bytes]:
    """The leaves of a bundle, each behind its length in two bytes."""
    leaves = []
    while data:
        end = 2 + int.from_bytes(data[:2], "big")
        assert end <= len(data)
        leaves.append(data[2:end])
        data = data[end:]
    return leaves


@dataclass(frozen=True)
class KeptProof:
    """C2SP tlog-proof; ``receipt`` is its extra line."""

    receipt: bytes
    index: int
    hashes: list[bytes]
    checkpoint: bytes

    @classmethod
    def parse(cls, data: bytes) -> KeptProof:
        head, _, checkpoint = data.partition(b"\n\n")
        first, extra, index, *hashes = head.decode().split("\n")
        assert first == "c2sp.org/tlog-proof@v1"
        assert (extra[:6], index[:6]) == ("extra ", "index ")
        decoded = [base64.b64decode(line, validate=True) for line in hashes]
        return cls(base64.b64decode(extra[6:], validate=True), int(index[6:]), decoded, checkpoint)
