"""A command that some text tells people to type is one that the parser takes."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import click
import pytest

from tests.unit.cli.parsing import calls_of, require_parsed

ROOT = Path(__file__).resolve().parents[3]
NAMED = re.compile(r"`(identity [^`]*)`")


def texts(path: Path) -> list[str]:
    """The texts in a module; what is put into one later stands there as a word."""
    found, parts = [], set[int]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            parts |= {id(one) for one in node.values}
            found.append("".join(str(one.value) if isinstance(one, ast.Constant) else "WORD" for one in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            found.append(node.value)
    return found


@functools.cache
def named_commands() -> list[str]:
    modules = [*ROOT.glob("identity_core/**/*.py"), *ROOT.glob("plugins/*/identity_*/**/*.py")]
    naming = [path for path in modules if "`identity " in path.read_text()]
    written = [text for path in naming for text in texts(path)] + [(ROOT / "openapi/errors.yaml").read_text()]
    return sorted({" ".join(call.split()) for text in written for call in NAMED.findall(text)})


def require_known(line: str, folder: Path) -> None:
    """The command is there and takes these options; what it needs besides may be left out."""
    for name in {"FILE", "WORD", "…"} & {*line.split()}:
        (folder / name).touch()
    try:
        require_parsed(calls_of(line)[0], folder)
    except click.MissingParameter:
        pass
    except click.BadOptionUsage as error:
        if "requires" not in error.message:
            raise


def test_texts_name_commands() -> None:
    assert len(named_commands()) > 60
    assert "identity keys rotate log --finish" in named_commands()
    assert "identity did create --keys WORD" in named_commands()


def test_a_command_in_a_text_is_one(here: Path) -> None:
    wrong = []
    for line in named_commands():
        try:
            require_known(line, here)
        except click.UsageError as error:
            wrong.append(f"{line}: {error.format_message()}")
    assert wrong == []


@pytest.mark.parametrize(
    "line", ["identity nothing", "identity fsck --nothing", "identity proof verify FILE --nothing"]
)
def test_one_that_is_not_is_found(here: Path, line: str) -> None:
    with pytest.raises(click.UsageError):
        require_known(line, here)
