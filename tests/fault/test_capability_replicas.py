"""One capability token (IBCT) at two replicas of the service on one PostgreSQL, at the same moment."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.attack.conftest import Target
from tests.attack.delegated.scene import PROOFS, People, Scene
from tests.attack.stranger import Answer, at_once
from tests.fault.service_process import Running
from tests.fault.test_replicas import environment, replicas
from tests.postgres_server import postgres_server

__all__ = ["environment", "postgres_server", "replicas"]

CAPABILITIES = 20


def test_a_capability_token_is_used_at_one_replica(replicas: list[Running], tmp_path: Path) -> None:
    """It is presented at both at the same moment, for two questions: one is answered, and the other is refused as a replay."""
    here, there = replicas
    scene = Scene.create(People.create(Target(here.wire, here.stranger, tmp_path, 1)))
    for turn in range(1, CAPABILITIES + 1):
        token, sender = scene.token(), scene.authorize(scene.agent)
        asked = [(replica, scene.body(value=18 + place, ibct=token)) for place, replica in enumerate(replicas)]
        calls = [partial(replica.wire.call, "POST", PROOFS, body, sender) for replica, body in asked]
        answers: list[Answer] = at_once(there.wire, calls)
        assert sorted(answer.outcome for answer in answers) == [(201, None), (403, "IBCT_REPLAYED")]
        assert scene.uses == turn


def test_identical_requests_at_replicas_use_a_capability_once(replicas: list[Running], tmp_path: Path) -> None:
    """The second gets the answer of the first, or is told to come back for it."""
    here, there = replicas
    scene = Scene.create(People.create(Target(here.wire, here.stranger, tmp_path, 1)))
    for turn in range(1, CAPABILITIES + 1):
        body, sender = scene.body(), scene.authorize(scene.agent)
        calls = [partial(replica.wire.call, "POST", PROOFS, body, sender) for replica in replicas]
        answers: list[Answer] = at_once(there.wire, calls)
        assert {(201, None)} <= {answer.outcome for answer in answers} <= {(201, None), (409, "REQUEST_IN_PROGRESS")}
        assert len({answer.json["proofId"] for answer in answers if answer.status == 201}) == 1
        assert scene.uses == turn
