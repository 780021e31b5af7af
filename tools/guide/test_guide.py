"""The operator's guide, followed: each command of ``deploy/GUIDE.md`` in its order, as it stands there, on a machine of its own.

It needs root (or sudo without a password), a kernel that gives namespaces and overlays, and what the guide installs: nginx, Prometheus,
PostgreSQL, podman. ``tox -e patroni`` runs the chapter about Patroni.
"""

from __future__ import annotations

import re

import pytest

from tools.guide.followed import GUIDE, PATRONI, as_root, follow
from tools.guide.machine import blocks

PROGRAMS = {
    "nginx": "Debian: nginx-light",
    "prometheus": "Debian: prometheus",
    "promtool": "Debian: prometheus",
    "psql": "Debian: postgresql",
    "mmdebstrap": "Debian: mmdebstrap",
    "podman": "Debian: podman",
    "runc": "Debian: runc",
    "skopeo": "Debian: skopeo",
}


@pytest.fixture(scope="module")
def machine() -> list[str]:
    return as_root(PROGRAMS)


def test_every_command_is_true(machine: list[str]) -> None:
    said = follow(machine, sorted({block.chapter for block in blocks(GUIDE.read_text())} - {PATRONI}))
    # What the reader is told at the places that matter.
    assert said.count("of_the_next_version.sql has yet to run") == 3, "a step is missing, and the check names it"
    assert len(re.findall(r"brought to version [\d.]+; restart the service", said)) == 3
    assert 'alertname="IdentityDown", alertstate="firing"' in said
    assert "lost: 0 ledger entries and " in said
    assert said.count(" steps in ") == 11, "each probe has told"
    assert len(re.findall(r"load: [1-9]\d* acknowledged, all at 2 replicas", said)) == 3, "restart, loss, upgrade"
    print(*re.findall(r"load: .*", said), sep="\n")
    assert re.search(r"^identity +none$", said, re.MULTILINE), "the container's user, and none of root's rights"
    assert "read-only: true" in said
    for name in ("sqlite", "postgresql"):
        assert f"valid: /etc/identity/kubernetes/{name}.yaml StatefulSet" in said
