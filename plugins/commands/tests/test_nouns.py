"""The lists of a running service from the command line: DIDs, events, timeline, verifications; challenges and tokens."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
from identity_commands.local_server import LocalServer

from identity_client import Client, Signer
from identity_core.cli import main
from tests.fault.service_process import eventually
from tests.unit.cli.conftest import Commands


@pytest.fixture(scope="module")
def hana(server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A DID, and the file of its keys."""
    path = tmp_path_factory.mktemp("nouns") / "hana.json"
    environment = {"IDENTITY_URL": server.url, "IDENTITY_API_KEY": server.api_key}
    return str(Commands(environment).json("did", "create", "--keys", path)["did"]), path


@pytest.fixture
def anyone(server: LocalServer) -> Commands:
    """Commands without a credential."""
    return Commands({"IDENTITY_URL": server.url})


def pages(commands: Commands, *words: Any) -> list[Any]:
    """All items, by the cursors that are told."""
    items, more = [], ()
    while True:
        body = commands.json(*words, *more)
        items += body["items"]
        if body["nextCursor"] is None:
            return items
        more = ("--cursor", body["nextCursor"])


def test_dids_are_listed(remote: Commands, anyone: Commands, hana: tuple[str, Path]) -> None:
    did, _ = hana
    assert did in [row["did"] for row in pages(remote, "did", "list", "--limit", "200")]
    assert re.search(r"^did:ids:\w+  version \d+  \S+$", remote.ok("did", "list", "--limit", "200"), re.MULTILINE)
    assert "AUTH_REQUIRED" in anyone.refused("did", "list")[0]


def test_tables_show_the_nicknames_of_their_reader(
    remote: Commands, wallet: Path, server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, agent = wallet, remote.json("did", "create", "--keys", wallet.with_name("shopper.json"))["did"]
    signer = Signer.from_keys(json.loads(keys.read_text()))
    Client(server.url).as_(signer).call("setLabel", {"label": "My shopper"}, named_did=agent)
    words = (
        "delegation",
        "create",
        "--keys",
        keys,
        "--agent",
        agent,
        "--pin",
        "age",
        "gte",
        "18",
        "--level",
        "2",
        "-q",
    )
    made = remote.ok(*words).strip()
    listed = ("delegation", "list", "--keys", keys)
    assert "My shopper" not in remote.ok(*listed), "programs read DIDs"
    monkeypatch.setattr("identity_commands.terminal.is_terminal", lambda _: True)
    (row,) = [line for line in remote.ok(*listed).splitlines() if made in line]
    assert "My shopper" in row
    assert agent not in row
    assert "My shopper" not in remote.ok(*listed, "--json")


def test_quiet_prints_ids_alone(remote: Commands, anyone: Commands, hana: tuple[str, Path], tmp_path: Path) -> None:
    did, keys = hana
    made = remote.ok("did", "create", "--keys", tmp_path / "other.json", "-q")
    assert re.fullmatch(r"did:ids:\w+\n", made)
    assert {did, made.strip()} <= {*remote.ok("did", "list", "--limit", "200", "--quiet").split()}
    numbers = anyone.ok("events", "list", "--limit", "1000", "-q").split()
    assert numbers == sorted(numbers, key=int) != []
    schema = tmp_path / "schema.json"
    schema.write_text('{"id": "urn:schema:quiet", "attributes": [{"name": "age", "type": "integer"}]}')
    assert remote.ok("credential", "schema", "create", schema, "-q") == "urn:schema:quiet\n"
    assert "urn:schema:quiet" in remote.ok("credential", "schema", "list", "--limit", "200", "-q").split()
    made = anyone.ok("challenge", "create", "--domain", "https://shop.example", "--keys", keys, "-q")
    assert re.fullmatch(r"\S+\n", made)
    assert remote.ok("delegation", "list", "--keys", keys, "-q") == ""
    assert anyone.ok("did", "history", did, "-q") == "1\n"
    assert "items" in remote.json("did", "list", "-q")


def test_the_feed_continues_where_it_ended(anyone: Commands, hana: tuple[str, Path]) -> None:
    did, _ = hana
    events: list[Any] = []

    def listed() -> list[Any]:
        """Read the feed to its end; return the events of the DID. An event follows its answer, and those before it, a moment later."""
        while page := anyone.json("events", "list", "--after", last(), "--limit", "1000")["items"]:
            events.extend(page)
        return [one for one in events if one["did"] == did]

    def last() -> int:
        return events[-1]["sequence"] if events else 0

    eventually(listed, "the creation is in the feed")
    (created,) = listed()
    (line,) = anyone.ok("events", "list", "--after", created["sequence"] - 1, "--limit", "1").splitlines()
    assert line.split() == [str(created["sequence"]), created["timestamp"], "create", did, "version", "1"]
    assert anyone.ok("events", "list", "--after", last()) == "none\n"


def test_a_timeline_is_that_of_who_asks(anyone: Commands, remote: Commands, here: Path, hana: tuple[str, Path]) -> None:
    did, keys = hana
    assert "no caller is named" in anyone.refused("timeline", "list", status=2)[0]
    agent = remote.json("did", "create", "--keys", here / "aki.json")["did"]
    wanted = ("--agent", agent, "--level", "2", "--pin", "age", "gte", "18", "--purpose", "Tickets")
    anyone.ok("delegation", "create", "--keys", keys, *wanted)
    (row,) = pages(anyone, "timeline", "list", "--keys", keys)
    assert (row["kind"], row["actor"]) == ("delegation.created", f"did:{did}")
    (line,) = anyone.ok("timeline", "list", "--keys", keys, "--kind", "delegation").splitlines()
    assert " ".join(line.split()) == f"{row['at']} done {did} gave {agent} a permission."
    assert anyone.ok("timeline", "list", "--keys", keys, "--kind", "proof") == "none\n"
    assert anyone.ok("timeline", "list", "--keys", keys, "--before", "2026-01-01T00:00:00Z") == "none\n"


def test_verifications_are_listed_and_counted(anyone: Commands, hana: tuple[str, Path]) -> None:
    _, keys = hana
    for noun in ("list", "stats"):
        assert "no caller is named" in anyone.refused("verifications", noun, status=2)[0]
    assert anyone.ok("verifications", "list", "--keys", keys) == "none\n"
    assert anyone.ok("verifications", "stats", "--keys", keys) == "0 in all, 0 valid, 0 unbound, 0 invalid\n"
    for flag in ("--verified", "--refused"):
        assert anyone.json("verifications", "list", "--keys", keys, flag)["items"] == []
    assert "INVALID_REQUEST" in anyone.refused("verifications", "list", "--keys", keys, "--from", "yesterday")[0]


def test_a_verifier_has_a_challenge(anyone: Commands, hana: tuple[str, Path]) -> None:
    _, keys = hana
    words = ("challenge", "create", "--domain", "https://shop.example", "--keys", keys)
    assert re.fullmatch(r"vc1_\S+\n", anyone.ok(*words))
    assert anyone.json(*words)["domain"] == "https://shop.example"


def test_a_token_stands_for_the_keys_file(anyone: Commands, remote: Commands, hana: tuple[str, Path]) -> None:
    did, keys = hana
    token = anyone.ok("auth", "token", "--keys", keys).strip()
    assert token.count(".") == 2
    assert "no caller is named" in anyone.refused("auth", "token", status=2)[0]
    for_her = remote.json("auth", "token", "--subject", did, "--scope", "dids:operate")
    assert for_her["token_type"] == "Bearer"


def test_the_help_of_each_has_an_example_that_is_right() -> None:
    for words in (
        ("did", "list"), ("events", "list"), ("timeline", "list"), ("verifications", "list"),
        ("verifications", "stats"), ("challenge", "create"), ("auth", "token"),
    ):  # fmt: skip
        told = Commands({}).ok(*words, "--help")
        examples = re.findall(r"^ +(identity .*)$", told, re.MULTILINE)
        assert examples, words
        command: Any = main
        for word in words:
            command = command.get_command(click.Context(command), word)
        known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        for example in examples:
            assert example.split()[1:3] == [*words]
            assert {part for part in example.split() if part.startswith("--")} <= known


def test_unknown_scope_is_refused_with_known_scopes(remote: Commands, wallet: Path) -> None:
    for words in ((), ("--keys", wallet)):
        what, _, remedy = remote.refused("auth", "token", "--scope", "nope", *words)
        assert "'nope' is not a scope of this service" in what
        assert "dids:operate" in remedy
