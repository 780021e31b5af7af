"""identity keys, on a data directory and beside a running service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from identity_commands.local_server import LocalServer

from tests.unit.cli.conftest import Commands


@pytest.fixture
def made_key(identity: Commands) -> dict[str, Any]:
    """A key in a new data directory; the text of the key with it."""
    record: dict[str, Any] = identity.json("keys", "create", "--name", "ops", "--admin")
    return record


def test_create_shows_the_key_once(identity: Commands, made_key: dict[str, Any]) -> None:
    assert made_key["apiKey"].startswith("idk_live_")
    assert (made_key["admin"], made_key["scopes"]) == (True, None)
    assert made_key["apiKey"] not in identity.ok("keys", "list") + identity.ok("keys", "show", made_key["id"])
    said = identity.ok("keys", "create", "--name", "two", "--scopes", "dids:create, dids:list").splitlines()
    assert said[0].endswith("dids:create,dids:list")
    assert said[1].startswith("idk_live_")
    assert "once" in said[2]


def test_create_with_limits(identity: Commands, here: Path) -> None:
    limits = ("--requests-per-second", "2.5", "--burst", "7", "--days", "1", "--allowed-target", "did:ids:x")
    record = identity.json("keys", "create", "--name", "a", "--scopes", "dids:list", *limits, "--data-dir", "other")
    assert (record["requestsPerSecond"], record["burst"], record["allowedTargets"]) == (2.5, 7, ["did:ids:x"])
    assert record["expiresAt"] > record["createdAt"]
    assert (here / "other" / "keys.sqlite").exists()


@pytest.mark.parametrize(
    "command", [("create", "--name", "a", "--admin", "--allowed-target"), ("update", "--allowed-targets")]
)
def test_an_allowlist_holds_dids(identity: Commands, made_key: dict[str, Any], command: tuple[str, ...]) -> None:
    name, *options = command
    key = [made_key["id"]] if name == "update" else []
    said = identity.refused("keys", name, *key, *options, "hana")
    assert "allowedTargets holds DIDs" in " ".join(said)
    assert len(identity.json("keys", "list")) == 1


def test_list_and_show(identity: Commands, made_key: dict[str, Any]) -> None:
    record = {name: value for name, value in made_key.items() if name != "apiKey"}
    assert identity.json("keys", "list") == [record]
    assert identity.json("keys", "show", made_key["id"]) == record
    assert made_key["id"] in identity.ok("keys", "list")
    assert f"createdAt          {made_key['createdAt']}" in identity.ok("keys", "show", made_key["id"])


def test_list_goes_over_every_page(
    identity: Commands, made_key: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("identity_api_keys.commands.PAGE", 1)
    others = {identity.json("keys", "create", "--name", str(number), "--admin")["id"] for number in range(2)}
    assert {record["id"] for record in identity.json("keys", "list")} == {made_key["id"], *others}


def test_quiet_prints_the_new_key_alone(identity: Commands, made_key: dict[str, Any]) -> None:
    (text,) = identity.ok("keys", "create", "--name", "quiet", "--admin", "-q").split()
    ids = identity.ok("keys", "list", "-q").split()
    assert text not in ids
    assert made_key["id"] in ids
    assert len(ids) == 2


def test_update_changes_what_is_named(identity: Commands, made_key: dict[str, Any]) -> None:
    update = ("keys", "update", made_key["id"])
    changed = identity.json(*update, "--scopes", "dids:list", "--burst", "5", "--days", "2")
    assert (changed["admin"], changed["scopes"], changed["burst"]) == (False, ["dids:list"], 5)
    assert changed["name"] == "ops"
    changed = identity.json(*update, "--burst", "none", "--days", "none", "--allowed-targets", "did:ids:x,did:ids:y")
    assert (changed["burst"], changed["expiresAt"]) == (None, None)
    assert changed["allowedTargets"] == ["did:ids:x", "did:ids:y"]
    assert identity.json(*update, "--admin", "--allowed-targets", "none")["allowedTargets"] is None
    assert "name               new" in identity.ok(*update, "--name", "new")
    # Only a limit is taken away by this word.
    assert identity.json(*update, "--name", "none")["name"] == "none"


@pytest.mark.parametrize("option", ["--requests-per-second", "--days"])
def test_create_takes_no_number_that_is_none(identity: Commands, option: str) -> None:
    assert (
        "nan is not a number"
        in identity.refused("keys", "create", "--name", "a", "--admin", option, "nan", status=2)[0]
    )


@pytest.mark.parametrize(
    "options", [[], ["--burst", "0"], ["--burst", "many"], ["--requests-per-second", "nan"], ["--days", "-1"]]
)
def test_update_refuses(identity: Commands, made_key: dict[str, Any], options: list[str]) -> None:
    identity.refused("keys", "update", made_key["id"], *options, status=2)


def test_rotate_and_revoke(identity: Commands, made_key: dict[str, Any]) -> None:
    successor = identity.json("keys", "rotate", made_key["id"], "--grace-hours", "1")
    assert successor["apiKey"] != made_key["apiKey"]
    end = identity.json("keys", "show", made_key["id"])["revokedAt"]
    assert end > made_key["createdAt"]
    assert f"works until {end}" in identity.ok("keys", "list")
    assert "revoked" in identity.ok("keys", "revoke", successor["id"])
    assert identity.json("keys", "show", successor["id"])["revokedAt"] is not None
    assert "once" in identity.ok("keys", "rotate", identity.json("keys", "create", "--name", "b", "--admin")["id"])


def test_every_change_leaves_a_line_in_the_audit_log(identity: Commands, made_key: dict[str, Any]) -> None:
    identity.ok("keys", "update", made_key["id"], "--name", "new")
    successor = identity.json("keys", "rotate", made_key["id"])
    identity.ok("keys", "revoke", successor["id"])
    identity.refused("keys", "revoke", "key_nobody")
    identity.ok("keys", "list")
    lines = [json.loads(line) for line in identity.ok("audit", "export").splitlines()]
    told = [json.loads(line["line"]) for line in lines]
    assert [(one["operation"], one["target"]) for one in told] == [
        ("createApiKey", made_key["id"]),
        ("updateApiKey", made_key["id"]),
        ("rotateApiKey", made_key["id"]),
        ("revokeApiKey", successor["id"]),
    ]
    # There is no authenticated caller at the command line.
    assert {(one["caller"], one["requestId"], one["outcome"]) for one in told} == {(None, "-", "done")}
    assert told[0]["details"] == {"name": "ops", "fingerprint": told[1]["details"]["fingerprint"], "admin": True}
    assert told[2]["details"]["successor"] == successor["id"]
    assert made_key["apiKey"] not in repr(told)


@pytest.mark.parametrize("command", ["show", "rotate", "revoke"])
def test_a_key_that_nobody_knows(identity: Commands, made_key: dict[str, Any], command: str) -> None:
    lines = identity.refused("keys", command, "key_nobody")
    assert "API_KEY_NOT_FOUND" in lines[0]
    assert "keys list" in lines[2]


def test_a_store_that_cannot_be_written(identity: Commands, made_key: dict[str, Any]) -> None:
    only_env = Commands({"IDENTITY_KEY_STORES": "env", "API_KEY": "k" * 40})
    assert "add sql to key_stores" in only_env.refused("keys", "list")[0]


def test_a_running_service_takes_the_key(identity: Commands, server: LocalServer) -> None:
    made_key = identity.json("keys", "create", "--name", "beside", "--admin", "--data-dir", server.data_dir)
    headers = {"X-API-Key": made_key["apiKey"]}
    assert httpx.get(f"{server.url}/api/v1/dids", headers=headers).status_code == 200
    # The audit line knows it by the fingerprint under which the service shows it.
    shown = httpx.get(f"{server.url}/api/v1/admin/api-keys/{made_key['id']}", headers=headers).json()
    lines = identity.ok("audit", "export", "--data-dir", server.data_dir).splitlines()
    told = [json.loads(json.loads(line)["line"]) for line in lines]
    (created,) = (one for one in told if one["target"] == made_key["id"])
    assert created["details"]["fingerprint"] == shown["fingerprint"]
