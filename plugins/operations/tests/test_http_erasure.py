"""Attacks on erasure over HTTP: signatures of others, for something else, for less or of before; tokens and keys that are too small."""

from __future__ import annotations

from typing import Any

import pytest

from tests.attack.conftest import Target
from tests.attack.stranger import PREFIX, Answer, Holder
from tests.attack.test_http_credentials import mint
from tests.attack.test_http_delegations import delegate, signed, terms
from tests.attack.test_http_issuing import Office, ask

RECORDS = f"{PREFIX}/dashboard/records"
TIMELINE: dict[str, Any] = {"kinds": ["timeline"]}


def happened(who: Holder) -> int:
    answer = who.wire.call("GET", f"{PREFIX}/dashboard/timeline", headers=signed(who, "read"))
    return len(answer.json["items"])


@pytest.fixture
def hana(target: Target) -> Holder:
    """In whose name one thing was done."""
    hana = target.stranger.holder()
    delegate(hana, terms(hana, target.stranger.holder()))
    assert happened(hana) == 1
    return hana


def erase(target: Target, body: Any, headers: dict[str, str]) -> Answer:
    return target.wire.call("DELETE", RECORDS, body, headers)


def test_a_signature_erases_what_it_was_made_for_once(target: Target, hana: Holder) -> None:
    for purpose in ("read", "delegate", "prove", "credential", "deactivate"):
        assert erase(target, TIMELINE, signed(hana, purpose, TIMELINE)).outcome == (401, "AUTH_FAILED")
    less = signed(hana, "erase", {"kinds": ["proofs"]})
    assert erase(target, TIMELINE, less).outcome == (401, "AUTH_FAILED")
    assert happened(hana) == 1
    header = signed(hana, "erase", TIMELINE)
    assert erase(target, TIMELINE, header).json["erased"]["timeline"] == 1
    delegate(hana, terms(hana, target.stranger.holder()))
    assert erase(target, TIMELINE, header).outcome == (401, "AUTH_FAILED")
    assert happened(hana) == 1


def test_nobody_names_another(target: Target, hana: Holder) -> None:
    eve = target.stranger.holder()
    body = TIMELINE | {"holderDid": hana.did}
    assert erase(target, body, signed(eve, "erase", body)).outcome == (403, "FORBIDDEN")
    for odd in (f"{hana.did}#key", f" {hana.did}", hana.did.upper(), [hana.did], {"did": hana.did}, "*", "%", ""):
        strange = TIMELINE | {"holderDid": odd}
        assert erase(target, strange, signed(eve, "erase", strange)).status in (400, 403)
    assert happened(hana) == 1


@pytest.mark.parametrize(
    "kinds", [[], ["audit"], ["timeline; DROP TABLE timeline"], ["Timeline"], ["timeline"] * 7, [None], "timeline", {}]
)
def test_kinds_are_those_that_there_are(target: Target, hana: Holder, kinds: Any) -> None:
    body = {"kinds": kinds}
    assert erase(target, body, signed(hana, "erase", body)).outcome == (400, "INVALID_REQUEST")
    assert happened(hana) == 1


def test_issuer_reads_an_erased_credential_without_values(target: Target) -> None:
    office = Office.open(target.wire, target.stranger)
    credential = office.issued()
    body = {"kinds": ["credentials"]}
    assert erase(target, body, signed(office.hana, "erase", body)).json["erased"]["credentials"] == 1
    shown = ask(office.ivo, "GET", f"/credentials/{credential['id']}")
    assert (shown.status, shown.json["holderDid"]) == (200, "did:erased:holder")
    assert b"Hana" not in shown.body


def test_a_key_and_a_token_need_the_scope_and_the_holder(target: Target, hana: Holder) -> None:
    body = TIMELINE | {"holderDid": hana.did}
    others = [target.stranger.holder().did]
    for scopes, targets in ((["zkp:prove", "audit:read"], [hana.did]), (["records:erase"], others)):
        key = mint(target, scopes=scopes, allowedTargets=targets)
        assert erase(target, body, {"X-API-Key": key}).outcome == (403, "FORBIDDEN")
    right = {"X-API-Key": mint(target, scopes=["records:erase"], allowedTargets=[hana.did])}
    assert erase(target, TIMELINE, right).outcome == (400, "INVALID_REQUEST")
    for scope, outcome in (("audit:read zkp:prove", (403, "FORBIDDEN")), ("records:erase", (200, None))):
        assert happened(hana) == 1
        wish = {"scope": scope}
        token = target.wire.call("POST", f"{PREFIX}/auth/token", wish, signed(hana, "token", wish)).json["access_token"]
        assert erase(target, TIMELINE, {"Authorization": f"Bearer {token}"}).outcome == outcome
    assert happened(hana) == 0
    assert erase(target, body, right).json["erased"]["timeline"] == 0
