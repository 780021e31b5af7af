"""The settings of a command: the file that is read, and the warning of a password on the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from identity_core.cli.options import configured
from identity_core.settings import load


def test_the_file_of_the_system_is_read_where_there_is_no_other(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = tmp_path / "etc.toml"
    monkeypatch.setattr(sys.modules["identity_core.settings.load"], "SYSTEM_FILE", system)
    assert load(environment={}).file is None
    system.write_text("[server]\nport = 1\n")
    found = load(environment={})
    assert (found.server.port, found.file) == (1, system)
    (here / "identity.toml").write_text("[server]\nport = 2\n")
    # root reads its own first.
    assert load(environment={}).server.port == (1 if os.geteuid() == 0 else 2)
    named = tmp_path / "named.toml"
    named.write_text("[server]\nport = 3\n")
    assert load(environment={"IDENTITY_CONFIG": str(named)}).server.port == 3


@pytest.mark.parametrize(
    ("url", "is_warned"),
    [
        ("postgresql://id:secret@db.example/id", True),
        ("postgresql://db.example/id?user=id&password=secret", True),
        ("postgresql://id@[::1]:5432/id?passfile=/etc/identity/passfile", False),
        (None, False),
    ],
)
def test_password_on_the_command_line_is_warned_of(
    url: str | None,
    is_warned: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    configured(None, {"database_url": url})
    assert ("password in --database-url" in (said := capsys.readouterr().err)) is is_warned
    assert "secret" not in said
