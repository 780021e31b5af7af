"""A service with an extension whose sink raises: a vital one refuses the change, any other only loses its own rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from tests.attack.stranger import GENEROUS, PREFIX, Answer, Wire
from tests.servers import local_server


@dataclass
class Stage:
    wire: Wire
    headers: dict[str, str]
    fault: Path
    is_vital: bool

    def create(self, key: str) -> Answer:
        return self.wire.call("POST", f"{PREFIX}/dids", {"method": "ids"}, self.headers | {"Idempotency-Key": key})

    def lines(self) -> list[tuple[str, str]]:
        """Return operation and outcome of the audit log."""
        log = self.wire.call("GET", f"{PREFIX}/audit?limit=1000", None, self.headers).json["items"]
        return [(line["operation"], line["outcome"]) for line in map(orjson.loads, (one["line"] for one in log))]

    def lost(self) -> float:
        text = self.wire.call("GET", "/metrics", None, self.headers).body.decode()
        name = 'identity_event_sink_lost_total{sink="sinks"} '
        return sum(float(line.removeprefix(name)) for line in text.splitlines() if line.startswith(name))


@pytest.fixture(scope="module", params=["vital", "other"])
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    fault = tmp_path_factory.mktemp("faults") / "fault"
    environment = {"IDENTITY_PLUGINS_MODULES": "tests.fault.faulty_sink", "IDENTITY_TEST_FAULT": str(fault)}
    if request.param == "vital":
        environment["IDENTITY_TEST_VITAL"] = "1"
    with local_server(environment=GENEROUS | environment) as server:
        wire = Wire(server.url)
        yield Stage(wire, {"X-API-Key": server.api_key}, fault, request.param == "vital")
        wire.close()


def test_change_stands_or_is_refused_with_all_its_rows(stage: Stage) -> None:
    assert stage.create("a" * 16).status == 201
    before = stage.lines()
    stage.fault.write_text("sink:raise")
    answer = stage.create("b" * 16)
    stage.fault.write_text("")
    added = stage.lines()[len(before) :]
    if stage.is_vital:
        assert answer.status == 500
        assert added == []
        # The identical request completes the change, with one line.
        assert stage.create("b" * 16).status == 201
        assert stage.create("b" * 16).status == 201
        assert stage.lines()[len(before) :] == [("createDid", "done")]
        assert stage.lost() == 0
    else:
        assert answer.status == 201
        assert added == [("createDid", "done")]
        assert stage.lost() == 1
