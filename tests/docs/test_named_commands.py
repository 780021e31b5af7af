"""Every command that a page of this repository names exists, with the options that it names, in blocks and in the text."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from identity_core.cli import main

ROOT = Path(__file__).resolve().parents[2]
# What once was, and the commands of a plugin that a reader writes.
HISTORY, OF_READERS = {"CHANGELOG.md"}, {"identity keys vault", "identity status publish"}
# In a code span; indented or fenced, after a prompt, variables or the folder of the environment; after a pipe.
SPAN = re.compile(r"`(identity [a-z][^`]*)`")
LINE = re.compile(r"^(?: {4}|\$ )?(?:[A-Z_]+=\S* )*(?:\.venv/bin/)?(identity [a-z].*?)$", re.MULTILINE)
BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```$|((?:^ {4}.*\n)+)", re.MULTILINE | re.DOTALL)


def named(text: str) -> Iterator[str]:
    """The command lines of a page."""
    spans = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from (span.replace("\n", " ") for span in SPAN.findall(spans))
    for fenced, indented in BLOCK.findall(text):
        lines = re.sub(r"\\\n(?:> )?", " ", fenced or indented)
        for line in LINE.findall(lines):
            yield from (part.strip() for part in re.split(r"\||&&|;|>", line) if part.strip().startswith("identity "))


def wrong(line: str) -> str:
    """Return the first word of ``line`` that is neither a command nor an option; empty if there is none."""
    words = shlex.split(line, comments=True)[1:]
    command: click.Command = main
    while isinstance(command, click.Group) and words and re.match(r"[a-z]", words[0]):
        below = command.get_command(click.Context(command), words[0])
        if below is None:
            return words[0]
        words, command = words[1:], below
    takes_words = isinstance(command, click.Group) or any(isinstance(one, click.Argument) for one in command.params)
    if not takes_words and words and not words[0].startswith(("-", "…")):
        return words[0]
    known = {one for parameter in command.params for one in (*parameter.opts, *parameter.secondary_opts)}
    said = {word.partition("=")[0] for word in words if re.match("-+[a-z]", word)}
    return ", ".join(sorted(said - known - {"-h", "--help"}))


def pages() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if name not in HISTORY and (ROOT / name).is_file()]


def test_commands_on_pages_exist() -> None:
    found = {(name, line) for name in pages() for line in named((ROOT / name).read_text(encoding="utf-8"))}
    assert len(found) > 150
    assert [
        f"{name}: {line}: {fault}" for name, line in sorted(found) if line not in OF_READERS and (fault := wrong(line))
    ] == []


TYPED = """```console
$ identity keys create \\
>   --admin > a.key
identity nothing …
```
"""


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        ("Run `identity did\ncreate --keys FILE`.", ["identity did create --keys FILE"]),
        ("    .venv/bin/identity did log get X | identity fsck\n", ["identity did log get X", "identity fsck"]),
        (TYPED, ["identity keys create    --admin", "identity nothing …"]),
        ("```python\nidentity = 1\n```\n", []),
    ],
)
def test_command_lines_are_found(page: str, lines: list[str]) -> None:
    assert [*named(page)] == lines


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("identity did create --keys x --json", ""),
        ("identity did invent", "invent"),
        ("identity did create --colour red", "--colour"),
        ("identity ledger witness --policy FILE", "--policy"),
        ("identity config check identity.toml", "identity.toml"),
        ("identity did --help", ""),
    ],
)
def test_a_command_or_option_that_is_not_there_is_told(line: str, fault: str) -> None:
    assert wrong(line) == fault


def test_programs_on_pages_are_python() -> None:
    found = 0
    for name in pages():
        for block in re.findall(
            r"^```python\n(.*?)^```$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        ):
            compile(block, name, "exec", dont_inherit=True)
            found += 1
    assert found >= 5
