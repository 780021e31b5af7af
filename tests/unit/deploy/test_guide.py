"""The commands of the operator's guide, looked at: ``tools/guide`` runs them, which takes a machine of its own."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import click

from identity_core import __version__
from identity_core.cli import main
from tools.guide.machine import blocks, script

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "deploy/GUIDE.md"
BLOCKS = list(blocks(GUIDE.read_text()))
COMMAND = re.compile(r"(?:^|[;&(] ?|\s)identity(?:-as-service|-container .*:[\d.]+)? ((?:[a-z][a-z-]*(?: |$))+)(.*)$")


def commands() -> list[tuple[int, list[str], str]]:
    found = []
    for block in BLOCKS:
        for offset, line in enumerate(block.text.replace("\\\n", " ").splitlines()):
            match = COMMAND.search(line.replace("podman exec identity ", ""))
            if (
                match
                and "identity.toml <<" not in line
                and not line.startswith(("useradd", "runuser", "install", "chown", "podman top"))
            ):
                found.append((block.line + offset, match[1].split(), re.split(r" \| |; ", match[2])[0]))
    return found


def test_it_is_a_script() -> None:
    done = subprocess.run(
        ["bash", "-n"], input=script(BLOCKS, installs=True), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(BLOCKS) > 15


def test_each_command_and_option_is_one_of_ours() -> None:
    looked_at = 0
    for line, words, rest in commands():
        command: click.Command = main
        context = click.Context(main)
        for word in words:
            if not isinstance(command, click.Group):
                break
            found = command.get_command(context, word)
            assert found is not None, f"{GUIDE}:{line}: identity {' '.join(words)}"
            command = found
        known = {option for parameter in command.params for option in parameter.opts}
        asked = {word for word in shlex.split(rest.rstrip(")"), comments=True) if word.startswith("--")}
        assert asked <= known, f"{GUIDE}:{line}: {asked - known}"
        looked_at += 1
    assert looked_at > 20


def test_each_file_that_it_names_is_there() -> None:
    named = set(re.findall(r"\b(?:deploy|plugins|tests)/[\w./@-]+\w", GUIDE.read_text()))
    assert {name for name in named if not (ROOT / name).exists()} == set()
    assert "deploy/nginx/identity.conf" in named


def test_the_image_is_of_this_version() -> None:
    named = [
        version
        for path in (
            GUIDE,
            ROOT / "docs/how-to/deploy.md",
            *ROOT.glob("deploy/kubernetes/overlays/*/kustomization.yaml"),
        )
        for version in re.findall(r"(?:identity-service:|image:|newTag: )([\d.]+\d)", path.read_text())
    ]
    assert len(named) > 5
    assert set(named) == {__version__}
