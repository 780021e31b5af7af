"""What the document's schema lets through and has no one meaning is refused before anything else looks at it."""

from __future__ import annotations

from typing import Any

import pytest

from identity_core.api.proof_parse import proof_request
from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidDid, InvalidRequest

HANA = "did:ids:QmPvhbZpVZBeJcTVUcMJgfSDgxs8ymKZJzSYhkXmiNUNhS"


def body(**change: Any) -> dict[str, Any]:
    return {
        "holderDid": HANA,
        "agentDid": "did:ids:aki",
        "credentialId": "urn:uuid:c",
        "predicate": {"attributeName": "age", "type": "gte", "value": 18},
        "ibct": {"nonce": "n"},
    } | change


def asked(value: Any) -> dict[str, Any]:
    return body(predicate={"attributeName": "age", "type": "gte", "value": value})


def test_a_request_as_it_came() -> None:
    read = proof_request(body(), Did.parse)
    assert (str(read.holder), read.asked.value, read.asked.has_value) == (HANA, 18, True)
    assert (read.anchor, read.sync_wait_ms, read.challenge, read.domain) == (False, 0, None, None)
    assert len(read.digest) == 32


def test_the_digest_is_that_of_the_value_and_not_of_the_text() -> None:
    first = proof_request(body(), Did.parse)
    assert proof_request(dict(reversed(body().items())), Did.parse).digest == first.digest
    for other in (body(anchor=False), body(syncWaitMs=0), asked("18"), asked(True), body(ibct={"nonce": "m"})):
        assert proof_request(other, Did.parse).digest != first.digest


@pytest.mark.parametrize("value", [1.0, 1e2, -0.0, 1.5, None, {}, {"a": 1}, [1.0], [None], [[1]], [{"a": 1}], 2**53])
def test_values_without_one_form(value: Any) -> None:
    with pytest.raises(InvalidRequest):
        proof_request(asked(value), Did.parse)


@pytest.mark.parametrize("value", [0, -5, 2**53 - 1, True, "", "9007199254740993", [], ["JP", "DE"], [1, 2]])
def test_values_that_a_schema_may_take(value: Any) -> None:
    assert proof_request(asked(value), Did.parse).asked.value == value


def test_a_value_left_out_is_not_null() -> None:
    left_out = proof_request(body(predicate={"attributeName": "age", "type": "gte"}), Did.parse).asked
    assert (left_out.value, left_out.has_value) == (None, False)


@pytest.mark.parametrize(("sent", "used"), [(0, 0), (1500, 1500), (30_000, 30_000), (10**9, 30_000)])
def test_how_long_is_waited(sent: int, used: int) -> None:
    assert proof_request(body(syncWaitMs=sent), Did.parse).sync_wait_ms == used


@pytest.mark.parametrize(
    "change",
    [
        {"syncWaitMs": 1.0},
        {"challenge": "é" * 129},
        {"domain": "https://vera.example\n"},
        {"domain": "https://vera\u200b.example"},
    ],
)
def test_other_members_without_one_form(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        proof_request(body(**change), Did.parse)


@pytest.mark.parametrize("member", ["holderDid", "agentDid"])
def test_parties_are_dids(member: str) -> None:
    with pytest.raises(InvalidDid):
        proof_request(body(**{member: "hana"}), Did.parse)
