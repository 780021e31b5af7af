"""Witnesses approve over HTTP, with proofs that they make by hand; a stranger, a witness that is not asked, and two at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from identity_commands.verify_log import verify
from nacl.signing import SigningKey
from test_did_webvh_served import HOST, fetched, place, read_over_http, witness_commands

from tests.attack.stranger import Answer, Holder, Stranger, at_once, public, service, signing_key, witness_proof
from tests.fault.service_process import API_KEY, Running
from tests.fault.service_process import service as running_service

OLD, NEW = ([SigningKey(bytes([number]) * 32) for number in numbers] for numbers in ((11, 12), (13, 14)))
STRANGER = SigningKey(bytes([99]) * 32)


def witness(keys: list[SigningKey], threshold: int) -> dict[str, Any]:
    return {"threshold": threshold, "witnesses": [{"id": f"did:key:{public(key)}"} for key in keys]}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_service(
        tmp_path_factory.mktemp("approvals") / "data", environment={"IDENTITY_PLUGINS_WEBVH_HOST": HOST}
    ) as started:
        yield started


def witnessed(running: Running, threshold: int = 2) -> Holder:
    asked = {"method": "webvh", "keyType": "Ed25519", "options": {"witness": witness(OLD, threshold)}}
    made = Stranger(running.wire, API_KEY).create(asked).json
    return Holder(running.wire, made["did"], signing_key(made["keys"]["authentication"]["privateKey"]), None, made)


def version_id(holder: Holder, number: int) -> str:
    found: str = json.loads(holder.log().splitlines()[number - 1])["versionId"]
    return found


def path(holder: Holder) -> str:
    return f"/api/v1/dids/{quote(holder.did, safe='')}/approvals"


def post(holder: Holder, version: str, one: dict[str, Any], **more: Any) -> Answer:
    return holder.wire.call("POST", path(holder), json.dumps({"versionId": version, "proof": one} | more).encode())


def approve(holder: Holder, number: int, key: SigningKey) -> Answer:
    version = version_id(holder, number)
    return post(holder, version, witness_proof(version, key))


def waiting(holder: Holder) -> list[tuple[str, int]]:
    """The numbers of the versions that wait, and how many have approved of each."""
    found = holder.wire.call("GET", path(holder)).json
    return [(one["versionId"].split("-")[0], len(one["approvedBy"])) for one in found["waiting"]]


def test_witness_list_is_replaced_over_http(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    hana = witnessed(running)
    assert waiting(hana) == [("1", 0)]
    assert approve(hana, 1, OLD[0]).json["publishedVersions"] == 0
    assert fetched(running, place(hana.did)).outcome == (404, "DID_NOT_FOUND")
    assert approve(hana, 1, OLD[1]).json["publishedVersions"] == 1
    assert hana.act("update", {"operation": "setWitness", "witness": witness(NEW, 1)}).status == 200
    assert hana.act("update", service("later")).status == 200
    # The new ones approve of what follows their list, and of nothing before it.
    assert approve(hana, 2, NEW[0]).outcome == (403, "FORBIDDEN")
    answer = approve(hana, 3, NEW[0])
    assert (answer.status, answer.json["publishedVersions"]) == (200, 1)
    assert waiting(hana) == [("2", 0)]
    assert approve(hana, 2, OLD[0]).json["publishedVersions"] == 1
    assert waiting(hana) == [("2", 1)]
    assert approve(hana, 2, OLD[1]).json["publishedVersions"] == 3
    log, file = (
        fetched(running, place(hana.did).replace("did.jsonl", name)) for name in ("did.jsonl", "did-witness.json")
    )
    assert verify(log.body, witness_file=file.body).versions == 3
    result = read_over_http(running, hana.did, monkeypatch, witnessed=True)
    assert result.document_metadata["versionId"].startswith("3-"), result.resolution_metadata


def spoilt(version: str) -> dict[str, tuple[dict[str, Any], tuple[int, str]]]:
    good, refused, malformed = witness_proof(version, OLD[0]), (401, "AUTH_FAILED"), (400, "INVALID_REQUEST")
    name, other = public(OLD[0]), public(OLD[1])
    return {
        "the signature of another version": (
            good | {"proofValue": witness_proof("2-Qm", OLD[0])["proofValue"]},
            refused,
        ),
        "the signature of another witness": (
            good | {"proofValue": witness_proof(version, STRANGER)["proofValue"]},
            refused,
        ),
        "another time": (good | {"created": "2026-11-02T00:00:00Z"}, refused),
        "no time": ({member: good[member] for member in good if member != "created"}, refused),
        "a time that is none": (witness_proof(version, OLD[0], created="now"), refused),
        "an empty time": (witness_proof(version, OLD[0], created=""), refused),
        "no signature": (good | {"proofValue": "z"}, refused),
        "base64": (good | {"proofValue": "u" + "A" * 86}, refused),
        "two keys": (good | {"verificationMethod": f"did:key:{name}#{other}"}, refused),
        "a bare key": (good | {"verificationMethod": name}, refused),
        "another method": (good | {"verificationMethod": f"did:web:{name}#{name}"}, refused),
        "a weak key": (witness_proof(version, OLD[0], verificationMethod="did:key:z6Mk#z6Mk"), refused),
        "another purpose": (witness_proof(version, OLD[0], proofPurpose="authentication"), refused),
        "another suite": (witness_proof(version, OLD[0], cryptosuite="eddsa-rdfc-2022"), refused),
        "another type": (witness_proof(version, OLD[0], type="Ed25519Signature2020"), refused),
        "a stranger": (witness_proof(version, STRANGER), (403, "FORBIDDEN")),
        "a member more": (witness_proof(version, OLD[0], domain="x"), malformed),
        "a long member": (good | {"created": "2" * 65}, malformed),
        "a list": ([good], malformed),  # type: ignore[dict-item]
    }


NAMES = list(spoilt("1-Qm"))


@pytest.fixture(scope="module")
def untouched(running: Running) -> Holder:
    return witnessed(running)


@pytest.mark.parametrize("name", NAMES)
def test_invalid_approval_changes_nothing(untouched: Holder, name: str) -> None:
    version = version_id(untouched, 1)
    one, outcome = spoilt(version)[name]
    assert post(untouched, version, one).outcome == outcome
    assert waiting(untouched) == [("1", 0)]


def test_versions_that_there_are_not_and_bodies_that_are_none(untouched: Holder) -> None:
    for version in ("1-Qm", "2" + version_id(untouched, 1)[1:], "", "1", "\\u0000"):
        assert post(untouched, version, witness_proof(version, OLD[0])).outcome == (404, "DID_NOT_FOUND")
    version = version_id(untouched, 1)
    assert post(untouched, version, witness_proof(version, OLD[0]), more=1).outcome == (400, "INVALID_REQUEST")
    twice = json.dumps({"versionId": version, "proof": witness_proof(version, OLD[0])})[:-1] + ',"versionId":"1-Qm"}'
    assert untouched.wire.call("POST", path(untouched), twice.encode()).outcome == (400, "INVALID_REQUEST")
    assert waiting(untouched) == [("1", 0)]


def test_the_same_again_and_one_that_is_covered_change_nothing(running: Running) -> None:
    hana = witnessed(running, threshold=1)
    assert hana.act("update", service("later")).status == 200
    assert approve(hana, 2, OLD[0]).json["publishedVersions"] == 2
    shown = fetched(running, place(hana.did).replace("did.jsonl", "did-witness.json")).body
    version = version_id(hana, 2)
    for answer in (
        approve(hana, 2, OLD[0]),
        approve(hana, 1, OLD[0]),
        post(hana, version, witness_proof(version, OLD[0], created="2026-11-03T00:00:00Z")),
    ):
        assert (answer.status, answer.json["publishedVersions"]) == (200, 2)
        assert fetched(running, place(hana.did).replace("did.jsonl", "did-witness.json")).body == shown


def test_all_at_once_are_all_there(running: Running) -> None:
    hana = witnessed(running)
    version = version_id(hana, 1)
    answers = at_once(
        running.wire, [lambda key=key: post(hana, version, witness_proof(version, key)) for key in OLD * 4]
    )
    assert {answer.status for answer in answers} == {200}
    assert waiting(hana) == []


def test_the_end_of_a_did_waits_for_its_witnesses_too(running: Running) -> None:
    hana = witnessed(running, threshold=1)
    approve(hana, 1, OLD[0])
    assert hana.act("deactivate", {"confirm": True}).status == 200
    assert not verify(fetched(running, place(hana.did)).body, approved=False).deactivated
    assert approve(hana, 2, OLD[1]).json["publishedVersions"] == 2
    assert verify(fetched(running, place(hana.did)).body, approved=False).deactivated


def test_a_witness_sends_what_it_approves(running: Running, tmp_path: Path) -> None:
    hana, command = witnessed(running), witness_commands(tmp_path, running)
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "did-witness.key").write_bytes(bytes(OLD[0]))
    (tmp_path / "w" / "did-witness.key").chmod(0o600)
    (tmp_path / "did.jsonl").write_bytes(hana.log())
    words = ("log", "approve", tmp_path / "did.jsonl", "--folder", tmp_path / "w", "--send")
    for _ in range(2):
        assert "1 of 2 have approved" in command(*words).stdout
    assert f"not yet did:key:{public(OLD[1])}" in command("log", "approvals", hana.did).stdout
    assert json.loads(command("log", "approvals", hana.did, "--json").stdout)["publishedVersions"] == 0
