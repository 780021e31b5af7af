"""A ledger or a key store that raises, hangs, or returns invalid values fails its own requests; resolving continues.

``test_plugins`` has every port and vice in one process; this is the running service.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from identity_commands.verify_log import verify

from tests.attack.stranger import Answer, Holder, Stranger, at_once, did_path, service
from tests.fault import service_process
from tests.fault.service_process import Running, eventually

# What works has to be done within it, too, where a plugin hangs. Where none does, there is more time.
DEADLINE_SECONDS = 0.5
HASTY = {f"IDENTITY_{table}_DEADLINE_SECONDS": str(DEADLINE_SECONDS) for table in ("CUSTODIAN", "LEDGER", "PLUGINS")}
ENVIRONMENT = {
    "IDENTITY_PLUGINS_MODULES": "tests.fault.faulty_plugin",
    "IDENTITY_PLUGINS_DISABLED": "did_ids",
    "IDENTITY_LEDGER_BACKEND": "faulty",
    "IDENTITY_CUSTODIAN_BACKEND": "faulty",
    "IDENTITY_KEY_STORES": "faulty,sql,env",
    "IDENTITY_PLUGINS_RETRY_SECONDS": "0.3",
}
# What a broken plugin's own requests may be told.
TOLD = {(500, "BLOCKCHAIN_ERROR"), (503, "PLUGIN_UNAVAILABLE"), (504, "PLUGIN_TIMEOUT"), (503, "OVERLOADED")}
CREATE = {"method": "ids"}
BREAKING = (
    "ledger:raise",
    "ledger:junk",
    "ledger:late",
    "keys:raise",
    "keys:junk",
    "keys:leave",
    "custodian:raise",
)
HANGING = ("ledger:hang", "keys:hang", "custodian:hang")


@dataclass
class Stage:
    """A service with plugins that break, and a DID that was made while they worked."""

    running: Running
    fault: Path
    hana: Holder

    def breaks(self, *words: str) -> None:
        self.fault.write_text(" ".join(words))

    def heals(self) -> None:
        """Waits until a write goes through and the key store is asked: circuits that have opened try again after a while."""
        self.fault.write_text("")
        eventually(lambda: self.running.stranger.create(CREATE).status == 201, "the service recovers")
        eventually(lambda: self.ask("keys").status == 401, "the key store recovers")

    def ask(self, word: str) -> Answer:
        """A request that needs the plugin which ``word`` breaks. A key store is asked about keys that the service has not
        seen lately; those that it knows go on working."""
        key = os.urandom(16).hex() if word.startswith("keys") else self.running.stranger.api_key
        return Stranger(self.running.wire, key).create(CREATE)

    def in_flight(self) -> float:
        """Calls of plugins that are unfinished."""
        text = self.running.wire.call("GET", "/metrics").body.decode()
        return sum(map(float, re.findall(r"^identity_plugin_in_flight\{.*\} (\S+)$", text, re.MULTILINE)))

    def lives(self) -> None:
        """Everything that needs no plugin's help."""
        wire = self.running.wire
        assert wire.call("GET", "/health").status == 200
        assert self.hana.resolve().status == 200
        assert self.hana.resolve("?versionId=1").status == 200
        assert self.hana.ask().status == 200
        assert wire.call("GET", self.hana.path() + "/history").status == 200
        assert wire.call("GET", "/metrics").status == 200


@contextlib.contextmanager
def staged(folder: Path, more: Mapping[str, str]) -> Iterator[Stage]:
    fault = folder / "fault"
    environment = {"IDENTITY_TEST_FAULT": str(fault), "IDENTITY_SERVER_PUBLIC_METRICS": "true"}
    with service_process.service(folder / "data", environment={**ENVIRONMENT, **environment, **more}) as running:
        yield Stage(running, fault, holder_of(running))


def holder_of(running: Running) -> Holder:
    """A new one, although calls are soon given up and the machine may have other work."""
    end = time.monotonic() + 60
    while True:
        try:
            return running.stranger.holder()
        except RuntimeError:
            assert time.monotonic() < end


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(tmp_path_factory.mktemp("plugins"), {}) as made:
        yield made


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(tmp_path_factory.mktemp("hanging"), HASTY) as made:
        yield made


@pytest.mark.parametrize("word", BREAKING)
def test_a_broken_plugin_costs_its_own_requests(stage: Stage, word: str) -> None:
    costs_its_own_requests(stage, word)


@pytest.mark.parametrize("word", HANGING)
def test_a_plugin_that_hangs_costs_its_own_requests(hasty: Stage, word: str) -> None:
    costs_its_own_requests(hasty, word)


def costs_its_own_requests(stage: Stage, word: str) -> None:
    stage.breaks(word)
    try:
        for _ in range(8):
            answer = stage.ask(word)
            assert answer.outcome in TOLD, answer.body
            assert "Broken" not in answer.body.decode()
            assert "junk" not in answer.body.decode()
            stage.lives()
    finally:
        stage.heals()
    assert stage.hana.resolve().status == 200


@pytest.mark.parametrize("word", HANGING)
def test_resolving_goes_on_while_many_requests_hang(stage: Stage, word: str) -> None:
    """Forty requests that hang delay no other: resolutions are answered while all of them still wait."""
    stage.breaks(word)
    answers: list[Answer] = []
    hanging = threading.Thread(
        target=lambda: answers.extend(at_once(stage.running.wire, [lambda: stage.ask(word)] * 40))
    )
    hanging.start()
    try:
        eventually(lambda: stage.in_flight() >= 40, "forty calls hang")
        for _ in range(10):
            assert stage.hana.resolve().status == 200
        assert stage.in_flight() >= 40
        assert answers == []
    finally:
        stage.heals()
        hanging.join()
    # They were only held up.
    told = (401, "AUTH_FAILED") if word.startswith("keys") else (201, None)
    assert [answer.outcome for answer in answers] == [told] * 40


def test_a_ledger_whose_answer_is_lost_leaves_no_gap(stage: Stage) -> None:
    """The entry was appended without an acknowledgement. The next change finds it, and the chain continues after it."""
    hana = stage.running.stranger.holder()
    stage.breaks("ledger:late")
    lost = hana.act("update", service("lost"))
    assert lost.outcome in TOLD
    stage.heals()
    assert hana.act("update", service("found")).status == 200
    verified = verify(hana.log(), now=datetime.now(UTC))
    assert verified.versions == 3
    services = {one["id"].partition("#")[2] for one in hana.resolve().json["didDocument"]["service"]}
    assert services == {"lost", "found"}


def test_a_lost_answer_is_seen_after_a_restart(tmp_path: Path) -> None:
    fault = tmp_path / "fault"
    environment = ENVIRONMENT | {"IDENTITY_TEST_FAULT": str(fault)}
    with service_process.service(tmp_path / "data", environment=environment) as running:
        hana = running.stranger.holder()
        fault.write_text("ledger:late")
        assert hana.act("update", service("lost")).outcome in TOLD
        fault.write_text("")
    with service_process.service(tmp_path / "data", environment=environment) as running:
        answer = running.wire.call("GET", did_path(hana.did))
        assert answer.json["didDocumentMetadata"]["versionId"] == 2
        found = Holder(running.wire, hana.did, hana.key, hana.recovery, hana.created)
        assert found.act("update", service("next")).status == 200
        assert verify(found.log()).versions == 3


def test_a_signature_is_spent_though_the_ledger_failed(stage: Stage) -> None:
    """Consumed before the append, it stays consumed whatever becomes of the operation."""
    hana = stage.running.stranger.holder()
    value = hana.signed("update", service())
    stage.breaks("ledger:raise")
    assert hana.send("update", service(), value).outcome in TOLD
    stage.heals()
    assert hana.send("update", service(), value).outcome == (401, "AUTH_FAILED")
    assert verify(hana.log()).versions == 1
