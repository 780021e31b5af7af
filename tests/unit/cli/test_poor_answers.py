"""Answers that told people the wrong thing, or nothing: what each says now."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Commands


@pytest.mark.parametrize("octets", [b"", b"\n", b" \r\n\n"])
def test_an_empty_log_is_no_reason_to_distrust_a_did(identity: Commands, here: Path, octets: bytes) -> None:
    """A pipe whose first command has failed gives one."""
    (here / "log").write_bytes(octets)
    what, where, remedy = identity.refused("did", "log", "verify", "log")
    assert "it is empty" in what
    assert where == "  at: log"
    assert "did log get" in remedy
    assert "trust" not in what + remedy
    piped = identity.refused("did", "log", "verify", "-", input=octets)
    assert "it is empty" in piped[0]


def test_a_log_that_is_wrong_still_is(identity: Commands, here: Path) -> None:
    (here / "log").write_bytes(b"{}\n")
    what, where, remedy = identity.refused("did", "log", "verify", "log")
    assert "the log is not valid" in what
    assert "{}" not in where
    assert "do not trust" in remedy


@pytest.mark.parametrize(
    "url", ["localhost://8080", "localhost:8080", "127.0.0.1:8080", "ftp://a.example", "http://", "http://[::1", ""]
)
def test_what_is_no_address_is_told_with_one_that_is(identity: Commands, url: str) -> None:
    what, where, remedy = identity.refused("did", "resolve", "did:ids:x", "--url", url or " ", status=2)
    assert what == "error: this is no address of a service"
    assert url in where
    assert "http://127.0.0.1:8080" in remedy


def test_a_service_that_does_not_run(identity: Commands) -> None:
    what, _, remedy = identity.refused("did", "resolve", "did:ids:x", "--url", "http://127.0.0.1:1")
    assert what == "error: http://127.0.0.1:1 does not answer: Connection refused"
    assert "identity serve" in remedy
    assert "--url" in remedy


@pytest.mark.parametrize("text", ["nonsense", "absent/key"])
def test_a_key_that_is_none(identity: Commands, text: str) -> None:
    words = ("ledger", "verify", "did:ids:x", "--key", text, "--url", "http://127.0.0.1:1")
    what, where, remedy = identity.refused(*words)
    assert "neither a verifier key nor a file" in what
    assert text in where
    assert "identity ledger key" in remedy
