"""Command lines as a person would type them, parsed by the real parser and not run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click

from identity_core.cli import main

FILES = re.compile(r"[\w./-]+\.(json|jsonl|key|txt|toml|backup|log|tlog-proof)\Z")
TEXT = "0123456789abcdef0123456789abcdef"


def calls_of(line: str) -> list[list[str]]:
    """The words after ``identity`` of each part of a line of a shell: pipes and redirections are not for the command."""
    parts = re.split(r"[|;]|&&|<\(|\)", re.sub(r"\\\n", " ", line))
    words = [shlex.split(re.sub(r" >>? *\S+", "", part)) for part in parts]
    return [each[1:] for each in words if each and each[0] == "identity"]


def require_parsed(words: list[str], folder: Path) -> str:
    """Parses the words of a command as ``main`` would, and gives the command's path. The files that they name are made in ``folder``, the
    working directory. Raises ``click.UsageError`` for what the command does not take."""
    for word in words:
        if FILES.match(word) and not (folder / word).exists():
            (folder / word).write_text(TEXT)
            (folder / word).chmod(0o600)
    group: click.Command = main
    context = main.make_context("identity", [*words], resilient_parsing=True)
    rest = [word for word in words if word != "--help"]
    while isinstance(group, click.Group) and rest:
        name, found, rest = group.resolve_command(context, rest)
        if found is None or name is None:
            raise click.UsageError(f"no command {name}", context)
        group = found
        options = {"resilient_parsing": True} if isinstance(found, click.Group) else {}
        context = found.make_context(name, [*rest], parent=context, **options)
    return context.command_path
