"""What others wrote, on the terminal of who reads it: no sequence that a terminal obeys comes out of a command.

An escape sequence can clear what stands there, write another text over it, change the title, or on some terminals type a command.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import servers
from tests.attack.conftest import Target
from tests.attack.delegated.scene import People, Scene
from tests.attack.stranger import PREFIX

# CSI in seven and in eight bits, an operating system command, the direction of text, a tag past the first plane, DEL.
HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202edetrever\u2066\U000e0001\x7f"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0001]")


@pytest.fixture
def scene(target: Target) -> Scene:
    return Scene.create(People.create(target))


def identity(scene: Scene, *words: str) -> subprocess.CompletedProcess[str]:
    return servers.run(*words, environment=os.environ | {"IDENTITY_API_KEY": scene.target.stranger.api_key})


def test_a_reason_of_an_agent_reaches_no_terminal(scene: Scene) -> None:
    """The proof's revocation, as its agent wrote it and an operator reads it."""
    proof = scene.ask().json["proofId"]
    place = f"{PREFIX}/zkp/proofs/{proof}/revoke"
    assert scene.target.wire.call("POST", place, {"reason": HOSTILE}, scene.authorize(scene.agent)).status == 200
    for form in ((), ("--json",)):
        told = identity(scene, "proof", "get", proof, "--url", scene.target.wire.url, *form)
        assert told.returncode == 0, told.stderr
        assert OBEYED.search(told.stdout + told.stderr) is None, told.stdout
    assert json.loads(told.stdout)["revocationReason"] == HOSTILE


def test_foreign_text_stays_on_one_line(scene: Scene) -> None:
    delegation = scene.people.delegate(scene.people.mallory, scene.agent, purpose=f"{HOSTILE}\nstatus     active")
    scene.people.operate("POST", f"/delegations/{delegation}/revoke", {"reason": HOSTILE})
    told = identity(scene, "delegation", "show", delegation, "--url", scene.target.wire.url)
    assert told.returncode == 0, told.stderr
    assert OBEYED.search(told.stdout) is None, told.stdout
    assert [line.split()[1] for line in told.stdout.splitlines() if line.startswith("status")] == ["revoked"]
    why = {"purpose": "suspension", "value": True, "reason": "a\nstatus  active"}
    scene.people.operate("POST", f"/credentials/{scene.credential_id}/status", why)
    told = identity(scene, "credential", "show", scene.credential_id, "--url", scene.target.wire.url)
    assert told.returncode == 0, told.stderr
    assert [line for line in told.stdout.splitlines() if line.startswith("status")] == [
        "status  suspended (a\\nstatus  active)"
    ]


def test_a_token_of_a_stranger_reaches_no_terminal(scene: Scene, tmp_path: Path) -> None:
    token = scene.token(action="zkp.prove." + HOSTILE, delegationRef=HOSTILE)
    (tmp_path / "token.json").write_text(json.dumps(token))
    told = identity(scene, "ibct", "verify", str(tmp_path / "token.json"), "--resolve", scene.target.wire.url)
    assert OBEYED.search(told.stdout + told.stderr) is None, told.stdout + told.stderr
