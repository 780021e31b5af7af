"""A kernel without these commands: the rest of the command line works, and a missing command has a remedy."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from identity_core.files import install_command
from tests.unit.cli.conftest import Commands

HELP = Path(__file__).parents[1] / "identity_commands" / "help.txt"
SUMMARIES = dict(re.findall(r"^([\w-]+): (?:.+ \| )?(.+)$", HELP.read_text(), re.MULTILINE))


@pytest.fixture
def kernel(identity: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """The command line where the distribution is not installed, nor those that add to its groups ``credential`` and ``did``."""
    read = importlib.metadata.entry_points
    absent = ("identity_commands.", "identity_transparency.", "identity_wallets.")

    def read_others(**chosen: str) -> Any:
        every = read()
        found = [one for group in every.groups for one in every.select(group=group)]
        others = importlib.metadata.EntryPoints(one for one in found if not one.value.startswith(absent))
        return others.select(**chosen)

    monkeypatch.setattr(importlib.metadata, "entry_points", read_others)
    return identity


def test_help_lists_the_commands_with_their_lines(identity: Commands) -> None:
    text = " ".join(identity.ok("--help").split())
    assert [name for name, line in SUMMARIES.items() if f"{name} {line}" not in text] == []
    assert "From identity-commands" not in text


def test_help_lists_only_what_is_installed(kernel: Commands) -> None:
    listed = {line.split()[0] for line in kernel.ok("--help").splitlines() if line.startswith("  ") and line.split()}
    assert SUMMARIES.keys().isdisjoint(listed)
    assert {"serve", "keys", "plugins", "version"} <= listed
    assert kernel.ok("serve", "--help")


@pytest.mark.parametrize("command", SUMMARIES)
def test_missing_command_has_a_remedy(kernel: Commands, command: str) -> None:
    _, _, remedy = kernel.refused(command, status=2)
    assert remedy.endswith(f"commands of extensions are installed with `{install_command('identity-service')}`")


def test_kernel_imports_none_of_them() -> None:
    program = """
import sys
sys.modules["identity_commands"] = None
import identity_core.bootstrap.app, identity_core.cli.serve
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
