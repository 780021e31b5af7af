"""identity did log approve, and verify with what it made: the witnesses of a did:webvh log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from identity_codec import ed25519, multikey
from plugins.did_webvh.tests.test_webvh_log import first, following
from tests.unit.cli.conftest import Commands


def witness_of(folder: Path, number: int) -> str:
    """A folder with a key of its own, and the witness that it makes."""
    folder.mkdir(exist_ok=True)
    (folder / "did-witness.key").write_bytes(bytes([number]) * 32)
    return f"did:key:{multikey.encode_public(multikey.ED25519, ed25519.generate(bytes([number]) * 32).public)}"


def written(path: Path, *entries: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in entries))
    return path


@pytest.fixture
def log(here: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two entries that both of two witnesses must approve."""
    ids = [{"id": witness_of(here / f"w{number}", number)} for number in (1, 2)]
    one = first(witness={"threshold": 2, "witnesses": ids})
    return one, following(one)


def approved(identity: Commands, here: Path, log: Path, number: int, *more: Path | str) -> None:
    made = identity.ok("did", "log", "approve", log, "--folder", here / f"w{number}", *more)
    (here / "did-witness.json").write_text(made)


def refused(identity: Commands, words: tuple[str | Path, ...], log: Path, folder: Path) -> str:
    """What it says; the line before names the witness."""
    result = identity(*words, log, "--folder", folder)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines()[1].startswith("error: nothing is approved: ")
    return result.stderr


def test_two_witnesses_approve_and_a_stranger_checks(identity: Commands, here: Path, log: Any) -> None:
    path, file = written(here / "did.jsonl", *log), here / "did-witness.json"
    words = ("did", "log", "verify", path)
    assert "without their did-witness.json" in identity.refused(*words)[0]
    approved(identity, here, path, 1)
    assert "Too few witnesses" in identity.refused(*words, "--witness-file", file)[0]
    approved(identity, here, path, 2, "--witness-file", file)
    did = log[0]["state"]["id"]
    assert identity.json(*words, "--witness-file", file, "--did", did)["versions"] == 2
    assert "another DID" in identity.refused(*words, "--witness-file", file, "--did", f"{did}:x")[0]
    # An approval covers what was before it, so each witness has one proof in the file.
    approvals = json.loads(file.read_text())
    assert [(one["versionId"], len(one["proof"])) for one in approvals] == [(log[1]["versionId"], 2)]
    longer = written(here / "longer.jsonl", *log, following(log[1]))
    assert "Too few" in identity.refused("did", "log", "verify", longer, "--witness-file", file)[0]
    approved(identity, here, longer, 1, "--witness-file", file)
    approved(identity, here, longer, 2, "--witness-file", file)
    assert identity.json("did", "log", "verify", longer, "--witness-file", file)["versions"] == 3
    assert len(json.loads(file.read_text())) == 1
    shown = identity.json("did", "log", "approve", longer, "--folder", here / "w1")
    assert shown[0]["proof"][0]["proofPurpose"] == "assertionMethod"


def test_one_of_two_forked_logs_is_approved(identity: Commands, here: Path, log: Any) -> None:
    words = ("did", "log", "approve")
    other = following(log[0], state=log[0]["state"] | {"alsoKnownAs": ["did:x:y"]})
    approved(identity, here, written(here / "did.jsonl", *log), 1)
    for entries in ((log[0], other), (log[0], other, following(other)), (log[0],)):
        fork = written(here / "fork.jsonl", *entries)
        assert "it was cut, or it forked" in refused(identity, words, fork, here / "w1")
    (here / "w1" / "approved.json").write_text("{broken")
    assert "cannot be read" in refused(identity, words, here / "did.jsonl", here / "w1")


def test_witness_refuses_invalid_log(identity: Commands, here: Path, log: Any) -> None:
    words = ("did", "log", "approve")
    path = written(here / "did.jsonl", log[0], log[1] | {"versionTime": "2026-02-01T00:00:00Z"})
    assert "hash of the entry" in refused(identity, words, path, here / "w1")
    witness_of(here / "w3", 3)
    assert "does not name this witness" in refused(identity, words, written(path, *log), here / "w3")
    assert not (here / "w3" / "approved.json").exists()
    assert "does not name this witness" in refused(identity, words, written(path, first()), here / "w1")
    (here / "broken").write_text("{")
    assert "did-witness.json" in refused(
        identity, (*words, "--witness-file", here / "broken"), written(path, *log), here / "w1"
    )


def test_publication_refusal_is_reported(identity: Commands, here: Path, log: Any) -> None:
    path, did = written(here / "did.jsonl", *log), log[0]["state"]["id"]
    approved(identity, here, path, 1)
    words = ("did", "log", "publish")
    identity.refused(*words, did, "did-witness.json", "--data-dir", "elsewhere", status=2)
    assert not (here / "elsewhere").exists()
    identity.ok("keys", "create", "--name", "ops", "--admin")
    assert "nothing is published: DID_NOT_FOUND" in identity.refused(*words, did, "did-witness.json")[0]
    assert "nothing is published: INVALID_DID" in identity.refused(*words, "did:x", "did-witness.json")[0]
