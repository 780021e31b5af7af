"""Findings about files, modes and settings: each remedy is typed as it stands, after which nothing is found any more."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from identity_operations.commands.doctor import CHECKS
from identity_transparency.extension import identity_extend

from identity_core.extension.declaration import Diagnosis, stopped
from identity_core.settings import StartError, load

LOOKS = {check.name: (check.run, check.remedy) for check in (*CHECKS, *identity_extend().checks)}


def examined(check: str, environment: dict[str, str]) -> list[Diagnosis]:
    settings = load(environment=environment, overrides={"data_dir": Path("data")})
    look, remedy = LOOKS[check]
    try:
        return [one for one in look(settings) if one.state in ("warn", "fail")]
    except StartError as error:
        return [stopped(error, remedy)]


@pytest.mark.parametrize("opened", ["data", "data/custodian.key"])
def test_modes_are_what_the_remedy_makes_them(here: Path, opened: str) -> None:
    (here / "data").mkdir(mode=0o700)
    (here / "data/custodian.key").write_text("secret")
    (here / "data/custodian.key").chmod(0o600)
    assert examined("data directory", {}) == []
    (here / opened).chmod(0o755)
    (found,) = examined("data directory", {})
    assert found.remedy.startswith("chmod ")
    subprocess.run(shlex.split(found.remedy), check=True, cwd=here)
    assert examined("data directory", {}) == []


@pytest.mark.parametrize(
    ("check", "environment", "value"),
    [
        ("server", {"IDENTITY_SERVER_HOST": "0.0.0.0"}, "https://id.example"),
        ("server", {"IDENTITY_SERVER_UNIX_SOCKET": "identity.socket"}, "https://id.example"),
        ("throttle", {"IDENTITY_THROTTLE_STORE": "memory", "IDENTITY_SERVER_WORKERS": "2"}, "sql"),
        ("checkpoint", {"IDENTITY_LEDGER_CHECKPOINT_PATH": "nowhere/checkpoint"}, "elsewhere/checkpoint"),
        ("master key", {"IDENTITY_SERVER_PUBLIC_URL": "https://id.example"}, "passphrase"),
    ],
)
def test_settings_are_what_the_remedy_says(
    here: Path, monkeypatch: pytest.MonkeyPatch, check: str, environment: dict[str, str], value: str
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    (here / "elsewhere").mkdir()
    (here / "passphrase").write_text("correct horse battery staple")
    (here / "passphrase").chmod(0o600)
    (found,) = examined(check, environment)
    named = re.search(r"set (IDENTITY_[A-Z_]+|[a-z_]+\.[a-z_]+)", found.remedy)
    assert named is not None, found.remedy
    # A setting has the same name in the environment.
    variable = named[1] if named[1].startswith("IDENTITY_") else f"IDENTITY_{named[1].replace('.', '_').upper()}"
    assert examined(check, environment | {variable: value}) == []
