"""The operator's guide followed by a test: which chapters, on which machine, and what its commands have said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from tools.guide.machine import CERTIFICATES, MARK, blocks

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "deploy/GUIDE.md"
# The chapter that `tox -e patroni` runs, with those that lead to it; all others are run by `tox -e guide`.
PATRONI = 9
CHAPTERS_TO_PATRONI = (1, 2, 3, 5, 8, PATRONI)
MACHINE = Path(__file__).with_name("machine.py")
OWN = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
LONGEST_SECONDS = 3000


def give_up(reason: str) -> None:
    is_required = os.environ.get("CI") or os.environ.get("IDENTITY_PATRONI") == "required"
    (pytest.fail if is_required else pytest.skip)(reason)


def as_root(programs: dict[str, str]) -> list[str]:
    """What begins the command of a machine of its own. ``programs`` are needed, each with its package of Debian."""
    words = [] if os.geteuid() == 0 else ["sudo", "-n", "--preserve-env"]
    tried = subprocess.run([*words, *OWN, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        give_up(f"no namespaces: {tried.stderr.strip()}")
    for program, package in programs.items():
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None:
            give_up(f"{program} is not installed ({package})")
    return [*words, *OWN]


def follow(machine: list[str], chapters: Collection[int]) -> str:
    """What the commands of these chapters print, each of them run. With ``IDENTITY_GUIDE_INSTALL=no`` the environment of the tests
    stands in for what ``pip install`` makes."""
    installs = [] if os.environ.get("IDENTITY_GUIDE_INSTALL") == "no" else ["--install"]
    variables = {
        name: value for name, value in os.environ.items() if CERTIFICATES.match(name) or name in ("PATH", "HOME")
    }
    asked = ["--chapters", ",".join(map(str, chapters)), str(GUIDE)]
    command = [*machine, sys.executable, str(MACHINE), *installs, *asked]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS)
    said = (done.stdout + done.stderr)[-4000:]
    begun = [
        int(line.removeprefix(MARK).split()[0])
        for line in done.stderr.splitlines()
        if MARK in line and line.startswith(MARK)
    ]
    assert done.returncode == 0, f"the block at {GUIDE}:{begun[-1] if begun else 0}: {said}"
    expected = [block for block in blocks(GUIDE.read_text()) if block.chapter in chapters]
    assert begun == [block.line for block in expected if installs or not block.is_installation]
    return done.stdout
