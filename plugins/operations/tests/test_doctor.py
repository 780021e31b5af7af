"""identity doctor and identity config: what they find, and that looking leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from identity_commands.local_server import LocalServer
from identity_operations.commands import doctor

from identity_bbs import bls12381
from identity_core.settings import load
from tests import servers
from tests.unit.cli.conftest import Commands


def findings(commands: Commands, *arguments: str | Path, status: int = 0) -> dict[str, Any]:
    result = commands("doctor", "--json", *arguments)
    assert result.exit_code == status, result.output
    body = json.loads(result.stdout)
    assert body["healthy"] is (status == 0)
    assert all(one["remedy"] for one in body["findings"] if one["state"] in ("warn", "fail"))
    found: dict[str, Any] = {}
    for one in body["findings"]:
        found.setdefault(one["check"], one)
    return found


def test_before_the_first_start(identity: Commands, here: Path) -> None:
    found = findings(identity, status=2)
    assert found["installation"]["state"] == "fail"
    assert found["curves"]["state"] == "ok"
    assert found["database"]["says"].startswith("SQLite ")
    # Not "ok": another plugin that happens to be installed may lack its settings.
    assert found["plugins"]["state"] != "fail"
    unchecked = ("clock", "storage", "checkpoint", "listener", "backups", "API keys")
    assert {found[name]["state"] for name in unchecked} == {"not checked"}
    assert "opens" not in found["master key"]["says"]
    assert found["throttle"]["says"] == "buckets in memory"
    assert found["API keys"]["says"] == "in sql, file, env"
    assert list(here.iterdir()) == []
    assert found["installation"]["remedy"].endswith("before the first start: `identity serve`")


def test_an_installation(identity: Commands, server: LocalServer) -> None:
    found = findings(identity, "--data-dir", server.data_dir)
    used = found["plugins"]["says"].partition(": ")[2].split(", ")
    assert "operations" in used
    # Extensions that are off.
    assert not {"agents", "vcalm", "wallets"} & {*used}
    fresh = ("data directory", "database", "server", "storage", "checkpoint", "master key")
    assert {name: found[name]["state"] for name in fresh} == dict.fromkeys(fresh, "ok")
    assert found["backups"]["state"] == "not checked"


def test_missing_checkpoint_is_not_checked(identity: Commands, server: LocalServer, here: Path) -> None:
    """The databases cannot be compared with a checkpoint that the command does not find: that is not `ok`."""
    elsewhere = Commands({"IDENTITY_LEDGER_CHECKPOINT_PATH": str(here / "elsewhere")})
    found = findings(elsewhere, "--data-dir", server.data_dir)
    assert found["checkpoint"]["state"] == "not checked"
    assert "ledger.checkpoint_path" in found["checkpoint"]["says"]
    assert "checkpoint" not in found["storage"]["says"]
    lines = elsewhere.ok("doctor", "--data-dir", server.data_dir).splitlines()
    assert any(line.startswith("not checked checkpoint ") for line in lines)
    assert "the stored checkpoint has" in findings(identity, "--data-dir", server.data_dir)["storage"]["says"]


def test_whether_there_is_a_key(identity: Commands, here: Path) -> None:
    (here / "data").mkdir(mode=0o700)
    (here / "data" / "note").write_text("")
    where = ("--data-dir", "data")
    assert findings(identity, *where, status=2)["API keys"]["state"] == "warn"
    assert findings(Commands({"API_KEY": "k" * 40}), *where, status=2)["API keys"]["state"] == "ok"
    identity.ok("keys", "create", "--name", "ops", "--admin", *where)
    assert findings(identity, *where)["API keys"]["state"] == "ok"


def test_an_empty_folder_stays_empty(identity: Commands, here: Path) -> None:
    (here / "open").mkdir()
    (here / "open").chmod(0o755)
    found = findings(identity, "--data-dir", "open", status=2)
    assert found["data directory"]["state"] == "warn"
    assert "chmod 700" in found["data directory"]["remedy"]
    assert list((here / "open").iterdir()) == []


def test_a_folder_that_is_none(identity: Commands, here: Path) -> None:
    (here / "file").write_text("")
    assert findings(identity, "--data-dir", "file", status=2)["data directory"]["state"] == "fail"


@pytest.mark.parametrize(
    ("name", "value"),
    [("IDENTITY_PLUGINS_SEALED_NOPE", "1"), ("IDENTITY_API_KEYS", "ci:a:b:c:d"), ("IDENTITY_KEY_STORES", "nix")],
)
def test_fault_is_reported_once(here: Path, name: str, value: str) -> None:
    (here / "data").mkdir(mode=0o700)
    (here / "data" / "note").write_text("")
    result = Commands({name: value})("doctor", "--data-dir", "data", "--json")
    failed = [one for one in json.loads(result.stdout)["findings"] if one["state"] == "fail"]
    assert [one["check"] for one in failed] == ["installation", "plugins"]
    assert f"It is in: environment {name}" in failed[1]["says"]
    assert failed[1]["remedy"].startswith(("Did you mean", "Unset", "Write for example", "Choose one"))


def test_a_key_file_is_a_warning_for_a_public_service(identity: Commands, here: Path) -> None:
    assert findings(identity, status=2)["master key"]["state"] == "ok"
    public = Commands({"IDENTITY_SERVER_PUBLIC_URL": "https://id.example"})
    found = findings(public, status=2)["master key"]
    assert (found["state"], found["says"].partition(" ")[0]) == ("warn", "custodian.key")


def test_a_passphrase_is_better(here: Path) -> None:
    given = Commands(servers.CHEAP_PASSPHRASE | {"IDENTITY_PLUGINS_SEALED_PASSPHRASE": "correct horse"})
    found = findings(given, status=2)
    assert found["master key"]["state"] == "not checked"
    assert "correct horse" not in given("doctor").output + given.ok("config", "show", "--origin")


@pytest.mark.parametrize(
    ("environment", "check", "state", "says"),
    [
        ({"IDENTITY_LEDGER_BACKEND": "nope"}, "plugins", "fail", "nope"),
        (
            {"IDENTITY_PLUGINS_SEALED_NOPE": "1"},
            "plugins",
            "fail",
            "It is in: environment IDENTITY_PLUGINS_SEALED_NOPE",
        ),
        ({"IDENTITY_DATABASE_URL": "postgresql://u:secret@127.0.0.1:1/x"}, "plugins", "fail", "ledger"),
        ({"IDENTITY_THROTTLE_REDIS_URL": "redis://127.0.0.1:1/0"}, "throttle", "fail", "Redis does not answer"),
        ({"IDENTITY_SERVER_WORKERS": "2"}, "throttle", "ok", "buckets in sql"),
        ({"IDENTITY_SERVER_WORKERS": "2", "IDENTITY_THROTTLE_STORE": "memory"}, "throttle", "warn", "of its own"),
        ({"IDENTITY_SERVER_HOST": "0.0.0.0"}, "server", "warn", "public_url"),
        ({"IDENTITY_SERVER_PUBLIC_URL": "https://id.example"}, "server", "ok", "https://id.example"),
    ],
)
def test_faults_are_reported(here: Path, environment: dict[str, str], check: str, state: str, says: str) -> None:
    given = Commands(environment)
    # A server that does not answer is a fault. It may have an installation.
    finding = findings(given, status=1 if "IDENTITY_DATABASE_URL" in environment else 2)[check]
    assert finding["state"] == state
    assert says in finding["says"]
    assert "secret" not in given("doctor").output


def test_curves_that_are_slow_or_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    states = bls12381.available()
    slow = [one for one in states if one.name == "py_ecc"]
    monkeypatch.setattr(bls12381, "available", lambda: slow)
    assert [finding.state for finding in doctor._curves(load(environment={}))] == ["warn"]
    monkeypatch.setattr(bls12381, "available", lambda: [type(slow[0])("pyblst", None, "no wheel")])
    (finding,) = doctor._curves(load(environment={}))
    assert (finding.state, "no wheel" in finding.says) == ("fail", True)
    monkeypatch.setattr(bls12381, "available", lambda: [*slow, type(slow[0])("blst", None, "not installed")])
    (finding,) = doctor._curves(load(environment={}))
    assert finding.says.endswith("(not blst: not installed; the extra `blst` installs it)")
