"""The operator's guide, followed: each command of ``deploy/GUIDE.md`` in its order, as it stands there, on a machine of its own.

It needs root (or sudo without a password), a kernel that gives namespaces and overlays, and what the guide installs: nginx, Prometheus,
PostgreSQL, podman. With ``IDENTITY_GUIDE_INSTALL=no`` the environment of the tests stands in for what ``pip install`` makes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guide.machine import CERTIFICATES, MARK, blocks

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "deploy/GUIDE.md"
MACHINE = Path(__file__).with_name("machine.py")
OWN = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
LONGEST_SECONDS = 3000


def give_up(reason: str) -> None:
    (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)


@pytest.fixture(scope="module")
def as_root() -> list[str]:
    words = [] if os.geteuid() == 0 else ["sudo", "-n", "--preserve-env"]
    tried = subprocess.run([*words, *OWN, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        give_up(f"no namespaces: {tried.stderr.strip()}")
    for program in ("nginx", "prometheus", "promtool", "psql", "mmdebstrap", "podman", "runc", "skopeo"):
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None:
            give_up(
                f"{program} is not installed (Debian: nginx-light, prometheus, postgresql, mmdebstrap, podman, runc, skopeo)"
            )
    return [*words, *OWN]


def test_every_command_is_true(as_root: list[str]) -> None:
    expected = list(blocks(GUIDE.read_text()))
    installs = [] if os.environ.get("IDENTITY_GUIDE_INSTALL") == "no" else ["--install"]
    variables = {
        name: value for name, value in os.environ.items() if CERTIFICATES.match(name) or name in ("PATH", "HOME")
    }
    command = [*as_root, sys.executable, str(MACHINE), *installs, str(GUIDE)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS)
    said = (done.stdout + done.stderr)[-4000:]
    begun = [
        int(line.removeprefix(MARK).split()[0])
        for line in done.stderr.splitlines()
        if MARK in line and line.startswith(MARK)
    ]
    assert done.returncode == 0, f"the block at {GUIDE}:{begun[-1] if begun else 0}: {said}"
    assert begun == [block.line for block in expected if installs or not block.is_installation]
    # What the reader is told at the places that matter.
    assert done.stdout.count("of_the_next_version.sql has yet to run") == 3, "a step is missing, and the check names it"
    assert len(re.findall(r"brought to version [\d.]+; restart the service", done.stdout)) == 3
    assert 'alertname="IdentityDown", alertstate="firing"' in done.stdout
    assert "lost, as far as anything tells: 0 ledger entries" in done.stdout
    assert done.stdout.count(" steps in ") == 11, "each probe has told"
    assert len(re.findall(r"load: [1-9]\d* acknowledged, all at 2 replicas", done.stdout)) == 3, (
        "restart, loss, upgrade"
    )
    print(*re.findall(r"load: .*", done.stdout), sep="\n")
    assert re.search(r"^identity +none$", done.stdout, re.MULTILINE), "the container's user, and none of root's rights"
    assert "read-only: true" in done.stdout
    for name in ("sqlite", "postgresql"):
        assert f"valid: /etc/identity/kubernetes/{name}.yaml StatefulSet" in done.stdout
