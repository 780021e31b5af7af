"""The operator's guide to three servers under Patroni, followed: its leader is lost while clients create DIDs.

It needs what ``tools/guide`` needs for the chapters before (root, namespaces, nginx, Prometheus), and what the cluster needs.
"""

from __future__ import annotations

import re

import pytest

from tests.patroni.cluster import missing
from tools.guide.followed import CHAPTERS_TO_PATRONI, as_root, follow, give_up

PROGRAMS = {
    "nginx": "Debian: nginx-light",
    "prometheus": "Debian: prometheus",
    "promtool": "Debian: prometheus",
}


def test_every_command_is_true(capsys: pytest.CaptureFixture[str]) -> None:
    if (reason := missing()) is not None:
        give_up(reason)
    said = follow(as_root(PROGRAMS), CHAPTERS_TO_PATRONI)
    said = said[said.index("| Sync Standby |") :]
    # Who leads after the loss, and who follows again: the waits of the chapter print their line of the cluster.
    leader = re.findall(r"^\| (db\d) .*\| Leader ", said, re.MULTILINE)[0]
    lost = re.findall(r"^\| (db\d) .*\| streaming ", said, re.MULTILINE)[0]
    assert leader != lost
    loaded, restarted = re.findall(r"load: [1-9]\d* acknowledged, all at 2 replicas.*", said)
    assert "Successfully switched over" in said
    assert re.search(r"PostgreSQL at db1,db2,db3/identity, with a synchronous standby \(db\d\)", said), (
        "the data has moved"
    )
    assert re.search(r" 50[03] ", loaded), "the clients noticed that the leader was lost"
    assert said.count(" steps in ") >= 4, "each probe has told"
    with capsys.disabled():
        print(f"\n{leader} leads after {lost}; {loaded}\none after the other restarted; {restarted}")
