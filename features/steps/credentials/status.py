"""Credentials are revoked, suspended and resumed; anybody reads the list of it."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from typing import Any
from urllib.parse import urlsplit

from pytest_bdd import given, parsers, then, when

from features.credentialing import ABSENT, gap_list, list_name
from features.document import operation
from features.formats import base64url, check_data_integrity, from_base64url
from features.merkle import KeptProof, leaf_hash, open_checkpoint, verify_inclusion
from features.signing import call
from features.steps.answers import body_of
from features.world import Draft, World
from tests import servers

STATUS = {"revokes": ("revocation", True), "suspends": ("suspension", True), "resumes": ("suspension", False)}
PAST = {"revoked": "revokes", "suspended": "suspends"}
UNREVOKES = ("revocation", False)


def change(world: World, name: str, verb: str, credential_id: str = "") -> Any:
    purpose, value = UNREVOKES if verb == "unrevokes" else STATUS[verb]
    body = {"purpose": purpose, "value": value, "reason": "a story"}
    one = credential_id or world.notes["credential"]["id"]
    return call(world, name, "setCredentialStatus", "SetCredentialStatusRequest", body, credential_id=one)


# Given


@given(parsers.parse("{name:w} has {done:w} the credential"))
def has_changed(world: World, name: str, done: str) -> None:
    assert change(world, name, PAST[done]).status_code == 200


# When


@when(parsers.re(r"(?P<name>\w+) (?P<verb>revokes|suspends|resumes|unrevokes) the credential"))
def changes(world: World, name: str, verb: str) -> None:
    change(world, name, verb)


@when(parsers.parse("{name:w} revokes an unknown credential"))
def revokes_nothing(world: World, name: str) -> None:
    change(world, name, "revokes", ABSENT)


@when(parsers.parse("the purpose of a status is {purpose:w}"))
def strange_purpose(world: World, purpose: str) -> None:
    draft = world.draft("setCredentialStatus")
    draft.body["purpose"] = purpose
    world.send(draft)


@when("Vera reads the status list")
def reads_list(world: World) -> None:
    world.call("getStatusList", status_list_id=list_name(world.notes["credential"]))


@when(parsers.parse("Vera reads the status list and accepts {accepted}"))
def reads_list_as(world: World, accepted: str) -> None:
    name = list_name(world.notes["credential"])
    world.send(Draft(operation("getStatusList"), f"/status-lists/{name}", headers={"Accept": accepted}))


@when("Vera reads the status list again with the tag that she got")
def reads_list_again(world: World) -> None:
    name = list_name(world.notes["credential"])
    tag = world.call("getStatusList", status_list_id=name).headers["etag"]
    world.call("getStatusList", status_list_id=name, if_none_match=tag)


@when(parsers.parse("Vera asks for the status list {name}"))
def reads_no_list(world: World, name: str) -> None:
    world.call("getStatusList", status_list_id=name)


@when("Vera reads the signed gaps of today")
def reads_gaps(world: World) -> None:
    list_id, epoch = gap_list(world.notes["credential"])
    world.call("getStatusGaps", gap_list_id=list_id, epoch=str(epoch))


@when(parsers.parse("Vera asks for the signed gaps of {list_id} at {epoch}"))
def reads_no_gaps(world: World, list_id: str, epoch: str) -> None:
    world.call("getStatusGaps", gap_list_id=list_id, epoch=epoch)


@when("Vera reads the shard of the list of today")
def reads_shard(world: World) -> None:
    reads_gaps(world)
    world.notes["digest"] = body_of(world.answer)["shards"][0]
    list_id, _ = gap_list(world.notes["credential"])
    world.call("getStatusGapShard", gap_list_id=list_id, digest=world.notes["digest"])


@when(parsers.parse("Vera asks for the shard {digest}"))
def reads_no_shard(world: World, digest: str) -> None:
    world.call("getStatusGapShard", gap_list_id="A" * 22, digest=digest)


@when("Vera asks for the proof that the list of today is in the log")
def asks_for_proof(world: World) -> None:
    reads_gaps(world)
    list_id, _ = gap_list(world.notes["credential"])
    world.notes["digest"] = base64url(hashlib.sha256(world.answer.content).digest())
    world.call("getStatusGapsProof", gap_list_id=list_id, digest=world.notes["digest"])


@when(parsers.parse("Vera asks for the proof of the list {digest}"))
def asks_for_no_proof(world: World, digest: str) -> None:
    world.call("getStatusGapsProof", gap_list_id="A" * 22, digest=digest)


@when("a mirror fetches the gap of the credential, and wants to see the list in the log")
def mirror_fetches_recorded(world: World) -> None:
    mirror_fetches(world, "--log-key", body_of(world.call("getLedgerKey"))["verifierKey"])


@when("a mirror fetches the gap of the credential")
def mirror_fetches(world: World, *more: str) -> None:
    record = world.notes["credential"]
    header = json.loads(from_base64url(record["credential"]["proof"]["header"]).partition(b":")[2])
    method, handle = header["method"], record["credential"]["credentialStatus"][-1]["statusListIndex"]
    given = (f"{world.server.url}/api/v1", "--list", header["status"]["list"], "--method", method)
    key = method.partition("#")[2]
    world.notes["command"] = servers.run(
        "status-list", "fetch", *given, "--key", key, *more, environment=os.environ | {"IDENTITY_HANDLE": handle}
    )


# Then


@then(parsers.parse("the status list that the copy names says {value:d} of it"))
def copy_has_status(world: World, value: int) -> None:
    claims = json.loads(from_base64url(world.notes["collected"].split(".")[1]))
    named = claims["status"]["status_list"]
    answer = world.http().get(urlsplit(named["uri"]).path, headers={"Accept": "application/statuslist+jwt"})
    assert answer.headers["content-type"] == "application/statuslist+jwt"
    said = json.loads(from_base64url(answer.text.split(".")[1]))["status_list"]
    data = zlib.decompress(from_base64url(said["lst"]))
    assert data[named["idx"] // 4] >> named["idx"] % 4 * 2 & 3 == value


@then("it is told that the credential is not revoked")
def check_reported_status(world: World) -> None:
    done = world.notes["command"]
    assert done.returncode == 0, done.stderr
    assert "not revoked in epoch" in done.stdout


@then("it proves, with the key of the log alone, that exactly this list is recorded")
def list_is_recorded(world: World) -> None:
    proof = KeptProof.parse(world.answer.content)
    leaf = proof.receipt
    checkpoint = open_checkpoint(proof.checkpoint, body_of(world.call("getLedgerKey"))["verifierKey"])
    verify_inclusion(leaf_hash(leaf), proof.index, checkpoint.size, proof.hashes, checkpoint.root)
    head, _, entry = leaf.partition(b"\n\n")
    list_id, epoch = gap_list(world.notes["credential"])
    assert head.endswith(f"\ndid did:statusgaps:{list_id}".encode())
    said = json.loads(entry)
    assert (said["digest"], said["list"], said["epoch"]) == (world.notes["digest"], list_id, epoch)
    assert said["issuer"] == world.people["Ivo"].did


@then("they are signed by Ivo's key, and the handle lies in one")
def gaps_are_signed(world: World) -> None:
    manifest, record = body_of(world.answer), world.notes["credential"]
    assert manifest["issuer"] == world.people["Ivo"].did
    assert manifest["method"] == record["verificationMethod"]
    assert (manifest["gaps"], len(manifest["shards"]), manifest["edition"]) == (1, 1, 1)


@then("its bytes have the digest that the list says, and never change")
def shard_is_named(world: World) -> None:
    data = world.answer.content
    assert hashlib.sha256(data).digest() == from_base64url(world.notes["digest"])
    assert "immutable" in world.answer.headers["cache-control"]


@then(parsers.parse("the status is {status:w}"))
def has_status(world: World, status: str) -> None:
    assert body_of(world.answer)["status"] == status


@then(parsers.parse("{count:d} bits of the list are set, that of the credential among them"))
@then(parsers.parse("{count:d} bit of the list is set, that of the credential"))
def bits(world: World, count: int) -> None:
    encoded = body_of(world.answer)["credentialSubject"]["encodedList"]
    data = gzip.decompress(from_base64url(encoded.removeprefix("u")))
    assert (encoded[0], len(data)) == ("u", 131_072 // 8)
    places = [place for place in range(131_072) if data[place // 8] & 0x80 >> place % 8]
    place = int(world.notes["credential"]["credential"]["credentialStatus"][0]["statusListIndex"])
    assert len(places) == count
    assert count == 0 or place in places


@then(parsers.parse("the list is {media} with a tag of its own"))
def list_media(world: World, media: str) -> None:
    headers = world.answer.headers
    assert (headers["content-type"], headers["vary"]) == (media, "Accept")
    tag = headers["etag"]
    assert tag.endswith('.vc"') == (media == "application/vc")
    again = world.http().get(str(world.answer.url.path), headers={"Accept": media, "If-None-Match": tag})
    assert (again.status_code, again.headers["etag"]) == (304, tag)


@then("the list is signed by the key that DID logs name")
def list_signed(world: World) -> None:
    document = body_of(world.answer)
    log = world.call("getDidLog", did=world.people["Ivo"].did)
    (key,) = json.loads(log.content.splitlines()[0])["parameters"]["updateKeys"]
    proof = document.pop("proof")
    assert (proof["proofPurpose"], proof["verificationMethod"]) == ("assertionMethod", f"did:key:{key}#{key}")
    check_data_integrity(proof, document, key)
    assert document["issuer"] == f"did:key:{key}"
