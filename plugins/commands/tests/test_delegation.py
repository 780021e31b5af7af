"""identity delegation and identity ibct revoke against a running service."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Commands


@pytest.fixture
def aki(remote: Commands, here: Path) -> Path:
    """The keys file of an agent."""
    path = here / "aki.json"
    remote.ok("did", "create", "--keys", path)
    return path


@pytest.fixture
def alone(remote: Commands) -> Commands:
    """Commands without an API key: the caller signs."""
    return Commands({name: value for name, value in remote.environment.items() if name != "IDENTITY_API_KEY"})


def did(path: Path) -> str:
    return str(json.loads(path.read_text())["did"])


def test_a_holder_delegates_and_takes_it_back(alone: Commands, wallet: Path, aki: Path) -> None:
    pins = ("--pin", "age", "gte", "18", "--pin", "country", "set_member", '["DE","FR"]')
    wanted = ("--agent", did(aki), "--level", "2", *pins, "--max-uses", "5", "--max-refusals", "none")
    made = alone.json("delegation", "create", "--keys", wallet, *wanted, "--purpose", "Tickets")
    assert (made["holderDid"], made["agentDid"]) == (did(wallet), did(aki))
    assert made["actions"][0] == "zkp.prove.age.gte.18"
    assert (made["maxUses"], made["maxRefusals"], made["maxThresholds"]) == (5, None, 3)
    shown = alone.ok("delegation", "show", made["uri"], "--keys", aki)
    assert "status     active\n" in shown
    assert "uses       0 of 5\nrefusals   0, no limit\nthresholds 0 of 3\npurpose    Tickets" in shown
    assert "(manual)" in alone.ok("delegation", "suspend", made["id"], "--keys", wallet)
    assert "status     active" in alone.ok("delegation", "resume", made["id"], "--keys", wallet)
    assert alone.json("delegation", "revoke", made["id"], "--keys", aki, "--reason", "done")["revokedBy"] == {
        "kind": "did",
        "did": did(aki),
    }
    assert alone.ok("delegation", "list", "--keys", wallet, "--status", "revoked").startswith(made["id"])
    assert alone.json("delegation", "list", "--keys", wallet, "--status", "active")["items"] == []


def test_an_operator_delegates_for_a_holder(remote: Commands, wallet: Path, aki: Path) -> None:
    wanted = ("--holder", did(wallet), "--agent", did(aki), "--level", "3", "--action", "zkp.prove.age.gte")
    made = remote.json("delegation", "create", *wanted, "--days", "1")
    assert made["createdBy"]["kind"] == "apiKey"
    page = remote.json("delegation", "list", "--holder", did(wallet), "--agent", did(aki), "--limit", "1")
    assert [one["id"] for one in page["items"]] == [made["id"]]


def test_an_agent_passes_on(alone: Commands, remote: Commands, wallet: Path, aki: Path, here: Path) -> None:
    ben = here / "ben.json"
    remote.ok("did", "create", "--keys", ben)
    action = ("--action", "zkp.prove.age.gte", "--level", "5")
    above = ("--keys", wallet, "--agent", did(aki), *action, "--max-depth", "1")
    parent = alone.json("delegation", "create", *above)["id"]
    below = ("--keys", aki, "--parent", parent, "--agent", did(ben), *action, "--days", "29")
    child = alone.json("delegation", "create", *below)
    assert (child["grantorDid"], child["holderDid"]) == (did(aki), did(wallet))
    wide = alone.refused("delegation", "create", *below[:-1], "31")
    assert "DELEGATION_NOT_NARROWER" in wide[0]
    assert wide[1].endswith("; member: expiresAt")


def test_missing_field_is_named(remote: Commands, wallet: Path, aki: Path) -> None:
    nothing = remote.refused("delegation", "create", "--agent", "did:ids:x", "--level", "2", status=2)
    assert "--action" in nothing[2]
    action = ("--agent", did(aki), "--level", "2", "--action", "zkp.prove.age.gte")
    assert "--holder" in remote.refused("delegation", "create", *action, status=2)[2]
    assert remote("delegation", "create", "--keys", wallet, *action, "--max-uses", "many").exit_code == 2
    assert "DELEGATION_NOT_FOUND" in remote.refused("delegation", "show", "absent/delegation")[0]


def test_a_holder_calls_a_token_back(alone: Commands, wallet: Path, aki: Path) -> None:
    told = alone.json("ibct", "revoke", "--keys", wallet, "--id", "urn:uuid:1", "--expires-at", "2030-01-01T00:00:00Z")
    assert (told["invoker"], told["id"], told["keptUntil"]) == (did(wallet), "urn:uuid:1", "2030-01-01T01:02:00Z")
    assert "revoked    " in alone.ok("ibct", "revoke", "--keys", wallet, "--nonce", "n")
    assert "FORBIDDEN" in alone.refused("ibct", "revoke", "--keys", aki, "--invoker", did(wallet), "--nonce", "n")[0]
    assert "--nonce" in alone.refused("ibct", "revoke", "--keys", wallet, status=2)[2]
    assert "--invoker" in alone.refused("ibct", "revoke", "--nonce", "n", status=2)[2]
