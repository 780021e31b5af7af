"""Unchecked parts in the results of commands: without the service's own log no command knows the retired keys of logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from identity_kit.conformance.controller import Controller, Life, WalletSigner, committed

from identity_codec.values import replace
from tests.attack.log_forger import METHOD
from tests.split_view import DID, NEW, SERVICE_DID, leaf, served, true_log
from tests.transparency import write_log
from tests.unit.cli.conftest import Commands

KEY = ("--key", str(NEW.verifier))
STRICT = "--require-service-log"
NAMED = ("--service-did", SERVICE_DID)


def test_a_history_without_its_service_member_is_marked(identity: Commands, here: Path) -> None:
    """A thief of a retired log key takes the member ``service`` out, so that the retirement is not seen."""
    body = json.loads(true_log().history().encode())
    (here / "whole").write_text(json.dumps(body))
    (here / "bare").write_text(json.dumps({name: body[name] for name in body if name != "service"}))
    words = ("ledger", "verify", *KEY, "--history")
    assert identity.json(*words, here / "whole", STRICT, *NAMED)["unchecked"] == []
    assert "unchecked" not in identity.ok(*words, here / "whole", *NAMED)
    assert identity.json(*words, here / "bare")["unchecked"] == ["retiredKeys"]
    assert identity.ok(*words, here / "bare").endswith("unchecked: retiredKeys\n")
    assert "service's own log is missing" in identity.refused(*words, here / "bare", STRICT)[0]
    later = (*words, here / "bare", "--service-history", here / "whole", STRICT, *NAMED)
    assert identity.json(*later)["unchecked"] == []


def test_one_entry_without_a_service_log_is_marked(identity: Commands, here: Path) -> None:
    (here / "policy").write_text(f"log {NEW.verifier}\nquorum none\n")
    (here / "proof").write_bytes(true_log().proof())
    (here / "whole").write_bytes(true_log().history().encode())
    words = ("ledger", "verify", "--policy", here / "policy", here / "proof")
    assert identity.json(*words)["unchecked"] == ["retiredKeys"]
    assert "service's own log is missing" in identity.refused(*words, STRICT)[0]
    assert identity.json(*words, STRICT, "--service-history", here / "whole", *NAMED)["unchecked"] == []


@pytest.mark.parametrize("logs", [(), ("--logs",)])
def test_an_audit_without_a_service_log_is_marked(identity: Commands, here: Path, logs: tuple[str, ...]) -> None:
    log = true_log()
    write_log(here / "folder", log.encoded, log.note)
    words = ("ledger", "audit", "--dir", here / "folder", *KEY, *logs)
    assert identity.json(*words)["unchecked"] == (["retiredKeys"] if logs else [])
    assert "service's own log is missing" in identity.refused(*words, STRICT)[0]
    assert identity.json(*words, STRICT, "--service-did", SERVICE_DID)["unchecked"] == []


def test_a_checkpoint_without_a_service_log_is_marked(identity: Commands, here: Path) -> None:
    """On stdout there is the note alone."""
    log = true_log()
    write_log(here / "folder", log.encoded, log.note)
    words = ("ledger", "checkpoint", "--dir", here / "folder", *KEY)
    result = identity(*words)
    assert (result.stdout, result.stderr) == (log.note.decode(), "unchecked: retiredKeys\n")
    assert identity.json(*words)["unchecked"] == ["retiredKeys"]
    assert "service's own log is missing" in identity.refused(*words, STRICT)[0]
    assert identity.json(*words, STRICT, *NAMED)["unchecked"] == []
    assert identity(*words, *NAMED).stderr == ""


def test_a_service_that_names_no_log_of_its_own_is_marked(identity: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    log = true_log()
    answer = log.answer
    monkeypatch.setattr(
        log,
        "answer",
        lambda path, query: {"serviceDid": None} if path == "ledger/key" else answer(path, query),
    )
    with served(log) as url:
        words = ("ledger", "verify", DID, "--url", url, *KEY)
        assert identity.json(*words)["unchecked"] == ["retiredKeys"]
        assert "service's own log is missing" in identity.refused(*words, STRICT)[0]


def test_the_log_of_an_unnamed_did_is_not_the_services(identity: Commands, here: Path) -> None:
    """Any DID's log looks like that of a service: a history named that of a thief, and no key counted as retired."""
    signers, owner = (WalletSigner("mallory 1"), WalletSigner("mallory 2")), Controller("mallory")
    life = Life(METHOD, owner.creation(signers[0]), owner, signers[0], committed(*signers))
    log, mallory = true_log(), str(life.state.did)
    log.leaves[7] = leaf(7, mallory, 1, life.entries[0])
    forged = replace(log.history(), service_did=mallory, service=(log.recorded(log.leaves[7]),))
    (here / "forged").write_bytes(forged.encode())
    (here / "policy").write_text(f"log {NEW.verifier}\nquorum none\n")
    (here / "proof").write_bytes(log.proof())
    entries = log.history().service
    (here / "log").write_bytes(b"\n".join(one.leaf.entry for one in entries) + b"\n")
    for words in (
        ("ledger", "verify", *KEY, "--history", here / "forged"),
        ("ledger", "verify", "--policy", here / "policy", here / "proof", "--service-history", here / "forged"),
        ("did", "log", "verify", here / "log", *KEY, "--service-history", here / "forged"),
    ):
        assert identity.json(*words)["unchecked"] == ["retiredKeys"]
        assert "its DID was not named" in identity.refused(*words, STRICT)[0]
        identity.refused(*words, STRICT, *NAMED)


@pytest.mark.parametrize("option", ["--key", "IDENTITY_LEDGER_KEY"])
def test_a_key_given_as_text_is_no_file(
    identity: Commands, here: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file whose path is the text of the key replaced it, in a folder that anyone can write."""
    text = str(NEW.verifier)
    (here / text).parent.mkdir(parents=True, exist_ok=True)
    (here / text).write_text("another")
    (here / "whole").write_bytes(true_log().history().encode())
    monkeypatch.chdir(here)
    if option != "--key":
        monkeypatch.setenv(option, text)
    given = ("--key", text) if option == "--key" else ()
    identity.ok("ledger", "verify", *given, "--history", here / "whole")


def test_a_lying_service_names_another_did(identity: Commands) -> None:
    """``serviceDid`` of getLedgerKey has no signature."""
    with served(true_log()) as url:
        words = ("ledger", "verify", DID, "--url", url, *KEY)
        assert identity.json(*words)["unchecked"] == ["retiredKeys"]
        assert "its DID was not named" in identity.refused(*words, STRICT)[0]
        assert identity.json(*words, STRICT, *NAMED)["unchecked"] == []
