"""The page of commands: the help of each, in the order of ``identity --help``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from docs.generate.document import fenced, page
from identity_core.cli import main


def command_page() -> str:
    """Every command with an anchor, those that installed plugins bring too."""
    introduction = "What `identity COMMAND --help` prints. Every command takes `--json`."
    return page("# Commands", introduction, *_sections(main, ("identity",), None))


def _sections(command: click.Command, words: tuple[str, ...], above: click.Context | None) -> Iterator[str]:
    context = click.Context(command, info_name=words[-1], parent=above, terminal_width=100, max_content_width=100)
    depth = min(len(words) + 1, 4)
    yield f"({'-'.join(words)})=\n{'#' * depth} {' '.join(words)}\n\n" + fenced("text", command.get_help(context))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is None:
                raise LookupError(f"{' '.join(words)} lists {name} and does not have it")
            yield from _sections(found, (*words, name), context)
