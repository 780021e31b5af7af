"""Files that are none, and keys that are others: the doctor does not wait for them; each remedy is done, and nothing is found any more."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from identity_commands import secret_input

from identity_codec import ed25519
from identity_core.settings import SettingsError, load
from identity_tlog.note import WITNESS, VerifierKey
from plugins.operations.tests.test_doctor_remedies import examined
from plugins.operations.tests.test_doctor_remedies_typed import installed
from tests.ports import free_port
from tests.unit.cli.conftest import Commands

__all__ = ["installed"]

KEY = VerifierKey("w.example", ed25519.generate(bytes(32)).public, WITNESS)
POLICY = f"witness W {KEY} http://127.0.0.1:9/prefix\nquorum W\n"
NO_FILE: list[Callable[[Path], None]] = [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), os.mkdir]
EACH = pytest.mark.parametrize("make", NO_FILE, ids=["pipe", "device", "directory"])


def removed(path: Path) -> None:
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink()


def written(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(0o600)


@EACH
def test_a_policy_that_is_no_file(installed: Path, make: Callable[[Path], None]) -> None:
    policy = installed.with_name("policy")
    make(policy)
    named = {"IDENTITY_LEDGER_WITNESSES": str(policy)}
    (found,) = examined("witnesses", named)
    assert found.remedy.startswith("write it as c2sp.org/tlog-policy has it")
    removed(policy)
    policy.write_text(POLICY)
    assert examined("witnesses", named) == []


@EACH
def test_a_secret_that_is_no_file(here: Path, make: Callable[[Path], None]) -> None:
    make(here / "passphrase")
    named = {"IDENTITY_PLUGINS_SEALED_PASSPHRASE_FILE": str(here / "passphrase")}
    for check in ("plugins", "master key"):
        (found,) = examined(check, named)
        assert "cannot be read" in found.says
        assert found.remedy == "Name a readable file that holds the value and nothing else."
    with pytest.raises(SettingsError, match="cannot be read"):
        load(environment={"IDENTITY_DATABASE_URL_FILE": str(here / "passphrase")})
    removed(here / "passphrase")
    (here / "passphrase").write_text("correct horse battery staple")
    assert [*examined("plugins", named), *examined("master key", named)] == []


@pytest.mark.parametrize("make", NO_FILE[:2], ids=["pipe", "device"])
def test_settings_that_are_no_file_keep_no_command_waiting(
    identity: Commands, here: Path, make: Callable[[Path], None]
) -> None:
    make(here / "identity.toml")
    for command in ("doctor", "serve"):
        wrong, where, _ = identity.refused(command, "--config", "identity.toml", status=2)
        assert "cannot be read" in wrong
        assert where.endswith("identity.toml")


@EACH
def test_keys_that_are_no_file(identity: Commands, installed: Path, make: Callable[[Path], None]) -> None:
    """A file of API keys: `serve` ends as the doctor does, before anything listens."""
    make(installed / "keys.toml")
    (found,) = [one for one in examined("plugins", {}) if "keys.toml" in one.says]
    assert found.state == "fail"
    assert found.remedy
    assert "keys.toml" in identity.refused("serve", "--port", str(free_port()), "--data-dir", installed)[0]
    removed(installed / "keys.toml")
    assert examined("plugins", {}) == []


@pytest.mark.parametrize(
    "make", [*NO_FILE, lambda path: written(path, bytes(32)), lambda path: written(path, bytes(31))]
)
def test_a_master_key_that_is_another_or_no_file_is_put_back(
    identity: Commands, installed: Path, make: Callable[[Path], None]
) -> None:
    key, copy = installed / "custodian.key", installed.with_name("copy.key")
    shutil.move(key, copy)
    make(key)
    for found in examined("plugins", {}), examined("API keys", {}):
        assert [one.state for one in found] == ["fail"]
        assert found[0].remedy.startswith("put your copy of the master key back as ")
    (place,) = re.findall(r"back as (\S+) \(mode 0600\)", found[0].remedy)
    wrong, where, remedy = identity.refused("serve", "--port", str(free_port()), "--data-dir", installed)
    assert "custodian.key" in wrong
    assert where == "  at: plugins.sealed"
    assert "put your copy of the master key back" in remedy
    key.rename(installed.with_name("wrong"))
    shutil.move(copy, place)
    assert [*examined("plugins", {}), *examined("API keys", {})] == []


def test_doctor_times_out_on_silent_pipe(identity: Commands, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = secret_input.read_pipe
    monkeypatch.setattr(secret_input, "read_pipe", lambda path: read(path, seconds=0.05))
    os.mkfifo(here / "held.json", mode=0o600)
    assert "no process writes to this pipe" in identity.refused("doctor", "--held", "held.json")[0]


def test_unstarted_installation_is_backed_up_after_start(identity: Commands, installed: Path, here: Path) -> None:
    (here / "safe").mkdir()
    (here / "safe/key").write_bytes(os.urandom(32))
    (here / "safe/key").chmod(0o600)
    create = ("backup", "create", "night", "--key-file", "safe/key", "--data-dir", installed)
    wrong, _, remedy = identity.refused(*create)
    assert "was never started" in wrong
    (start,) = re.findall(r"`identity (\w+)`", remedy)
    assert start == "serve"
    assert not (here / "night").exists()
