"""Vectors of checkpoints: the library of the service gives each the verdict that the file states."""

from __future__ import annotations

import json
from typing import Any

import pytest

from identity_codec.multibase import base64url_decode, base64url_encode
from identity_tlog.note import VerifierKey, open_checkpoint
from identity_tlog.proofs import verify_consistency, verify_inclusion
from identity_tlog.tree import Malformed, Refuted
from tests.vectors.checkpoints import FILE, vectors

Json = dict[str, Any]
VECTORS: Json = json.loads(FILE.read_text("utf-8"))


def proven(one: Json) -> Json | None:
    """Return what a note proves, None if it is refused."""
    try:
        keys = [VerifierKey.parse(text) for text in one["witnesses"]]
        key = VerifierKey.parse(one["logKey"])
        opened = open_checkpoint(one["note"].encode(), key, keys, cosignatures=one["cosignatures"])
    except (Malformed, Refuted):
        return None
    cosigned = {name: int(at.timestamp()) for name, at in opened.cosigned.items()}
    found = {"origin": opened.checkpoint.origin, "size": opened.checkpoint.size, "cosigned": cosigned}
    return found | {"root": base64url_encode(opened.checkpoint.root)}


def is_good(one: Json) -> bool:
    """Return whether an inclusion or consistency proof is right."""
    try:
        steps = [base64url_decode(text) for text in one["hashes"]]
        if "leafIndex" in one:
            leaf, root = base64url_decode(one["leafHash"]), base64url_decode(one["root"])
            verify_inclusion(leaf, one["leafIndex"], one["size"], steps, root)
        else:
            (old, old_root), (new, new_root) = one["first"], one["second"]
            verify_consistency(old, base64url_decode(old_root), new, base64url_decode(new_root), steps)
    except (Refuted, ValueError):
        return False
    return True


def test_file_is_written_from_its_cases() -> None:
    assert vectors() == VECTORS


@pytest.mark.parametrize("one", VECTORS["notes"], ids=lambda one: one["name"])
def test_note_proves_what_the_file_states(one: Json) -> None:
    assert proven(one) == one["proven"]


@pytest.mark.parametrize("kind", ["inclusion", "consistency"])
def test_proof_has_the_verdict_of_the_file(kind: str) -> None:
    verdicts = [one["good"] for one in VECTORS[kind]]
    assert [is_good(one) for one in VECTORS[kind]] == verdicts
    assert min(verdicts.count(True), verdicts.count(False)) > 30
