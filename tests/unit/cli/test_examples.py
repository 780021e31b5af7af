"""The examples in each command's help are what its parser takes."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from identity_core.cli.output import Command, examples_of
from tests.unit.cli.conftest import Commands
from tests.unit.cli.parsing import calls_of, require_parsed
from tests.unit.cli.test_commands import LEAVES

ROOT = Path(__file__).resolve().parents[3]
HEADINGS = ("Example:", "Examples:")


def shown_examples(text: str) -> list[str]:
    """Return the lines under the heading in a help; each begins with ``identity`` or continues the one before."""
    lines, found = text.splitlines(), list[str]()
    [at] = [number for number, line in enumerate(lines) if line.strip() in HEADINGS]
    for line in lines[at + 1 :]:
        if not line.strip():
            break
        if line.startswith("      ") and found and found[-1].endswith("\\"):
            found[-1] += f"\n{line}"
        else:
            found.append(line.strip())
    return found


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_help_shows_use_place_and_examples(identity: Commands, here: Path, path: tuple[str, ...]) -> None:
    text = identity.ok(*path, "--help")
    name = " ".join(("identity", *path))
    assert text.startswith(f"Usage: {name} ")
    assert max(map(len, text.splitlines())) <= 110
    if isinstance(LEAVES[path], Command):
        options = {one.name for one in LEAVES[path].params}
        assert ("Remote command" in text) + ("Local command" in text) == 1
        assert "Remote command" not in text or ("url" in options and "data_dir" not in options)
    examples = shown_examples(text)
    assert examples
    for example in examples:
        calls = calls_of(example)
        assert name == require_parsed(calls[0], here), example
        for call in calls[1:]:
            require_parsed(call, here)


def test_every_example_belongs_to_a_command() -> None:
    """One of a command that is renamed would be shown nowhere."""
    of_commands = [call for path in LEAVES for call in examples_of(path)]
    assert sorted(of_commands) == sorted(set(of_commands))
    places = ("identity_core/cli/help.txt", "plugins/*/identity_*/help.txt")
    written = [path.read_text("utf-8") for place in places for path in ROOT.glob(place)]
    assert len(written) >= 6
    assert len(of_commands) == sum(f"\n{text}".count("\nidentity ") for text in written)


@pytest.mark.parametrize("line", ["identity did nothing x", "identity did resolve --nothing x", "identity did resolve"])
def test_example_uses_existing_options(here: Path, line: str) -> None:
    with pytest.raises(click.UsageError):
        require_parsed(calls_of(line)[0], here)
