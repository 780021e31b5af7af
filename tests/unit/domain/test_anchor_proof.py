"""Commitments, paths and roots: what a stranger checks."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from identity_codec import jcs
from identity_codec.multibase import base64url_encode
from identity_codec.structs import plain
from identity_core.api.proofs import zk_proof
from identity_core.domain.ledger.anchor_proof import AnchorPath, checkpoint_commitment, proof_commitment, root_and_paths
from identity_core.domain.proofs.proof import ZkProof
from identity_tlog.tree import Frontier, Malformed, Refuted, leaf_hash

PROOF = ZkProof("envelope", ("a", "b"), "gte", "4f0c1b8e-6f1a-4c52-9a0e-3d3a1d7c9b21")
SALT = bytes(range(32))
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def leaves(count: int) -> list[bytes]:
    return [hashlib.sha256(b"%d" % number).digest() for number in range(count)]


def at(count: int, index: int) -> AnchorPath:
    root, paths = root_and_paths(leaves(count))
    return AnchorPath.at("sql", root, index, count, paths[index], NOW)


@pytest.mark.parametrize("count", [*range(1, 18), 31, 32, 33, 100, 257])
def test_every_path_of_every_size_leads_to_the_root_of_rfc_6962(count: int) -> None:
    root, paths = root_and_paths(leaves(count))
    assert root == Frontier().appended(map(leaf_hash, leaves(count))).root
    for index, leaf in enumerate(leaves(count)):
        AnchorPath.at("sql", root, index, count, paths[index], NOW).verify(leaf)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
def test_nothing_else_does(count: int) -> None:
    path = at(count, count // 2)
    leaf, others = leaves(count)[count // 2], leaves(count + 1)
    wrong = [
        (path, others[-1]),
        (path, leaf_hash(leaf)),
        (replace(path, root=path.root[::-1]), leaf),
        (replace(path, path=(*path.path, bytes(32))), leaf),
        (replace(path, index=count), leaf),
        (replace(path, index=-1), leaf),
    ]
    if path.path:
        wrong += [(replace(path, path=path.path[1:]), leaf), (replace(path, path=(*path.path[::-1], leaf)), leaf)]
    for one, commitment in wrong:
        with pytest.raises(Refuted):
            one.verify(commitment)


def test_the_commitment_is_what_the_document_says() -> None:
    value = {
        "proof": "envelope",
        "publicSignals": ["a", "b"],
        "predicateType": "gte",
        "proofId": PROOF.proof_id,
    }
    assert plain(zk_proof(PROOF)) == value
    digest = hashlib.sha256(jcs.canonicalize(value)).digest()
    said = b"identity-anchor-proof v1\0" + SALT + digest
    assert proof_commitment(PROOF, SALT) == hashlib.sha256(said).digest()


def test_commitments_of_different_things_differ() -> None:
    made = {
        proof_commitment(PROOF, SALT),
        proof_commitment(PROOF, SALT[::-1]),
        proof_commitment(replace(PROOF, proof="another"), SALT),
        proof_commitment(replace(PROOF, public_signals=("ab",)), SALT),
        proof_commitment(replace(PROOF, predicate_type="gt"), SALT),
        proof_commitment(replace(PROOF, proof_id="x"), SALT),
        checkpoint_commitment(b"envelope"),
    }
    assert len(made) == 7


def test_it_is_read_as_it_was_written() -> None:
    path = at(5, 3)
    assert AnchorPath.parse(json.loads(path.encode())) == path
    assert path.json["sealedAt"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "change",
    [
        {"root": "AA"},
        {"root": 7},
        {"root": "*" * 43},
        {"root": base64url_encode(bytes(31))},
        {"path": "AA"},
        {"path": [7]},
        {"path": [base64url_encode(bytes(32))] * 64},
        {"index": True},
        {"index": "1"},
        {"size": 1.0},
        {"ledger": None},
        {"sealedAt": 7},
    ],
)
def test_what_is_no_details_is_malformed(change: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        AnchorPath.parse(at(5, 3).json | change)


@pytest.mark.parametrize("value", [None, [], "x", 7])
def test_what_is_no_object_is_malformed(value: Any) -> None:
    with pytest.raises(Malformed):
        AnchorPath.parse(value)
