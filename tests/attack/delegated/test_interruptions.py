"""While a proof is being made: revoked, crashed, abandoned; and what a service remembers that was killed (openapi/DECISIONS.md §4.4).

The prover is held by a fault; the service is killed with SIGKILL, and started again on what that leaves.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.attack.conftest import Target
from tests.attack.delegated.scene import PROOFS, Json, People, Scene
from tests.attack.stranger import SECONDS, Answer, Wire
from tests.fault import service_process
from tests.fault.service_process import Running

REPLAYED = (403, "IBCT_REPLAYED")
IN_PROGRESS = (409, "REQUEST_IN_PROGRESS")
RETRY_SECONDS = 60.0


@dataclass
class Site:
    """A service that the tests may hold, kill and start again. The people keep their connection, whatever port it has."""

    running: Running
    people: People
    fault: Path
    environment: dict[str, str]

    def hold(self) -> None:
        self.fault.write_text("prover:hang")

    def release(self) -> None:
        self.fault.write_text("")

    def restart(self) -> None:
        """SIGKILL, and a start on the same files."""
        self.running.kill()
        self.release()
        self.running = service_process.start(self.people.target.data_dir, environment=self.environment)
        wire = self.people.target.wire
        wire.close()
        wire.url = self.running.wire.url
        self.people.forget_tokens()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("interrupted")
    fault = folder / "fault"
    environment = {
        "IDENTITY_PLUGINS_MODULES": "features.faults.prover_plugin",
        "IDENTITY_PROVER_BACKEND": "faulty",
        "IDENTITY_PROVER_ENVIRONMENT": "IDENTITY_TEST_FAULT",
        "IDENTITY_PLUGINS_FAILURES_TO_OPEN": "1000",
        "IDENTITY_TEST_FAULT": str(fault),
    }
    running = service_process.start(folder / "data", environment=environment)
    target = Target(running.wire, running.stranger, folder / "data", 1)
    site = Site(running, People.create(target), fault, environment)
    yield site
    site.running.kill()


@pytest.fixture
def scene(site: Site) -> Iterator[Scene]:
    site.release()
    yield Scene.create(site.people)
    site.release()


class Asking:
    """A request that is under way in a thread of its own."""

    def __init__(self, scene: Scene, body: Json) -> None:
        self.answers: list[Answer] = []
        self.errors: list[Exception] = []
        self._scene, self._body = scene, body
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        try:
            self.answers.append(self._scene.ask(self._body))
        except Exception as error:
            self.errors.append(error)
        finally:
            self._scene.target.wire.close()

    def answer(self) -> Answer:
        self._thread.join(2 * SECONDS)
        assert self.answers, self.errors
        return self.answers[0]


def rows(scene: Scene, sql: str, *values: object) -> int:
    with closing(sqlite3.connect(scene.target.data_dir / "identity.sqlite", timeout=60)) as connection:
        return int(connection.execute(sql, values).fetchone()[0])


def wait_until_proving(scene: Scene) -> None:
    """The use is counted, the proof not there."""
    use = partial(rows, scene, "SELECT uses FROM delegations WHERE id = ?", scene.delegation_id)
    service_process.eventually(use, "something is being proved")


def eventually(scene: Scene, body: Json) -> Answer:
    """The answer, once the first request no longer holds it."""
    deadline = time.monotonic() + RETRY_SECONDS
    while (answer := scene.ask(body)).outcome == IN_PROGRESS and time.monotonic() < deadline:
        time.sleep(0.1)
    return answer


def revoke_delegation(scene: Scene, body: Json) -> None:
    scene.revoke()


def revoke_token(scene: Scene, body: Json) -> None:
    called = {"invoker": scene.holder.did, "nonce": body["ibct"]["nonce"]}
    scene.people.operate("POST", "/ibcts/revoke", called)


def revoke_credential(scene: Scene, body: Json) -> None:
    change = {"purpose": "revocation", "value": True}
    scene.people.operate("POST", f"/credentials/{scene.credential_id}/status", change)


@pytest.mark.parametrize(
    ("revoke", "code"),
    [
        (revoke_delegation, "DELEGATION_REVOKED"),
        (revoke_token, "IBCT_REVOKED"),
        (revoke_credential, "CREDENTIAL_REVOKED"),
    ],
)
def test_revoked_while_proving(site: Site, scene: Scene, revoke: Callable[[Scene, Json], None], code: str) -> None:
    body = scene.body()
    site.hold()
    asking = Asking(scene, body)
    wait_until_proving(scene)
    assert scene.ask(body).outcome == IN_PROGRESS
    revoke(scene, body)
    site.release()
    answer = asking.answer()
    assert answer.outcome == (410, code)
    assert b"proof" not in answer.body.replace(b"proofId", b"")
    assert scene.proofs() == 0
    assert scene.uses == 1
    assert scene.ask(body).outcome == (410, code)
    assert scene.proofs() == 0


def test_killed_between_the_use_and_the_proof(site: Site, scene: Scene) -> None:
    body = scene.body()
    other = body | {"predicate": body["predicate"] | {"value": 30}}
    site.hold()
    asking = Asking(scene, body)
    wait_until_proving(scene)
    site.restart()
    assert asking.answers == []
    # A process that was killed cannot release the lease: the next one ends it, because no other one serves the files.
    assert scene.ask(other).outcome == REPLAYED
    answer = scene.ask(body)
    assert answer.status == 201
    assert scene.ask(body).body == answer.body
    assert scene.ask(other).outcome == REPLAYED
    assert scene.uses == scene.proofs() == 1


def test_replayed_after_a_kill(site: Site, scene: Scene) -> None:
    """Nothing of it is in the memory of a process."""
    proved, refused = scene.body(), scene.body(value=99)
    first, second = scene.ask(proved), scene.ask(refused)
    assert (first.status, second.status) == (201, 422)
    site.restart()
    assert scene.ask(proved).body == first.body
    assert scene.ask(refused).outcome == second.outcome
    for body in (proved, refused):
        assert scene.ask(body | {"predicate": body["predicate"] | {"value": 30}}).outcome == REPLAYED
    assert scene.uses == 2
    assert scene.proofs() == 1


def test_a_prover_that_fails_leaves_the_request_to_be_repeated(site: Site, scene: Scene) -> None:
    body = scene.body()
    site.fault.write_text("prover:raise")
    answer = scene.ask(body)
    assert answer.status in (500, 503)
    assert scene.ask(body | {"predicate": body["predicate"] | {"value": 30}}).outcome == REPLAYED
    site.release()
    assert eventually(scene, body).status == 201
    assert scene.uses == scene.proofs() == 1


def test_a_prover_that_fails_answers_no_question_for_nothing(site: Site, scene: Scene) -> None:
    """A no comes without a prover, a yes does not come: so the failure is a yes. It is counted like one."""
    site.fault.write_text("prover:raise")
    assert scene.ask(scene.body(value=99)).status == 422
    assert scene.ask(scene.body(value=18)).status in (500, 503)
    assert scene.uses == 2


def test_an_agent_who_goes_away_gets_the_proof_later(site: Site, scene: Scene) -> None:
    body = scene.body()
    headers = scene.authorize(scene.agent)
    site.hold()
    wire = Wire(scene.target.wire.url)
    connection = wire.connect()
    connection.request("POST", PROOFS, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    wait_until_proving(scene)
    connection.close()
    site.release()
    assert eventually(scene, body).status == 201
    assert scene.uses == scene.proofs() == 1
