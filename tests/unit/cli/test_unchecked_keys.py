"""Unchecked parts in the results of commands: without the service's own log no command knows the retired keys of logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.split_view import DID, NEW, SERVICE_DID, served, true_log
from tests.transparency import write_log
from tests.unit.cli.conftest import Commands

KEY = ("--key", str(NEW.verifier))
STRICT = "--require-service-log"


def test_a_history_without_its_service_member_is_marked(identity: Commands, here: Path) -> None:
    """A thief of a retired log key takes the member ``service`` out, so that the retirement is not seen."""
    body = json.loads(true_log().history().encode())
    (here / "whole").write_text(json.dumps(body))
    (here / "bare").write_text(json.dumps({name: body[name] for name in body if name != "service"}))
    words = ("ledger", "verify", *KEY, "--history")
    assert identity.json(*words, here / "whole", STRICT)["unchecked"] == []
    assert "unchecked" not in identity.ok(*words, here / "whole")
    assert identity.json(*words, here / "bare")["unchecked"] == ["retiredKeys"]
    assert identity.ok(*words, here / "bare").endswith("unchecked: retiredKeys\n")
    assert "service's own log is missing" in identity.refused(*words, here / "bare", STRICT)[0]
    later = (*words, here / "bare", "--service-history", here / "whole", STRICT)
    assert identity.json(*later)["unchecked"] == []


def test_one_entry_without_a_service_log_is_marked(identity: Commands, here: Path) -> None:
    (here / "policy").write_text(f"log {NEW.verifier}\nquorum none\n")
    (here / "proof").write_bytes(true_log().proof())
    (here / "whole").write_bytes(true_log().history().encode())
    words = ("ledger", "verify", "--policy", here / "policy", here / "proof")
    assert identity.json(*words)["unchecked"] == ["retiredKeys"]
    assert "service's own log is missing" in identity.refused(*words, STRICT)[0]
    assert identity.json(*words, STRICT, "--service-history", here / "whole")["unchecked"] == []


@pytest.mark.parametrize("logs", [(), ("--logs",)])
def test_an_audit_without_a_service_log_is_marked(identity: Commands, here: Path, logs: tuple[str, ...]) -> None:
    log = true_log()
    write_log(here / "folder", log.encoded, log.note)
    words = ("ledger", "audit", "--dir", here / "folder", *KEY, *logs)
    assert identity.json(*words)["unchecked"] == (["retiredKeys"] if logs else [])
    assert "service's own log is missing" in identity.refused(*words, STRICT)[0]
    assert identity.json(*words, STRICT, "--service-did", SERVICE_DID)["unchecked"] == []


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
