"""``identity completion``: the script is where the shell looks, and completes; errors as JSON, and the table of exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from identity_core.cli import main
from tests.unit.cli.conftest import Commands

PLACES = {
    "bash": ".local/share/bash-completion/completions/identity",
    "zsh": ".zfunc/_identity",
    "fish": ".config/fish/completions/identity.fish",
}


@pytest.fixture
def home(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "SHELL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(here))
    return here


@pytest.mark.parametrize("shell", PLACES)
def test_it_is_put_where_the_shell_looks(identity: Commands, home: Path, shell: str) -> None:
    made = identity.json("completion", "install", shell)
    path = home / PLACES[shell]
    assert (made["path"], made["shell"]) == (str(path), shell)
    assert path.stat().st_mode & 0o777 == 0o644
    assert "_IDENTITY_COMPLETE" in path.read_text()
    # Again: its own file is written anew, and nothing is left beside it.
    identity.ok("completion", "install", shell)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert path.read_text().endswith(identity.json("completion", "show", shell)["script"])


@pytest.mark.parametrize("lies", ["file", "link"])
def test_a_file_of_somebody_else_stays(identity: Commands, home: Path, lies: str) -> None:
    path, other = home / PLACES["zsh"], home / "mine"
    path.parent.mkdir()
    other.write_text("mine")
    if lies == "link":
        path.symlink_to(other)
    else:
        path.write_text("mine")
    lines = identity.refused("completion", "install", "zsh")
    assert "move it away" in lines[2]
    assert path.read_text() == other.read_text() == "mine"


def test_the_shell_in_use_is_taken(identity: Commands, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "other"))
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert identity.json("completion", "install")["path"] == str(home / "other/fish/completions/identity.fish")
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert "tcsh" in identity.refused("completion", "install", status=2)[0]
    assert "bash, zsh, fish" in identity.refused("completion", "show", "powershell", status=2)[0]


def test_bash_completes(identity: Commands, home: Path) -> None:
    identity.ok("completion", "install", "bash")
    script = f"""
source {home / PLACES["bash"]}
identity() {{ {sys.executable} -m identity_core "$@"; }}
export -f identity
COMP_WORDS=(identity upg) COMP_CWORD=1
_identity_completion {home / "identity"}
echo "${{COMPREPLY[@]}}"
"""
    program = home / "identity"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m identity_core "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.stdout.split() == ["upgrade"], done.stderr


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("fsck", "--json", "--data-dir", "absent"), 2),
        (("upgrade", "check", "--json", "--data-dir", "absent"), 2),
        (("upgrade", "check", "--json", "--no-such-option"), 2),
        (("--json",), 2),
        (("nonsense", "--json"), 2),
        (("did", "log", "get", "did:ids:x", "--json", "--url", "http://127.0.0.1:1"), None),
    ],
)
def test_errors_are_json_where_json_was_asked_for(
    identity: Commands, words: tuple[str, ...], status: int | None
) -> None:
    done = identity(*words)
    assert done.exit_code in ((1, 2) if status is None else (status,))
    error = json.loads(done.stderr)["error"]
    assert set(error) == {"what", "at", "do", "exitCode"}
    assert error["exitCode"] == done.exit_code
    assert all(error[name] for name in ("what", "at", "do"))
    assert done.stdout == ""


def test_foreign_text_does_not_move_the_terminal(identity: Commands, here: Path) -> None:
    done = identity("upgrade", "check", "--json", "--data-dir", "a\x1b[2Jb\u202ec\nd")
    assert done.stderr.isascii()
    assert "\x1b" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert json.loads(done.stderr)["error"]["at"] == str(here) + "/a\x1b[2Jb\u202ec\nd"


def test_the_next_command_tells_in_text_again(identity: Commands) -> None:
    assert identity("upgrade", "check", "--json", "--data-dir", "absent").stderr.startswith("{")
    identity.refused("upgrade", "check", "--data-dir", "absent", status=2)
    # Behind "--" it is an argument, and no option.
    identity.refused("upgrade", "check", "--data-dir", "absent", "--", "--json", status=2)


def test_help_has_the_exit_codes(identity: Commands) -> None:
    told = identity.ok("--help")
    for code in ("  0    ", "  1    ", "  2    ", "  130  "):
        assert code in told
    assert main.epilog is not None
