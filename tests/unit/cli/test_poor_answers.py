"""Answers that told people the wrong thing, or nothing: what each says now."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Commands
from tests.unit.cli.test_remedies import require_known


@pytest.mark.parametrize("data", [b"", b"\n", b" \r\n\n"])
def test_an_empty_log_is_no_reason_to_distrust_a_did(identity: Commands, here: Path, data: bytes) -> None:
    """A pipe whose first command has failed gives one."""
    (here / "log").write_bytes(data)
    what, where, remedy = identity.refused("did", "log", "verify", "log")
    assert "it is empty" in what
    assert where == "  at: log"
    assert "did log get" in remedy
    assert "trust" not in what + remedy
    piped = identity.refused("did", "log", "verify", "-", input=data)
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
def test_malformed_address_names_an_example(identity: Commands, url: str) -> None:
    what, where, remedy = identity.refused("did", "resolve", "did:ids:x", "--url", url or " ", status=2)
    assert what == "error: this is not an address of a service"
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


# What is typed, where DID is one that exists; what the three lines say; what they do not.
POOR = [
    ("did create --keys n.json --key-type RSA", "key type is unknown", "Choose from Ed25519", "{"),
    ("did rotate --keys hana.json --key-type RSA", "key type is unknown", "Choose from Ed25519", "see the code"),
    ("did create --keys no/such/a.json", "No such file", "check that the place exists", ".new"),
    (
        "did update --keys lacking.json --also-known-as x",
        "this is not a keys file",
        "did create --keys FILE",
        "KeyError",
    ),
    ("did rotate --keys damaged.json", "authentication key is damaged", "bring the file back", "the options"),
    ("did resolve nonsense", "INVALID_DID", "Write the whole DID", "(not shown)"),
    ("did history did:ids:nope", "INVALID_DID", "Write the whole DID", "do: did:"),
    ("did resolve did:web:a.example", "DID_NOT_FOUND", "`identity did create` creates one", "do: did:"),
    ("did resolve DID --version-id 99", "no such version", "`identity did history`", "did create"),
    ("did recover --keys hana.json --restore-version 77", "no such version", "`identity did history`", "did create"),
    ("did resolve DID --version-time yesterday", "RFC 3339", "2026-01-31T12:00:00Z", "do: member"),
    ("timeline list --keys hana.json --after yesterday", "RFC 3339", "2026-01-31T12:00:00Z", "do: member"),
    ("did history DID --cursor x", "cursor", "`nextCursor` of the page before", "do: parameter"),
    ("did update --keys hana.json --remove-key nope", "no such key", "that `identity did resolve` shows", "do: keyId"),
    (
        "did update --keys hana.json --also-known-as x",
        "absolute URI",
        "as https://hana.example/profile or did:web:hana.example",
        "--help",
    ),
    ("delegation create --keys hana.json --agent x --level 2 --pin a gte 1", "INVALID_DID", "did:METHOD", "do: did:"),
    ("ibct issue --keys hana.json --agent DID --delegation nope --predicate age gte", "uuid or URL", "ibct issue", "{"),
    ("credential schema create array.json", "no JSON object", "`identity credential schema create --help`", "this com"),
    ("keys create --name a --scopes dids:creat", "'dids:creat' is not a scope", "identity keys create", "Errno"),
    ("probe nope", "not an address of a service", "http://127.0.0.1:8080", "Request URL"),
]


@pytest.mark.parametrize(("typed", "says", "remedy", "not_said"), POOR, ids=lambda value: value[:60])
def test_a_poor_answer_became_a_good_one(
    remote: Commands, wallet: Path, here: Path, typed: str, says: str, remedy: str, not_said: str
) -> None:
    held = json.loads(wallet.read_text())
    damaged = held | {"keys": held["keys"] | {"authentication": {"privateKey": "z3u2"}}}
    for name, value in {"array": [], "lacking": {"did": held["did"]}, "damaged": damaged}.items():
        (here / f"{name}.json").write_text(json.dumps(value))
        (here / f"{name}.json").chmod(0o600)
    result = remote(*(held["did"] if word == "DID" else word for word in typed.split()))
    assert result.exit_code in (1, 2)
    what, where, do = result.stderr.splitlines()
    assert says in what
    assert remedy in do
    assert not_said not in result.stderr
    assert result.stdout == ""
    assert len(do) > len("  do: see")
    assert where != what
    # Each command that the remedy names is one.
    for command in re.findall(r"`(identity [^`]*)`", do):
        require_known(command, here)


@pytest.mark.parametrize("command", ["create --keys new{}.json", "rotate --keys hana.json"])
def test_each_key_type_that_is_named_works_when_it_is_typed(remote: Commands, wallet: Path, command: str) -> None:
    do = remote.refused("did", *command.format("").split(), "--key-type", "RSA")[2]
    named = re.fullmatch(r"  do: Choose from (.*)\.", do)
    assert named is not None, do
    for number, kind in enumerate(named[1].split(", ")):
        remote.ok("did", *command.format(number).split(), "--key-type", kind)


def test_missing_uri_and_key_may_be_named(remote: Commands, wallet: Path) -> None:
    update = ("did", "update", "--keys", wallet)
    named = remote.refused(*update, "--also-known-as", "x")[2].partition(", as ")[2]
    for uri in named.split(" or "):
        remote.ok(*update, "--also-known-as", uri)
    remote.ok(*update, "--new-key", "Bls12381G2Key2020", "assertionMethod")
    did = json.loads(wallet.read_text())["did"]
    shown = remote.json("did", "resolve", did)["didDocument"]["verificationMethod"]
    assert "`identity did resolve`" in remote.refused(*update, "--remove-key", "nope")[2]
    remote.ok(*update, "--remove-key", shown[-1]["id"])
