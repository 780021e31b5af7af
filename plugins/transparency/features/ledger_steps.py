"""Strangers who check the ledger: every answer is verified with the key of the log and nothing else."""

from __future__ import annotations

import base64
from typing import Any

import orjson
from pytest_bdd import given, parsers, then, when

from features.document import Operation, operation
from features.formats import from_base64url
from features.merkle import (
    Checkpoint,
    KeptProof,
    last_tile,
    leaf_hash,
    leaf_of,
    leaf_with,
    open_checkpoint,
    unbundled,
    verify_consistency,
    verify_inclusion,
)
from features.world import DRAFTS, Draft, World

NOWHERE = "0" * 64
ELSEWHERE: dict[str, tuple[str, dict[str, Any]]] = {
    "getLedgerTransaction": (f"/ledger/transactions/{NOWHERE}", {}),
    "getLedgerBlock": ("/ledger/blocks/900000", {}),
    "getLedgerTile": ("/ledger/tile/0/x900/000", {}),
    "getLedgerInclusionProof": ("/ledger/proof/inclusion", {"transaction": NOWHERE}),
    "getLedgerConsistencyProof": ("/ledger/proof/consistency", {"first": 900_000}),
}
MALFORMED = {"getLedgerTransaction": "/ledger/transactions/ABC", "getLedgerBlock": "/ledger/blocks/00"}


def receipt_of(world: World, name: str) -> dict[str, Any]:
    """Return the answer that created the DID."""
    return world.person(name).created


def key_of(world: World) -> str:
    return str(world.http().get("/api/v1/ledger/key").json()["verifierKey"])


def checkpoint_of(world: World) -> Checkpoint:
    return open_checkpoint(world.http().get("/api/v1/ledger/checkpoint").content, key_of(world))


def first_transaction(world: World, name: str) -> dict[str, Any]:
    path = f"/api/v1/ledger/transactions/{receipt_of(world, name)['transactionHash']}"
    found: dict[str, Any] = world.http().get(path).json()
    return found


def drafted(world: World, found: Operation) -> Draft:
    """A good request for an operation on the ledger, of a log that has just grown."""
    made = world.new_person("Hana").created
    draft = Draft(found, found.path)
    draft.path = draft.path.replace("{transactionHash}", made["transactionHash"])
    draft.path = draft.path.replace("{blockNumber}", str(made["blockNumber"]))
    # Of the entries, because hashes are there even while the ledger is not.
    draft.path = draft.path.replace("{level}/{tile}", "entries/000.p/1")
    if found.operation_id == "getLedgerInclusionProof":
        draft.query["transaction"] = made["transactionHash"]
    if found.operation_id == "getLedgerConsistencyProof":
        draft.query["first"] = 0
    return draft


for _name in ("Transaction", "Block", "Key", "Checkpoint", "Tile", "InclusionProof", "ConsistencyProof"):
    DRAFTS[f"getLedger{_name}"] = drafted


@given("a service whose custodian raises")
def custodian(world: World) -> None:
    world.kind, world.notes["fault"] = "faulty", "custodian:raise"


@given("Vera has kept a checkpoint")
def keep_checkpoint(world: World) -> None:
    world.new_person("Olu")
    world.notes["kept"] = checkpoint_of(world)


# When


@when(parsers.re(r"Vera looks up the transaction of the DID of (?P<name>\w+)(?P<prefix> with 0x before it)?"))
def looks_up(world: World, name: str, prefix: str | None) -> None:
    found = receipt_of(world, name)["transactionHash"]
    world.call("getLedgerTransaction", transaction_hash=f"0x{found}" if prefix else found)


@when(parsers.parse("Vera lists the block of the DID of {name}"))
def lists_block(world: World, name: str) -> None:
    world.call("getLedgerBlock", block_number=str(receipt_of(world, name)["blockNumber"]))


@when("Vera asks for the key of the log")
def asks_key(world: World) -> None:
    world.call("getLedgerKey")


@when("Vera fetches the checkpoint")
def fetches(world: World) -> None:
    world.call("getLedgerCheckpoint")


@when("Vera fetches the checkpoint of now")
def fetches_any(world: World) -> None:
    world.call("getLedgerCheckpoint", quorum="any")


@when("Vera reads the last tile and the last bundle")
def reads_last(world: World) -> None:
    size = checkpoint_of(world).size
    place = last_tile(size)
    # The generated client writes the slashes as %2F.
    world.notes["tile"] = world.call("getLedgerTile", level="0", tile=place).content
    world.send(Draft(operation("getLedgerTile"), f"/ledger/tile/entries/{place}"))


@when("Vera reads the first bundle")
def reads_first(world: World) -> None:
    world.send(Draft(operation("getLedgerTile"), "/ledger/tile/entries/000.p/1"))


@when(parsers.re(r"Vera asks for a proof of the DID of (?P<name>\w+)"))
def asks_proof(world: World, name: str) -> None:
    world.call("getLedgerInclusionProof", transaction=receipt_of(world, name)["transactionHash"])


@when(parsers.re(r"Vera asks for a proof of the DID of (?P<name>\w+) (?P<how>to keep|as a picture|in a log of .*)"))
def asks_proof_as(world: World, name: str, how: str) -> None:
    draft = Draft(operation("getLedgerInclusionProof"), "/ledger/proof/inclusion")
    draft.query["transaction"] = receipt_of(world, name)["transactionHash"]
    if how.startswith("in a log"):
        draft.query["size"] = 1_000_000
    else:
        draft.headers["Accept"] = "text/plain" if how == "to keep" else "image/png"
    world.send(draft)


@when("Vera asks for the growth since")
def asks_growth(world: World) -> None:
    world.call("getLedgerConsistencyProof", first=world.notes["kept"].size)


@when(parsers.parse("{operation_id} is asked for what the ledger does not have"))
def asks_elsewhere(world: World, operation_id: str) -> None:
    path, query = ELSEWHERE[operation_id]
    world.send(Draft(operation(operation_id), path, dict(query)))


@when(parsers.parse("{operation_id} is asked for what is malformed"))
def asks_malformed(world: World, operation_id: str) -> None:
    world.send(Draft(operation(operation_id), MALFORMED[operation_id]))


# Then


@then(parsers.parse("it is the first entry of the log of {name}"))
def first_entry(world: World, name: str) -> None:
    body = orjson.loads(world.answer.content)
    person = world.person(name)
    log = world.http().get(f"/api/v1/dids/{person.did}/log").content
    assert from_base64url(body["entry"]) == log.split(b"\n")[0]
    assert (body["did"], body["versionId"]) == (person.did, 1)
    assert body["transactionHash"] == person.created["transactionHash"]
    assert from_base64url(body["leafHash"]) == leaf_hash(leaf_of(body))


@then(parsers.parse("the DID of {name} is in the block"))
def in_block(world: World, name: str) -> None:
    body = orjson.loads(world.answer.content)
    assert world.person(name).did in [item["did"] for item in body["items"]]
    assert body["lastSequence"] - body["firstSequence"] + 1 == len(body["items"])


@then("it verifies a checkpoint")
def verifies(world: World) -> None:
    key = orjson.loads(world.answer.content)["verifierKey"]
    open_checkpoint(world.http().get("/api/v1/ledger/checkpoint").content, key)


@then(parsers.parse("the signature of the log covers the DID of {name}"))
def covers(world: World, name: str) -> None:
    checkpoint = open_checkpoint(world.answer.content, key_of(world))
    first = first_transaction(world, name)
    query: dict[str, Any] = {"transaction": first["transactionHash"], "size": checkpoint.size}
    proof = world.http().get("/api/v1/ledger/proof/inclusion", params=query).json()
    hashes = [from_base64url(text) for text in proof["hashes"]]
    verify_inclusion(leaf_hash(leaf_of(first)), first["sequence"] - 1, checkpoint.size, hashes, checkpoint.root)


@then("the bundle hashes to the tile")
def bundle_is_tile(world: World) -> None:
    assert b"".join(map(leaf_hash, unbundled(world.answer.content))) == world.notes["tile"]


@then("the answer never changes")
def immutable(world: World) -> None:
    assert "immutable" in world.answer.headers["cache-control"]


@then("the proof leads from the entry to the signed root")
def leads(world: World) -> None:
    body = orjson.loads(world.answer.content)
    checkpoint = open_checkpoint(body["checkpoint"].encode(), key_of(world))
    assert (body["treeSize"], from_base64url(body["rootHash"])) == (checkpoint.size, checkpoint.root)
    leaf = leaf_hash(leaf_of(first_transaction(world, "Hana")))
    hashes = [from_base64url(text) for text in body["hashes"]]
    verify_inclusion(leaf, body["leafIndex"], checkpoint.size, hashes, checkpoint.root)


@then(parsers.parse("the text proves the first entry of the log of {name}"))
def text_proves(world: World, name: str) -> None:
    proof = KeptProof.parse(world.answer.content)
    did = world.person(name).did
    entry = world.http().get(f"/api/v1/dids/{did}/log").content.split(b"\n")[0]
    leaf = leaf_with(proof.receipt, {"did": did, "versionId": 1}, proof.index + 1, entry)
    checkpoint = open_checkpoint(proof.checkpoint, key_of(world))
    verify_inclusion(leaf_hash(leaf), proof.index, checkpoint.size, proof.hashes, checkpoint.root)
    assert base64.b64encode(checkpoint.root) in world.answer.content


@then("the log continues the checkpoint that Vera kept")
def continues(world: World) -> None:
    body, held = orjson.loads(world.answer.content), world.notes["kept"]
    roots = from_base64url(body["firstRootHash"]), from_base64url(body["secondRootHash"])
    assert roots[0] == held.root
    assert body["second"] > held.size
    hashes = [from_base64url(text) for text in body["hashes"]]
    verify_consistency(held, Checkpoint(body["second"], roots[1]), hashes)
