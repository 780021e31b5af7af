"""Witnesses of did:webvh at their own machines, and a reader who is given nothing but the DID."""

from __future__ import annotations

import json
import re

from pytest_bdd import given, parsers, then, when

from features.machine import Machine
from features.steps.theft import read
from tests.attack.stranger import Answer
from tests.newest_entry import await_newest

WITNESS = re.compile(r"witness (did:key:z6Mk\w+)")


def place(machine: Machine, name: str) -> Answer:
    """Return what lies at the path that the DID names (did:webvh 1.0, "The DID to HTTPS Transformation")."""
    assert machine.running is not None
    path = "/".join(["", *machine.dids["Hana"].split(":")[4:], name])
    return machine.running.wire.call("GET", path)


@given("a machine with a service that publishes logs of did:webvh")
def publishes_logs(machine: Machine) -> None:
    machine.settings["IDENTITY_PLUGINS_WEBVH_HOST"] = "id.example"
    machine.start()


@given("Wendy and Walt are witnesses")
def are_witnesses(machine: Machine) -> None:
    for name in ("Wendy", "Walt"):
        is_witness(machine, name)


@given("Will is a witness")
def will_is_witness(machine: Machine) -> None:
    is_witness(machine, "Will")


def is_witness(machine: Machine, name: str) -> None:
    # The first call makes the key and names it; of nothing it approves of nothing.
    (machine.apart / "empty").write_bytes(b"")
    ended = machine.identity("did", "log", "approve", machine.apart / "empty", "--folder", machine.apart / name)
    found = WITNESS.search(ended.stderr)
    assert found is not None, ended.stderr
    machine.dids[name] = found[1]


@given("Hana has a DID of which one of Wendy and Walt must approve")
def has_witnessed_did(machine: Machine) -> None:
    witnesses = [word for name in ("Wendy", "Walt") for word in ("--witness", machine.dids[name])]
    words = ("did", "create", "--method", "webvh", "--keys", machine.apart / "Hana.json", "--witness-threshold", "1")
    machine.dids["Hana"] = machine.run_json(*words, *witnesses)["did"]


@given(parsers.parse("{name} approves of the log and the operator publishes that"))
@when(parsers.parse("{name} approves of the log and the operator publishes that"))
def approves(machine: Machine, name: str) -> None:
    log, file = machine.apart / "did.jsonl", machine.apart / "did-witness.json"
    log.write_text(machine.identity("did", "log", "get", machine.dids["Hana"]).stdout)
    if name == "Eve":
        # Her own program approves of whatever she likes: here with Wendy's name over an invalid signature.
        version = json.loads(log.read_text().splitlines()[-1])["versionId"]
        key = machine.dids["Wendy"].removeprefix("did:key:")
        proof = {"type": "DataIntegrityProof", "cryptosuite": "eddsa-jcs-2022", "proofPurpose": "assertionMethod"}
        proof |= {"verificationMethod": f"did:key:{key}#{key}", "proofValue": "z" + "1" * 64}
        file.write_text(json.dumps([{"versionId": version, "proof": [proof]}]))
    else:
        await_newest(log)
        ended = machine.identity("did", "log", "approve", log, "--folder", machine.apart / name)
        assert ended.returncode == 0, ended.stderr
        file.write_text(ended.stdout)
    machine.identity("did", "log", "publish", machine.dids["Hana"], file, "--data-dir", machine.data)


@when("Hana replaces Wendy and Walt by Will")
def puts_will(machine: Machine) -> None:
    machine.run_json("did", "update", "--keys", machine.apart / "Hana.json", "--witness", machine.dids["Will"])


@when("Hana adds a service to the DID")
def adds_service(machine: Machine) -> None:
    words = ("did", "update", "--keys", machine.apart / "Hana.json", "--add-service", "own", "LinkedDomains")
    machine.run_json(*words, "https://own.example/")


@then("there is no log at the place of the DID")
def finds_none(machine: Machine) -> None:
    for name in ("did.jsonl", "did-witness.json"):
        assert place(machine, name).outcome == (404, "DID_NOT_FOUND")


@then(parsers.re(r"a reader finds (?P<count>\d+) versions? at the place of the DID"))
def finds_versions_there(machine: Machine, count: str) -> None:
    log, approvals = place(machine, "did.jsonl"), place(machine, "did-witness.json")
    assert (log.status, approvals.status) == (200, 200)
    files = machine.apart / "found.jsonl", machine.apart / "found.json"
    for file, answer in zip(files, (log, approvals), strict=True):
        file.write_bytes(answer.body)
    checked = machine.run_json(
        "did", "log", "verify", files[0], "--witness-file", files[1], "--did", machine.dids["Hana"]
    )
    assert checked["versions"] == int(count)
    result = read(machine.apart, machine.dids["Hana"], log.body.splitlines(), files[1])
    assert result.document_metadata["versionId"] == checked["versionId"], result.resolution_metadata
