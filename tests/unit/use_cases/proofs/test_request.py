"""Requests that the document's schema accepts and that are ambiguous: they are refused before any other check."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from identity_verification.use_cases.dry_run import checked_request
from identity_verification.wire import DelegatedProofCheckRequest

from identity_codec import jcs
from identity_codec.structs import UNSET, convert
from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidDid, InvalidRequest
from identity_core.use_cases.proofs.steps import ProofAttempt
from identity_core.wire import DelegatedPresentationRequest, DelegatedProofRequest

HANA = "did:ids:QmPvhbZpVZBeJcTVUcMJgfSDgxs8ymKZJzSYhkXmiNUNhS"
TOKEN = dict.fromkeys(
    ("id", "type", "invoker", "target", "action", "delegationRef", "nonce", "issuedAt", "expiresAt", "proofValue"), "t"
)
READER: Any = SimpleNamespace(parse=Did.parse)


def body(**change: Any) -> dict[str, Any]:
    return {
        "holderDid": HANA,
        "agentDid": "did:ids:aki",
        "credentialId": "urn:uuid:c",
        "predicate": {"attributeName": "age", "type": "gte", "value": 18},
        "ibct": TOKEN,
    } | change


def request_body(value: Any) -> dict[str, Any]:
    return body(predicate={"attributeName": "age", "type": "gte", "value": value})


def begun(body: dict[str, Any]) -> ProofAttempt:
    return ProofAttempt.from_request(convert(body, DelegatedProofRequest), READER, datetime.now(UTC))


def test_a_request_as_it_came() -> None:
    read = begun(body())
    assert (str(read.holder), str(read.agent), read.request.predicate.value) == (HANA, "did:ids:aki", 18)
    assert (read.anchor, read.request.challenge, read.request.domain) == (False, UNSET, UNSET)


def test_a_request_does_not_print_what_it_asks() -> None:
    assert "a secret value" not in repr(begun(request_body("a secret value")))
    assert "a secret token" not in repr(begun(body(ibct=TOKEN | {"nonce": "a secret token"})))


@pytest.mark.parametrize(
    "sent",
    [
        body(),
        body(anchor=True, syncWaitMs=5, challenge="é" * 16, domain="https://vera.example"),
        request_body(["JP", 1, True]),
    ],
    ids=["least", "whole", "set"],
)
def test_the_digest_is_that_of_the_body_as_it_came(sent: dict[str, Any]) -> None:
    assert begun(sent).digest == hashlib.sha256(jcs.canonicalize(sent)).digest()


def test_the_digest_is_that_of_the_value_and_not_of_the_text() -> None:
    first = begun(body())
    assert begun(dict(reversed(body().items()))).digest == first.digest
    for other in (
        body(anchor=False),
        body(syncWaitMs=0),
        request_body("18"),
        request_body(True),
        body(ibct=TOKEN | {"nonce": "m"}),
    ):
        assert begun(other).digest != first.digest


@pytest.mark.parametrize("value", [0.1 + 0.2, 1e300, None, {}, {"a": 1}, [2.0**53], [None], [[1]], [{"a": 1}], 2**53])
def test_values_without_one_form(value: Any) -> None:
    with pytest.raises(InvalidRequest):
        begun(request_body(value))


@pytest.mark.parametrize(
    "value", [0, -5, 1.0, 1e2, 1.5, 2**53 - 1, True, "", "9007199254740993", [], ["JP", "DE"], [1, 2]]
)
def test_values_that_a_schema_may_take(value: Any) -> None:
    assert begun(request_body(value)).request.predicate.value == value


def test_a_value_left_out_is_not_null() -> None:
    left_out = begun(body(predicate={"attributeName": "age", "type": "gte"})).request.predicate
    assert left_out.value is UNSET


@pytest.mark.parametrize(
    "change",
    [
        {"challenge": "é" * 129},
        {"domain": "https://vera.example\n"},
        {"domain": "https://vera\u200b.example"},
    ],
)
def test_other_members_without_one_form(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        begun(body(**change))


@pytest.mark.parametrize(
    "change",
    [
        {"predicates": [{"attributeName": "age", "type": "gte", "value": 18}]},
        {"credentials": [{"credentialId": "urn:uuid:c"}]},
        {"holderConsent": {"notBefore": 0, "notAfter": 0, "value": "A" * 192, "blindDifferences": ["A" * 43]}},
        {"credentialId": UNSET},
    ],
)
def test_check_refuses_what_no_operation_takes(change: dict[str, Any]) -> None:
    sent = {name: value for name, value in body(**change).items() if value is not UNSET}
    with pytest.raises(InvalidRequest, match="DelegatedProofRequest"):
        checked_request(convert(sent, DelegatedProofCheckRequest))


def test_check_reads_either_request() -> None:
    assert checked_request(convert(body(), DelegatedProofCheckRequest)) == convert(body(), DelegatedProofRequest)
    sent = body(predicates=[body()["predicate"]])
    del sent["predicate"]
    presented = convert(sent, DelegatedPresentationRequest)
    assert checked_request(convert(sent, DelegatedProofCheckRequest)) == presented


@pytest.mark.parametrize("member", ["holderDid", "agentDid"])
def test_parties_are_dids(member: str) -> None:
    with pytest.raises(InvalidDid):
        begun(body(**{member: "hana"}))
