"""The did:webvh vectors (didwebvh-test-suite): logs of five implementations, and the attacks that they once fell for."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from identity_commands.verify_log import verify
from identity_did_webvh import log as webvh

from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import InvalidDid
from tests.vectors.files import match_paths, vector, vector_json

NOW = datetime(2026, 11, 1, tzinfo=UTC)

# Four logs replace a 2-of-2 list of witnesses by a 1-of-1 list in an entry that only the one of the new list approved. The
# specification (§"Witness Lists": the new list is active AFTER the entry) wants both of the old list, and so do we: else a
# stolen update key could replace its own guards. The log of the Rust implementation does it right, and is accepted.
UNDER_WITNESSED = {f"webvh/witness-update/{name}/did.jsonl" for name in ("java", "java-eecc", "python", "ts")}

POSITIVE = [path for path in match_paths("webvh/*/*/did.jsonl") if "/negative-" not in path]
NEGATIVE = match_paths("webvh/negative-*/*/did.jsonl")
DIDS_ONLY = {
    "negative-fragment-leaks-into-domain",
    "negative-lowercase-pct-port-ip",
    "negative-path-traversal-did",
    "negative-pct-encoded-ip-host",
    "negative-pct-encoded-traversal",
}


def check(path: str):
    witnesses = vector(path).with_name("did-witness.json")
    return verify(
        vector(path).read_bytes(), now=NOW, witness_file=witnesses.read_bytes() if witnesses.exists() else None
    )


@pytest.mark.parametrize("path", POSITIVE)
def test_a_good_log_verifies_to_the_expected_head(path: str) -> None:
    if path in UNDER_WITNESSED:
        with pytest.raises(LogInvalid, match="Too few witnesses"):
            check(path)
        pytest.skip("refused on purpose: the entry that replaces the witnesses lacks those that it replaces")
    expected = vector_json(path.replace("did.jsonl", "resolutionResult.json"))
    verified = check(path)
    assert verified.did == expected["didDocument"]["id"]
    assert verified.head == expected["didDocumentMetadata"]["versionId"]
    assert verified.deactivated == bool(expected["didDocumentMetadata"].get("deactivated", False))


# The Python results of this scenario were recorded at the head whatever version was asked for.
@pytest.mark.parametrize("path", [path for path in POSITIVE if "multi-update" in path and "/python/" not in path])
def test_each_version_of_a_log_is_the_expected_one(path: str) -> None:
    states = webvh.verify_entries(vector(path).read_bytes().splitlines(), now=NOW, witness_file=None)
    for number in (1, 2):
        expected = vector_json(path.replace("did.jsonl", f"resolutionResult.{number}.json"))
        state = states[number - 1]
        assert state.version_id == expected["didDocumentMetadata"]["versionId"]
        assert state.document["id"] == expected["didDocument"]["id"]
        assert state.document.get("verificationMethod") == expected["didDocument"].get("verificationMethod")


@pytest.mark.parametrize("path", NEGATIVE)
def test_an_attack_is_refused(path: str) -> None:
    scenario = Path(path).parts[1]
    if scenario not in DIDS_ONLY:
        with pytest.raises(LogInvalid):
            check(path)
        return
    assert vector(path).read_bytes() == b"", "a scenario about a DID alone has no log"
    script = vector(f"webvh/{scenario}/script.yaml").read_text()
    dids = re.findall(r'did: "(did:webvh:[^"]+)"', script)
    assert dids
    for did in dids:
        # The SCID of the vectors is no base58; a good one must not help the rest through.
        for text in (did, did.replace("Qm" + "0" * 46, "Qm" + "a" * 44)):
            with pytest.raises(InvalidDid):
                webvh.parse_did(text)


def test_a_good_did_is_accepted_where_the_bad_ones_are_refused() -> None:
    scid = "Qm" + "a" * 44
    for rest in (
        "example.com",
        "example.com%3A8443",
        "example.com:dids:hana",
        "a.b.example.com:x%20y",
        "xn--4gbrim.example",
    ):
        assert webvh.parse_did(f"did:webvh:{scid}:{rest}").identifier == f"{scid}:{rest}"
    for rest in (
        "", "localhost", "127.0.0.1", "127.1", "0x7f.1", "2130706433", "1.2.3.0x10", "a..b", "-a.com", "a-.com", ".com", "a.com.",
        "example.com%3a8443", "example.com%3A", "example.com%3A0", "example.com%3A999999", "example.com:", "example.com::a",
        "example.com:%2e%2E", "example.com:a%5Cb", "example.com:a%00b", "example.com:a%23b", "exam_ple.com", "%5B%3A%3A1%5D",
    ):  # fmt: skip
        with pytest.raises(InvalidDid):
            webvh.parse_did(f"did:webvh:{scid}:{rest}")


@pytest.mark.parametrize("path", [path for path in POSITIVE if "/witness-" in path and path not in UNDER_WITNESSED])
def test_witnessed_log_needs_its_witness_file_and_every_approval(path: str) -> None:
    log, approvals = vector(path).read_bytes(), vector(path).with_name("did-witness.json").read_bytes()
    verify(log, now=NOW, witness_file=approvals)
    for spoilt in (
        None,
        b"[]",
        b"{}",
        b"junk",
        approvals.replace(b"z6Mkrv5C", b"z6Mkrv5D"),
        approvals.replace(b'"z', b'"zz'),
    ):
        with pytest.raises(LogInvalid):
            verify(log, now=NOW, witness_file=spoilt)
