"""``identity demo`` tells the same story on every ledger, and at two replicas on one database."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from identity_commands.verify_log import verify

from features.backends import BACKENDS, Backend
from tests import servers
from tests.attack.stranger import did_path
from tests.fault import service_process
from tests.fault.service_process import API_KEY, ROOT, Running

# What all replicas share: the seal of their keys, and the name of the log that they keep together.
SHARED = {
    "IDENTITY_PLUGINS_SEALED_PASSPHRASE": "one for all replicas",
    **servers.CHEAP_PASSPHRASE,
    "IDENTITY_LEDGER_ORIGIN": "ledger.example/log",
}


# The stories run on the others; the default run has the one ledger with two replicas.
STORES = [pytest.param(name, marks=() if name == "postgresql" else pytest.mark.nightly) for name in BACKENDS]


@pytest.fixture(params=STORES)
def backend(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """What the service stands on."""
    try:
        made = BACKENDS[request.param](tmp_path_factory)
    except FileNotFoundError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    yield made
    made.close()


def command(*words: str) -> Any:
    """What the command line answers, as JSON."""
    environment = os.environ | {"IDENTITY_API_KEY": API_KEY, "PYTHONPATH": str(ROOT)}
    done = servers.run(*words, environment=environment, timeout=300)
    assert done.returncode == 0, done.stderr + done.stdout[-2000:]
    return json.loads(done.stdout)


def tell(running: Running) -> tuple[list[str], str]:
    """The steps of the story against this service, and the DID that it was about."""
    steps = command("demo", "--url", running.wire.url, "--json")["steps"]
    return [step["step"] for step in steps], next(step["answer"]["did"] for step in steps if "did" in step["answer"])


def test_the_story_is_the_same_at_every_replica(backend: Backend, tmp_path: Path) -> None:
    settings = backend.settings()
    count = 2 if "IDENTITY_DATABASE_URL" in settings else 1
    with ExitStack() as stack:
        replicas = [
            stack.enter_context(service_process.service(tmp_path / f"{n}", environment={**settings, **SHARED}))
            for n in range(count)
        ]
        told = [tell(replica) for replica in replicas]
        assert all(steps == told[0][0] for steps, _ in told)
        key = command("ledger", "key", "--url", replicas[0].wire.url, "--json")["verifierKey"]
        # Each replica shows what was told at the others, and proves it with nothing but the log's key.
        for replica in replicas:
            for _, did in told:
                answer = replica.wire.call("GET", did_path(did) + "/log")
                assert answer.status == 200, answer.body
                assert verify(answer.body).did == did
                command("ledger", "verify", did, "--url", replica.wire.url, "--key", key, "--json")
