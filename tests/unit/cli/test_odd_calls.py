"""Calls with odd arguments and streams end in an error that names them, never in "unexpected …: report this"."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from identity_commands.options import OrNone

from identity_core.cli import main
from identity_core.cli.options import Number, Whole
from tests.unit.cli.conftest import Commands

WRONG = ["inf", "nan", "1_0", "1e3", " 7", "７", "٣", "0x10", "", "9" * 30]


@pytest.mark.parametrize("value", WRONG)
def test_numbers_are_ascii_and_finite(identity: Commands, value: str) -> None:
    """``int`` takes ``1_0`` and digits of other scripts, ``float`` takes ``inf``."""
    for words in (
        ("keys", "create", "--days", value, "--data-dir", "data"),
        ("audit", "list", "--after", value),
        ("did", "history", "did:ids:x", "--version-id", value),
        ("serve", "--port", value),
    ):
        lines = identity.refused(*words, status=2)
        assert "unexpected" not in lines[0], lines


def run(here: Path, *arguments: str | bytes, closed: int | None = None) -> subprocess.CompletedProcess[bytes]:
    script = (
        f"import os; os.close({closed})\n" if closed is not None else "import os\n"
    ) + f"os.execv({sys.executable!r}, [{sys.executable!r}, '-m', 'identity_core'] + {list(arguments)!r})"
    return subprocess.run([sys.executable, "-c", script], cwd=here, capture_output=True, check=False, timeout=120)


def test_an_argument_that_is_not_utf_8_is_named(here: Path) -> None:
    for words in (["did", "resolve", b"did:ids:\xff", "--url", "http://127.0.0.1:9"], ["did", b"\xff"]):
        done = run(here, *words)
        assert done.returncode in (1, 2)
        assert b"report this" not in done.stderr, done.stderr
        assert b"error: " in done.stderr


@pytest.mark.parametrize("words", [["config", "show"], ["version"]])
def test_a_closed_standard_output_is_an_error(here: Path, words: list[str]) -> None:
    done = run(here, *words, closed=1)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: standard output is closed")


def test_a_closed_standard_input_is_empty(here: Path) -> None:
    done = run(here, "did", "log", "verify", "-", closed=0)
    assert (done.returncode, b"there is no log in it" in done.stderr) == (1, True), done.stderr


def test_a_closed_standard_error_is_not_missed(here: Path) -> None:
    done = run(here, "config", "show", closed=2)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"server.port" in done.stdout


def numeric(kind: click.ParamType) -> Iterator[click.ParamType]:
    """The number types of an option: its own, those of several values, that beside ``none``."""
    if isinstance(kind, click.Tuple):
        for one in kind.types:
            yield from numeric(one)
    elif isinstance(kind, OrNone):
        yield from numeric(kind._kind)
    elif isinstance(kind, type(click.INT) | type(click.FLOAT) | Whole | Number):
        yield kind


def commands_below(group: click.Command, path: str = "identity") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    if not isinstance(group, click.Group):
        yield path, group
        return
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from commands_below(command, f"{path} {name}")


NUMERIC = {
    f"{path} {parameter.human_readable_name if isinstance(parameter, click.Argument) else parameter.opts[0]}": kind
    for path, command in commands_below(main)
    for parameter in command.params
    for kind in numeric(parameter.type)
}


def test_there_are_numeric_options() -> None:
    assert len(NUMERIC) > 50


@pytest.mark.parametrize("name", NUMERIC)
def test_every_number_is_ascii_finite_and_plain(name: str) -> None:
    """Also one that has its type from its default, which click then calls INT or FLOAT."""
    kind = NUMERIC[name]
    assert isinstance(kind, Whole | Number), kind
    for value in WRONG:
        with pytest.raises(click.BadParameter):
            kind.convert(value, None, None)


def test_no_option_takes_numbers_otherwise() -> None:
    root = Path(__file__).parents[3] / "identity_core" / "cli"
    words = ("type=click.IntRange(", "type=click.FloatRange(", "type=int", "type=float", "click.INT", "click.FLOAT")
    found = {path.name for path in root.rglob("*.py") if any(one in path.read_text("utf-8") for one in words)}
    assert found == set()
