"""Commands that plugins bring: where they are, when they are imported, and what one that is broken costs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Commands

COMMAND = """
import click
@click.command()
def command():
    \"\"\"Says that it ran.\"\"\"
    click.echo("it ran")
"""
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Makes distributions of which everything is there but the installer."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)

    def installed(distribution: str, place: str, value: str, code: str | None = COMMAND) -> None:
        info = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[identity.commands]\n{place} = {value}\n")
        module = value.partition(":")[0]
        monkeypatch.delitem(sys.modules, module, raising=False)
        if code is not None:
            (site / f"{module}.py").write_text(code)

    return installed


@pytest.mark.parametrize("place", ["toy", "toy.deep.deeper", "ledger.toy", "did.log.toy", "credential.schema.toy"])
def test_its_place_is_its_name(identity: Commands, install: Install, place: str) -> None:
    install("identity-toy", place, "toy_commands:command")
    words = place.split(".")
    assert identity.ok(*words) == "it ran\n"
    assert "From identity-toy." in identity.ok(*words[:-1], "--help")
    assert identity.ok(*words, "--help").startswith(f"Usage: identity {' '.join(words)} ")


def test_help_imports_no_plugin(identity: Commands, install: Install) -> None:
    install("identity-toy", "ledger.toy", "toy_commands:command", "raise SystemExit('imported')")
    assert "toy" in identity.ok("ledger", "--help")
    assert "toy_commands" not in sys.modules


def test_a_known_word_reads_no_names(identity: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command costs does not grow with what is installed."""

    def read(**_: object) -> None:
        raise AssertionError("the names were read")

    monkeypatch.setattr("importlib.metadata.entry_points", read)
    assert "Invalid value for '--port'" in identity.refused("serve", "--port", "x", status=2)[0]
    assert "the names were read" in identity.refused("srve")[0]


@pytest.mark.parametrize("place", ["ledger.verify", "ledger", "version"])
def test_none_takes_the_place_of_one_of_the_core(identity: Commands, install: Install, place: str) -> None:
    install("identity-toy", place, "toy_commands:command")
    assert "it ran" not in identity(*place.split(".")).output
    assert "identity-toy" not in identity.ok(*place.split(".")[:-1], "--help")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (None, "ModuleNotFoundError: No module named 'toy_commands'"),
        ("x = 1 / 0", "ZeroDivisionError"),
        ("", "AttributeError"),
        ("command = 1", "TypeError: it is not a click command"),
    ],
)
def test_a_broken_one_costs_itself_only(identity: Commands, install: Install, code: str | None, says: str) -> None:
    install("identity-toy", "ledger.toy", "toy_commands:command", code)
    lines = identity.refused("ledger", "toy")
    assert lines[0].startswith("error: identity ledger toy cannot be loaded: ")
    assert says in lines[0]
    assert lines[1] == "  at: toy_commands:command of identity-toy"
    assert "toy" in identity.ok("ledger", "--help")
    assert "identity" in identity.ok("--help")
    assert identity.ok("ledger", "verify", "--help")


def test_two_of_one_place_are_neither(identity: Commands, install: Install) -> None:
    install("identity-toy", "ledger.toy", "toy_commands:command")
    install("identity-tin", "ledger.toy", "tin_commands:command")
    lines = identity.refused("ledger", "toy")
    assert lines[0] == "error: several plugins bring this command: identity-tin, identity-toy"
    assert identity.ok("ledger", "--help").count("toy  ") == 1


@pytest.mark.parametrize("code", ["def options(command):\n    raise ValueError", "1 / 0"])
def test_broken_options_cost_themselves_only(
    identity: Commands, install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    install("identity-toy", "toy", "toy_commands:command")
    place = tmp_path / "site" / "identity_toy-1.0.dist-info" / "entry_points.txt"
    place.write_text(f"{place.read_text()}[identity.options]\nplugins.list = toy_options:options\n")
    (tmp_path / "site" / "toy_options.py").write_text(code)
    monkeypatch.delitem(sys.modules, "identity_operations.commands.plugins", raising=False)
    assert "--url" in identity.ok("plugins", "list", "--help")
    assert "toy_options" in sys.modules or "1 / 0" in code


def test_missing_commands_are_to_be_installed(identity: Commands, install: Install) -> None:
    code = "import sys; sys.modules['identity_absent'] = None; import identity_absent.remote"
    install("identity-toy", "toy", "toy_commands:command", code)
    assert identity.refused("toy")[2] == "  do: pip install identity-absent"


def test_an_unknown_word_is_one(identity: Commands, install: Install) -> None:
    install("identity-toy", "ledger.toy", "toy_commands:command")
    assert "No such command 'to'" in identity.refused("ledger", "to", status=2)[0]
    assert "No such command 'ledger.toy'" in identity.refused("ledger.toy", status=2)[0]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"toy: Play.\nledger.toy: Play deep.\nidentity toy: an example", "Play."),
        (b"identity toy \\\n  --x toy: no\ntoy: Toys | Play.\n", "Play."),
        (b"toy: \xff", "From identity-toy."),
        (b"toy: \x1b[2J\xe2\x80\xaePlay.\n", "\\u001b[2J\\u202ePlay."),
        (b"#" * 65_536 + b"\ntoy: Play.\n", "From identity-toy."),
        (None, "From identity-toy."),
    ],
)
def test_summary_is_the_line_of_help(
    identity: Commands, install: Install, tmp_path: Path, text: bytes | None, line: str
) -> None:
    install("identity-toy", "toy", "toy_commands:command", "raise SystemExit('imported')")
    site = tmp_path / "site"
    place = site / "identity_toy-1.0.dist-info" / "entry_points.txt"
    place.write_text(f"{place.read_text()}[identity.help]\ntoy = toy_help\nabsent = toy_absent\n")
    (site / "toy_help").mkdir()
    (site / "toy_help" / "__init__.py").write_text("raise SystemExit('imported')")
    if text is not None:
        (site / "toy_help" / "help.txt").write_bytes(text)
    lines = identity.ok("--help").splitlines()
    (shown,) = [text for text in lines if text.split()[:1] == ["toy"]]
    assert shown.split(maxsplit=1)[1] == line
    assert ("Toys:" in lines) == (b"Toys" in (text or b""))
    assert lines.index("Start:") < lines.index("Identifiers:") < lines.index(shown)


def test_help_does_not_wait_for_a_pipe(identity: Commands, install: Install, tmp_path: Path) -> None:
    install("identity-toy", "toy", "toy_commands:command")
    site = tmp_path / "site"
    place = site / "identity_toy-1.0.dist-info" / "entry_points.txt"
    place.write_text(f"{place.read_text()}[identity.help]\ntoy = toy_help\n")
    (site / "toy_help").mkdir()
    (site / "toy_help" / "__init__.py").touch()
    os.mkfifo(site / "toy_help" / "help.txt")
    assert "From identity-toy." in identity.ok("--help")


def test_help_of_a_package_within_another_imports_neither(identity: Commands, install: Install, tmp_path: Path) -> None:
    install("identity-toy", "toy", "toy_commands:command", "raise SystemExit('imported')")
    site = tmp_path / "site"
    place = site / "identity_toy-1.0.dist-info" / "entry_points.txt"
    place.write_text(f"{place.read_text()}[identity.help]\ntoy = toy_outer.inner\n")
    (site / "toy_outer" / "inner").mkdir(parents=True)
    (site / "toy_outer" / "__init__.py").write_text("raise SystemExit('imported')")
    (site / "toy_outer" / "inner" / "help.txt").write_text("toy: Play.\n")
    assert "Play." in identity.ok("--help")
    assert "toy_outer" not in sys.modules
