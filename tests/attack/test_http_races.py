"""Mixed writers on one DID: the chain has no gap, there is always a controller, and the log verifies.

openapi/DECISIONS.md §2.9. With one process and with two; ``IDENTITY_ROUNDS`` sets how often.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from identity_commands.verify_log import verify
from nacl.signing import SigningKey

from tests.attack.conftest import Target
from tests.attack.stranger import (
    LEAVE,
    Answer,
    Holder,
    add_key,
    at_once,
    public,
    recovery_body,
    remove_key,
    rotation,
    rounds,
    service,
)

ROUNDS = rounds(3)
TASKS = 64
REPEATED = pytest.mark.parametrize("count", [ROUNDS], ids=[f"{ROUNDS}_rounds"])
# What a writer may be told that comes too late, or whose key has just gone.
EXPECTED = {None, "AUTH_FAILED", "FORBIDDEN", "INVALID_DOCUMENT", "VERSION_CONFLICT", "DID_DEACTIVATED", "OVERLOADED"}


def documents(hana: Holder) -> list[dict[str, Any]]:
    """The state of every version, from a log that has been verified; the history has to say the same."""
    log = hana.log()
    lines = [json.loads(line) for line in log.splitlines()]
    assert verify(log, now=datetime.now(UTC)).versions == len(lines)
    history = hana.wire.call("GET", hana.path() + "/history?limit=200&includeDocument=true").json
    items = history["items"]
    assert [item["versionId"] for item in items] == list(range(1, len(items) + 1))
    assert len(items) >= len(lines)
    for line, item in zip(lines, items, strict=False):
        assert item["transactionHash"] is not None
        number = int(str(line["versionId"]).partition("-")[0])
        assert number == item["versionId"]
    written = [item["transactionHash"] for item in items if item["transactionHash"]]
    assert len(set(written)) == len(written) == len(lines)
    return [item["didDocument"] for item in items]


def in_control(document: dict[str, Any]) -> list[str]:
    """Authentication keys that are not in grace."""
    passing = {method["id"] for method in document.get("verificationMethod", []) if "revoked" in method}
    return [key for key in document.get("authentication", []) if key not in passing]


def signed_ahead(hana: Holder, act: str, body: Any, **how: Any) -> Callable[[], Answer]:
    """``act`` with a signature that is made now, to be sent later: as many as there are challenges for one body."""
    value = hana.signed(act, body, **how)
    return lambda: hana.send(act, body, value)


@REPEATED
def test_mixed_writers_leave_gapless_chain_with_controller(either: Target, count: int) -> None:
    for turn in range(count):
        hana = either.stranger.holder()
        keys = [SigningKey.generate() for _ in range(6)]
        for key in keys:
            assert hana.act("update", add_key(public(key))).status == 200
        soon = (datetime.now(UTC) + timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        later = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        calls: list[Callable[[], Answer]] = []
        for place in range(TASKS - turn % 2):
            key = keys[place % 6]
            target_id = f"{hana.did}#{public(keys[(place * 5 + 1) % 6])}"
            fresh = public(SigningKey.generate())
            act, body = (
                ("update", service(f"s{place}")),
                ("update", remove_key(target_id)),
                ("rotate", rotation(target_id, fresh)),
                ("rotate", rotation(target_id, fresh, revokeOldAfter=soon)),
                ("rotate", rotation(target_id, fresh, revokeOldAfter=later)),
                ("update", add_key(fresh)),
                ("update", remove_key(hana.key_id)),
                ("recover", recovery_body(fresh, revoke=place % 2 == 0)),
            )[place % 8]
            how = {} if act == "recover" else {"key": key}
            calls.append(signed_ahead(hana, act, body, **how))
        if turn % 2:
            calls.append(signed_ahead(hana, "deactivate", LEAVE, key=keys[0]))
        answers = at_once(either.wire, calls)
        assert all(isinstance(answer, Answer) for answer in answers), answers
        assert {answer.code for answer in answers} <= EXPECTED, {answer.code for answer in answers}
        done = sum(answer.status == 200 for answer in answers)
        assert done > 0
        states = documents(hana)
        ended = hana.resolve().outcome == (410, "DID_DEACTIVATED")
        for document in states[: -1 if ended else None]:
            assert in_control(document)
        # One version for each that was told "done", and those that ended a grace period.
        operations = [item["operation"] for item in history(hana)]
        assert operations.count("keyExpired") + done + 1 + len(keys) == len(operations)
        assert operations.count("recovered") <= 1
        assert operations.count("deactivated") <= 1


def history(hana: Holder) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = hana.wire.call("GET", hana.path() + "/history?limit=200").json["items"]
    return items


@REPEATED
def test_two_keys_that_remove_each_other_leave_one(either: Target, count: int) -> None:
    for _ in range(count):
        hana = either.stranger.holder()
        other = SigningKey.generate()
        assert hana.act("update", add_key(public(other))).status == 200
        other_id = f"{hana.did}#{public(other)}"
        calls = []
        for _ in range(8):
            calls.append(signed_ahead(hana, "update", remove_key(other_id)))
            calls.append(signed_ahead(hana, "update", remove_key(hana.key_id), key=other))
        answers = at_once(either.wire, calls)
        assert sum(answer.status == 200 for answer in answers) == 1
        assert {answer.code for answer in answers} <= EXPECTED
        assert len(in_control(documents(hana)[-1])) == 1


@REPEATED
def test_one_of_two_concurrent_rotations_wins(either: Target, count: int) -> None:
    for _ in range(count):
        hana = either.stranger.holder()
        later = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        calls = [
            signed_ahead(hana, "rotate", rotation(hana.key_id, public(SigningKey.generate()), revokeOldAfter=later))
            for _ in range(16)
        ]
        answers = at_once(either.wire, calls)
        assert sum(answer.status == 200 for answer in answers) == 1
        assert len(in_control(documents(hana)[-1])) == 1


@REPEATED
def test_a_deactivation_against_everything_is_the_last_entry(either: Target, count: int) -> None:
    for _ in range(count):
        hana = either.stranger.holder()
        calls = [signed_ahead(hana, "update", service(f"s{place}")) for place in range(31)]
        calls.insert(7, signed_ahead(hana, "deactivate", LEAVE))
        calls.append(signed_ahead(hana, "recover", recovery_body(public(SigningKey.generate()))))
        answers = at_once(either.wire, calls)
        assert {answer.code for answer in answers} <= EXPECTED
        operations = [item["operation"] for item in history(hana)]
        # The recovery may have taken the key away before the deactivation came.
        if answers[7].status == 200:
            assert operations.index("deactivated") == len(operations) - 1
            assert hana.resolve().outcome == (410, "DID_DEACTIVATED")
        else:
            assert "recovered" in operations
        documents_end = verify(hana.log(), now=datetime.now(UTC))
        assert documents_end.deactivated == (answers[7].status == 200)
        assert sum(answer.status == 200 for answer in answers) + 1 == documents_end.versions


@REPEATED
def test_if_match_admits_one_of_many(either: Target, count: int) -> None:
    for _ in range(count):
        hana = either.stranger.holder()
        signed = [(service(f"s{place}"), hana.signed("update", service(f"s{place}"))) for place in range(16)]

        def send(body: Any, value: str, hana: Holder = hana) -> Answer:
            return either.wire.call("PATCH", hana.path(), body, {"Authorization": value, "If-Match": '"1"'})

        answers = at_once(either.wire, [lambda pair=pair: send(*pair) for pair in signed])  # type: ignore[misc]
        assert sorted(answer.status for answer in answers) == [200] + [412] * 15
        assert len(documents(hana)) == 2


@REPEATED
def test_one_did_key_is_registered_once(either: Target, count: int) -> None:
    for _ in range(count):
        own = [{"type": "Ed25519", "publicKeyMultibase": public(SigningKey.generate()), "purpose": ["authentication"]}]
        body = {"method": "key", "options": {"publicKeys": own}}
        answers = at_once(either.wire, [lambda body=body: either.stranger.create(body)] * 16)  # type: ignore[misc]
        assert sorted(answer.outcome for answer in answers) == [(201, None)] + [(409, "DID_EXISTS")] * 15


@REPEATED
def test_one_idempotency_key_makes_one_did(either: Target, count: int) -> None:
    for turn in range(count):
        headers = {"X-API-Key": either.stranger.api_key, "Idempotency-Key": f"race-{either.wire.url}-{turn}"}
        answers = at_once(
            either.wire,
            [lambda headers=headers: either.wire.call("POST", "/api/v1/dids", {"method": "ids"}, headers)] * 16,  # type: ignore[misc]
        )
        assert {answer.outcome for answer in answers} <= {(201, None), (409, "REQUEST_IN_PROGRESS")}
        assert len({answer.json["did"] for answer in answers if answer.status == 201}) == 1
