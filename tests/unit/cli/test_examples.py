"""The examples in each command's help are what its parser takes."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from identity_codec.multibase import base64url_encode
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


# Their options depend on each other. Other commands serve until they are stopped, or work on an installation.
DEPENDENT = {"credential", "proof", "delegation", "ibct", "presentation", "did", "auth"}


@pytest.fixture
def used_files(remote: Commands, here: Path) -> None:
    """Write the files that examples name and that commands read before they compare their options."""
    for name in ("hana", "isa", "aki", "shop"):
        remote.ok("did", "create", "--keys", f"{name}.json", "--key", "Bls12381G2Key2020", "assertionMethod")
    did = json.loads((here / "hana.json").read_text())["did"]
    held = {"did": did, "secret": base64url_encode(bytes(31) + b"1"), "requests": {}, "credentials": {}}
    (here / "hana-held.json").write_text(json.dumps(held))
    (here / "hana-held.json").chmod(0o600)


def test_examples_have_the_options_that_commands_need(
    used_files: None, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command compares options after the parser: ``proof create`` needs ``--credential`` or ``--question``. No example is sent."""

    def refuse(*_: object, **__: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    monkeypatch.setattr("time.sleep", lambda _: None)
    wrong, found = [], 0
    for path in LEAVES:
        for example in examples_of(path) if path[0] in DEPENDENT else ():
            for words in calls_of(example):
                require_parsed(words, here)
                found += 1
                result = Commands({})(*words)
                if result.exit_code == 2 and " at: identity " in result.stderr:
                    wrong.append((example, result.stderr))
    assert found > 50
    assert wrong == []


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
