"""The record of each request: its members, the share of what went well, and the bound on what costs its client nothing."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable
from typing import Any

import pytest

from identity_core.api.access_log import FREE_A_SECOND, RequestLog
from identity_core.api.request import Request
from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from tests.toy_document import ask, build_toy

ALICE = "did:ids:alice"


def records(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [record.fields for record in caplog.records if record.name == "identity.request"]  # type: ignore[attr-defined]


def written(statuses: Iterable[int], share: float = 1.0, times: Iterable[float] = ()) -> None:
    clock = iter(times)
    write = RequestLog(str.upper, success_share=share, monotonic=lambda: next(clock))
    for number, status in enumerate(statuses):
        request = Request(request_id=str(number))
        request.status = status
        write(request, 0.001)


def test_a_request_has_one_record(caplog: pytest.LogCaptureFixture) -> None:
    app = build_toy(observe=RequestLog(str.upper, success_share=1.0))
    with caplog.at_level(logging.INFO, "identity.request"):
        good = ask(app, target="/api/v1/health", headers=[("x-request-id", "mine")])
        head = ask(app, "HEAD", "/api/v1/health")
        lost = ask(app, target="/nowhere/alice?name=alice")
    first, second, third = records(caplog)
    assert first == {
        "method": "GET",
        "operation": "getHealth",
        "status": 200,
        "milliseconds": 1000.0,
        "octetsIn": 0,
        "octetsOut": len(good.body),
        "caller": "-",
        "requestId": "mine",
    }
    assert (second["method"], second["octetsOut"], head.body) == ("HEAD", 0, b"")
    assert (third["operation"], third["status"], third["code"]) == ("-", 404, lost.error["code"])
    assert third["requestId"] == lost.headers["x-request-id"]
    assert "alice" not in str(third)


def test_a_method_of_the_clients_own_is_not_repeated(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "identity.request"):
        ask(build_toy(observe=RequestLog(str.upper, success_share=1.0)), "ALICE", "/api/v1/health")
    assert [each["method"] for each in records(caplog)] == ["-"]


def test_a_did_is_hashed(caplog: pytest.LogCaptureFixture) -> None:
    write = RequestLog(lambda did: f"<{len(did)}>", success_share=1.0)
    with caplog.at_level(logging.INFO, "identity.request"):
        for _ in range(2):
            request = Request(caller=Caller(did=Did.parse(ALICE)))
            request.status = 200
            write(request, 0.001)
    assert [each["caller"] for each in records(caplog)] == [f"did:<{len(ALICE)}>"] * 2


@pytest.mark.parametrize(("share", "expected"), [(1.0, 100), (0.5, 50), (0.1, 10), (0.01, 1), (0.0, 0)])
def test_a_share_of_the_good_ones(caplog: pytest.LogCaptureFixture, share: float, expected: int) -> None:
    with caplog.at_level(logging.INFO, "identity.request"):
        written([200, 304] * 50, share)
    assert len(records(caplog)) == expected


def test_every_refusal_has_a_record_whatever_the_share(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "identity.request"):
        written([400, 401, 404, 500] * 50, 0.0)
    assert len(records(caplog)) == 200


def test_a_flood_of_what_costs_nothing_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    flood = FREE_A_SECOND * 3
    with caplog.at_level(logging.INFO, "identity.request"):
        written([429] * flood + [503], times=[10.0] * flood + [11.0])
    found = records(caplog)
    assert len(found) == FREE_A_SECOND + 1
    assert found[-1]["leftOut"] == flood - FREE_A_SECOND


@pytest.mark.parametrize(
    "seconds", [0.0, 0.000004, 0.000006, 0.0000512, 0.00099999, 0.0123449, 0.9999999, 61.237, 86_400.0]
)
def test_milliseconds_have_two_digits(caplog: pytest.LogCaptureFixture, seconds: float) -> None:
    request = Request()
    request.status = 200
    with caplog.at_level(logging.INFO, "identity.request"):
        RequestLog(str.upper, success_share=1.0)(request, seconds)
    assert [each["milliseconds"] for each in records(caplog)] == [round(seconds * 1000, 2)]


def test_below_its_level_nothing_is_made(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "identity.request"):
        written([200, 500])
    assert records(caplog) == []


def test_a_record_is_of_now_and_of_this_process(caplog: pytest.LogCaptureFixture) -> None:
    before = time.time()
    with caplog.at_level(logging.INFO, "identity.request"):
        written([200, 200])
    first, second = (record for record in caplog.records if record.name == "identity.request")
    assert before <= first.created <= second.created <= time.time()
    assert first.process == os.getpid()
    assert (first.levelname, first.getMessage(), first.exc_info) == ("INFO", "request", None)
    assert set(vars(logging.makeLogRecord({}))) <= set(vars(first))
