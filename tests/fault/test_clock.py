"""The clock goes back by an hour, and comes back: no order is lost, no version is hidden, nothing has to be restarted.

The service's clock is turned by a plugin (``turned_clock``), the monotonic one is left alone, as an
operating system does it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from identity_commands.verify_log import verify

from tests import servers
from tests.attack.stranger import PREFIX, Answer, Holder, rotation, service
from tests.fault.creators import all_events
from tests.fault.service_process import API_KEY, Running
from tests.fault.turned_service import turned_service

HOUR = -3600.0
Turn = Callable[[float], None]


@pytest.fixture
def turned(tmp_path: Path) -> Iterator[tuple[Running, Turn]]:
    """A service, and what sets its clock so many seconds beside the true time."""
    with turned_service(tmp_path) as found:
        yield found.running, found.turn


def times_of(hana: Holder) -> list[datetime]:
    """The times of the entries in the log, which an independent reader finds sound now."""
    verified = verify(hana.log(), now=datetime.now(UTC))
    assert verified.did == hana.did
    items = hana.wire.call("GET", hana.path() + "/history?limit=200").json["items"]
    assert [item["versionId"] for item in items] == list(range(1, verified.versions + 1))
    return [datetime.fromisoformat(item["timestamp"]) for item in items]


def test_changes_go_on_and_keep_their_order(turned: tuple[Running, Turn]) -> None:
    running, turn = turned
    hana = running.stranger.holder()
    assert hana.act("update", service("before")).status == 200
    turn(HOUR)
    assert hana.resolve().json["didDocumentMetadata"]["versionId"] == 2
    assert hana.act("update", service("meanwhile")).status == 200
    newcomer = running.stranger.holder()
    assert newcomer.act("update", service()).status == 200
    turn(0)
    assert hana.act("update", service("after")).status == 200
    assert hana.resolve().json["didDocumentMetadata"]["versionId"] == 4
    for holder in (hana, newcomer):
        times = times_of(holder)
        assert all(earlier <= later for earlier, later in pairwise(times))
    events = all_events(running)
    assert [event["sequence"] for event in events] == list(range(1, 7))


def test_repeated_hour_hides_no_entry(turned: tuple[Running, Turn]) -> None:
    """A version that the clock says is still to come is the head all the same, also for who asks by a time to come."""
    running, turn = turned
    hana = running.stranger.holder()
    assert hana.act("update", service()).status == 200
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for offset in (HOUR, 0.0):
        turn(offset)
        for query in ("", f"?versionTime={tomorrow}"):
            answer = hana.resolve(query)
            assert answer.status == 200, answer.body
            assert answer.json["didDocumentMetadata"]["versionId"] == 2


def test_a_challenge_is_used_once_whatever_the_clock_says(turned: tuple[Running, Turn]) -> None:
    """One from before the step back still holds, and is spent at the first use, before and after the clock is right again."""
    running, turn = turned
    hana = running.stranger.holder()
    early = hana.signed("update", service("early"))
    turn(HOUR)
    assert hana.send("update", service("early"), early).status == 200
    assert hana.send("update", service("early"), early).outcome == (401, "AUTH_FAILED")
    turn(0)
    assert hana.send("update", service("early"), early).outcome == (401, "AUTH_FAILED")


def test_a_grace_period_ends_at_its_time_and_not_an_hour_early(turned: tuple[Running, Turn]) -> None:
    running, turn = turned
    hana = running.stranger.holder()
    end = (datetime.now(UTC) + timedelta(minutes=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
    answer = hana.act("rotate", rotation(hana.key_id, revokeOldAfter=end))
    assert answer.status == 200, answer.body
    keys = []
    for offset in (0.0, HOUR, 0.0, -HOUR):
        turn(offset)
        keys.append(len(hana.resolve().json["didDocument"]["verificationMethod"]))
    assert keys == [2, 2, 2, 1]


DAYS = 3 * 86_400.0


def skew_of(running: Running) -> float:
    metrics = running.wire.call("GET", "/metrics", headers={"X-API-Key": API_KEY}).body.decode()
    (line,) = [line for line in metrics.splitlines() if line.startswith("identity_clock_skew_seconds")]
    return float(line.split()[-1])


def test_nothing_is_recorded_while_the_clock_has_jumped_ahead(turned: tuple[Running, Turn]) -> None:
    """The log of a DID that was changed then would fail the verification of every client for three days (did:webvh 1.0, "DID Log File": a
    time is not later than now), and so would the time of every entry after it."""
    running, turn = turned
    hana = running.stranger.holder()
    assert abs(skew_of(running)) < 5
    turn(DAYS)
    for answer in (hana.act("update", service("ahead")), running.stranger.create({"method": "ids"})):
        assert (answer.status, answer.code) == (503, "PLUGIN_UNAVAILABLE"), answer.body
        assert "clock" in answer.json["error"]["message"].lower()
        assert answer.headers["retry-after"] == "60"
    assert hana.resolve().json["didDocumentMetadata"]["versionId"] == 1
    assert abs(skew_of(running) - DAYS) < 5
    turn(0)
    assert hana.act("update", service("after")).status == 200
    assert running.stranger.create({"method": "ids"}).status == 201
    assert len(times_of(hana)) == 2


def test_doctor_names_entry_that_was_recorded_for_time_to_come(tmp_path: Path) -> None:
    """As versions did that took every jump, and as one does whose clock was ahead when it started."""
    with turned_service(tmp_path) as turned:
        turned.wait(DAYS)
        assert turned.running.stranger.create({"method": "ids"}).status == 201
        turned.running.process.terminate()
        turned.running.process.wait(60)
        told = json.loads(servers.run("doctor", "--data-dir", turned.data_dir, "--json").stdout)
    (storage,) = [one for one in told["findings"] if one["check"] == "storage"]
    assert storage["state"] == "fail"
    assert "s ahead of the clock" in storage["says"]


def test_a_minute_ahead_is_within_bounds(turned: tuple[Running, Turn]) -> None:
    running, turn = turned
    hana = running.stranger.holder()
    turn(50)
    assert hana.act("update", service("ahead")).status == 200
    turn(0)
    assert hana.act("update", service("after")).status == 200


def post(running: Running, path: str, body: object, key: str) -> Answer:
    return running.wire.call("POST", PREFIX + path, body, {"X-API-Key": API_KEY, "Idempotency-Key": key})


def test_nothing_is_accepted_while_the_clock_is_hours_behind(turned: tuple[Running, Turn]) -> None:
    """What expired would be valid again, and a spent signature of then is forgotten after an hour."""
    running, turn = turned
    hana = running.stranger.holder()
    turn(2 * HOUR)
    assert hana.act("update", service("behind")).outcome == (503, "PLUGIN_UNAVAILABLE")
    assert post(running, "/auth/token", {"grant_type": "client_credentials"}, "token").code == "PLUGIN_UNAVAILABLE"
    turn(0)
    assert hana.act("update", service("behind")).status == 200


def test_a_stored_answer_outlives_a_clock_that_was_ahead(turned: tuple[Running, Turn]) -> None:
    """An answer that is gone lets a retry make its change twice."""
    running, turn = turned
    first = post(running, "/dids", {"method": "ids"}, "first")
    assert first.status == 201, first.body
    turn(DAYS)
    assert post(running, "/dids", {"method": "ids"}, "second").code == "PLUGIN_UNAVAILABLE"
    turn(0)
    assert post(running, "/dids", {"method": "ids"}, "first").json["did"] == first.json["did"]


def test_while_the_clock_is_ahead_nothing_is_signed(turned: tuple[Running, Turn]) -> None:
    """A signature of that time would be valid only later. Reads are answered, and ``/ready`` shows the fault."""
    running, turn = turned

    def storage() -> tuple[int, str]:
        answer = running.wire.call("GET", "/ready", headers={"X-API-Key": API_KEY})
        return answer.status, answer.json["dependencies"]["storage"]

    late = {"name": "late", "admin": True}
    turn(DAYS)
    for path, body in (("/admin/api-keys", late), ("/dids", {"method": "ids"}), ("/credentials", {})):
        refused = post(running, path, body, "second")
        assert (refused.status, refused.code) == (503, "PLUGIN_UNAVAILABLE"), refused.body
        assert refused.headers["retry-after"] == "60"
    assert running.wire.call("GET", f"{PREFIX}/dids", headers={"X-API-Key": API_KEY}).status == 200
    assert storage() == (200, "degraded")
    turn(0)
    assert storage() == (200, "ok")
    assert post(running, "/admin/api-keys", late, "second").status == 201
