"""Attacks on delegations over HTTP: probing what others have, widening what one was given, and writing past the service."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from tests.attack.conftest import Target
from tests.attack.stranger import PREFIX, Answer, Holder, at_once, base64url, body_hash, header

HOUR = 3600
UNKNOWN = "00000000-0000-4000-8000-000000000000"
AGE = "zkp.prove.age.gte"
CHANGES: dict[str, Any] = {"revoke": {}, "suspend": None, "resume": None}
# What differs between two answers that say the same; the length does with that of the request id, and bodies are compared.
VARIABLE = {"x-request-id", "date", "ratelimit", "content-length"}


def later(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def terms(holder: Holder, agent: Holder, **more: Any) -> dict[str, Any]:
    body = {"holderDid": holder.did, "agentDid": agent.did, "actions": [AGE], "autonomyLevel": 5}
    return body | {"expiresAt": later(24 * HOUR)} | more


def signed(who: Holder, purpose: str, body: Any = None) -> dict[str, str]:
    text = who.challenge(purpose, None if body is None else body_hash(body))
    return {"Authorization": header(who.did, who.key.sign(text.encode()).signature)}


def by_name(who: Holder, purpose: str, body: Any) -> dict[str, str]:
    query = f"?did={quote(who.did, safe='')}&purpose={purpose}&bodyHash={body_hash(body)}&named=true"
    text = who.wire.call("GET", f"{PREFIX}/auth/challenge{query}").json["challenge"]
    return {"Authorization": header(text, who.key.sign(text.encode()).signature)}


def for_target(who: Holder, target: str, purpose: str, body: Any = None, spelling: str | None = None) -> dict[str, str]:
    """The header for one request. The challenge names its path and query, whose hash is calculated here from their canonical form."""
    bound = {} if body is None else {"bodyHash": body_hash(body)}
    asked = {"did": who.did, "purpose": purpose, "target": spelling or target, "named": "true"} | bound
    answer = who.wire.call("GET", f"{PREFIX}/auth/challenge?{urlencode(asked)}")
    assert answer.status == 200, answer.body
    text: str = answer.json["challenge"]
    assert text.split(" ")[1] == f"{who.wire.url}#{base64url(hashlib.sha256(target.encode()).digest())}"
    return {"Authorization": header(text, who.key.sign(text.encode()).signature)}


def ask(who: Holder, method: str, path: str, body: Any = None) -> Answer:
    purpose = "read" if method == "GET" else "delegate"
    return who.wire.call(method, PREFIX + path, body, signed(who, purpose, body))


def delegate(by: Holder, body: dict[str, Any]) -> str:
    answer = ask(by, "POST", "/delegations", body)
    assert answer.status == 201, answer.body
    return str(answer.json["id"])


def passed_on(target: Target) -> tuple[Holder, Holder, Holder, str, str]:
    """Hana, Aki and Ben; what Hana gave Aki, and what Aki passed on to Ben."""
    hana, aki, ben = (target.stranger.holder() for _ in range(3))
    root = delegate(hana, terms(hana, aki, maxDepth=3, maxUses=5))
    child = delegate(aki, terms(hana, ben, parentId=root, maxDepth=2, expiresAt=later(23 * HOUR)))
    return hana, aki, ben, root, child


def written(target: Target, sql: str, *values: Any) -> None:
    """Writes past the service."""
    with closing(sqlite3.connect(target.data_dir / "identity.sqlite", timeout=60)) as connection, connection:
        assert connection.execute(sql, values).rowcount >= 1


def stable_answer(answer: Answer) -> tuple[int, Any, dict[str, str]]:
    """The answer without what differs from one request to the next."""
    body = answer.json
    body["error"]["details"].pop("requestId")
    return answer.status, body, {name: value for name, value in answer.headers.items() if name not in VARIABLE}


def test_foreign_delegation_looks_like_a_missing_one(target: Target) -> None:
    _, _, ben, root, _ = passed_on(target)
    eve = target.stranger.holder()
    for who in (eve, ben):
        for method, act, body in [
            ("GET", "", None),
            ("DELETE", "", None),
            *(("POST", f"/{a}", b) for a, b in CHANGES.items()),
        ]:
            foreign, absent = (
                stable_answer(ask(who, method, f"/delegations/{name}{act}", body)) for name in (root, UNKNOWN)
            )
            assert foreign == absent
            assert foreign[0] == 404
    child = terms(eve, ben) | {"parentId": root}
    assert stable_answer(ask(eve, "POST", "/delegations", child)) == stable_answer(
        ask(eve, "POST", "/delegations", child | {"parentId": UNKNOWN})
    )


@pytest.mark.parametrize(
    "name", ["..%2f..%2fhealth", "' OR 1=1 --", "%00", "urn:uuid:" + UNKNOWN, "a" * 128, "%E2%80%AE"]
)
def test_ids_are_looked_up_and_nothing_else(target: Target, name: str) -> None:
    path = f"/delegations/{name}".replace(" ", "%20").replace("'", "%27")
    assert ask(target.stranger.holder(), "GET", path).status in (400, 404)


def test_a_signature_does_what_it_was_made_for(target: Target) -> None:
    hana, aki, _, root, _ = passed_on(target)
    wire, path = target.wire, f"{PREFIX}/delegations/{root}"
    for purpose in ("read", "prove", "credential", "update"):
        assert wire.call("DELETE", path, headers=signed(hana, purpose)).outcome == (401, "AUTH_FAILED")
    body = terms(hana, aki)
    other = signed(hana, "delegate", body)
    assert wire.call("POST", f"{PREFIX}/delegations", body | {"maxUses": 9}, other).outcome == (401, "AUTH_FAILED")
    once = signed(hana, "delegate", body)
    assert wire.call("POST", f"{PREFIX}/delegations", body, once).status == 201
    assert wire.call("POST", f"{PREFIX}/delegations", body, once).outcome == (401, "AUTH_FAILED")


WIDER = {
    "uses": "UPDATE delegations SET max_uses = NULL WHERE id = ?",
    "end": "UPDATE delegations SET expires_at = expires_at + 86400000000 WHERE id = ?",
    "beginning": "UPDATE delegations SET not_before = 0 WHERE id = ?",
    "refusals": "UPDATE delegations SET max_refusals = 2 WHERE id = ?",
    "thresholds": "UPDATE delegations SET max_thresholds = 4 WHERE id = ?",
    "actions": "UPDATE delegations SET record = CAST(replace(CAST(record AS TEXT), '.age.', '.*.') AS BLOB) WHERE id = ?",
    "depth": """UPDATE delegations SET record = CAST(replace(CAST(record AS TEXT), '"maxDepth":2', '"maxDepth":3') AS BLOB)
WHERE id = ?""",
    "grantor": "UPDATE delegations SET grantor = holder WHERE id = ?",
    "holder": "UPDATE delegations SET holder = agent WHERE id = ?",
    "agent": "UPDATE delegations SET agent = grantor WHERE id = ?",
    "gap": "UPDATE delegations SET parent_id = 'gone' WHERE id = ?",
    "root": "UPDATE delegations SET parent_id = NULL WHERE id = ?",
    "circle": "UPDATE delegations SET parent_id = id WHERE id = ?",
}


@pytest.mark.parametrize("dimension", WIDER)
def test_row_written_past_the_service_is_not_used(target: Target, dimension: str) -> None:
    hana, aki, ben, _, child = passed_on(target)
    cleo = target.stranger.holder()
    # The agent of the row after the change tries to use it.
    by, holder = (aki if dimension == "agent" else ben), (ben if dimension == "holder" else hana)
    body = terms(holder, cleo, parentId=child, maxDepth=0, expiresAt=later(HOUR), maxUses=1)
    assert ask(ben, "GET", f"/delegations/{child}").status == 200
    written(target, WIDER[dimension], child)
    answer = ask(by, "POST", "/delegations", body)
    assert answer.outcome == (403, "DELEGATION_INVALID"), answer.body
    assert set(answer.json["error"]["details"]) == {"requestId", "remedies", "remedy"}


def test_a_circle_ends(target: Target) -> None:
    hana, _, ben, root, child = passed_on(target)
    written(target, "UPDATE delegations SET parent_id = ? WHERE id = ?", child, root)
    for name in (root, child):
        assert ask(hana, "GET", f"/delegations/{name}").status == 200
        assert ask(ben, "GET", "/delegations").status == 200
    assert ask(hana, "POST", f"/delegations/{root}/revoke", {}).json["status"] == "revoked"
    assert ask(ben, "GET", f"/delegations/{child}").json["status"] == "revoked"


def test_descendant_of_revoked_delegation_is_invalid(target: Target) -> None:
    hana, aki, ben, root, child = passed_on(target)
    below = delegate(ben, terms(hana, target.stranger.holder(), parentId=child, maxDepth=1, expiresAt=later(HOUR)))
    assert ask(aki, "POST", f"/delegations/{root}/revoke", {}).status == 200
    assert ask(hana, "GET", f"/delegations/{below}").json["status"] == "revoked"
    for act in ("suspend", "resume"):
        assert ask(hana, "POST", f"/delegations/{below}/{act}").outcome == (409, "CONFLICT")
    again = terms(hana, aki, parentId=child, maxDepth=0, expiresAt=later(HOUR))
    assert ask(ben, "POST", "/delegations", again).outcome == (410, "DELEGATION_REVOKED")


def test_many_revocations_are_one(target: Target) -> None:
    hana, aki, _, root, _ = passed_on(target)
    # Eight equal requests at once: each names a challenge that no other request has.
    headers = [by_name(who, "delegate", {}) for who in (hana, aki) * 8]

    def revoke(one: dict[str, str]) -> Callable[[], Answer]:
        return lambda: target.wire.call("POST", f"{PREFIX}/delegations/{root}/revoke", {}, one)

    answers = at_once(target.wire, [revoke(one) for one in headers])
    assert {answer.status for answer in answers} == {200}
    assert len({json.dumps([answer.json["revokedBy"], answer.json["revokedAt"]]) for answer in answers}) == 1
    assert {answer.json["version"] for answer in answers} == {2}


@pytest.mark.parametrize(
    "action",
    [
        "zkp.prove.age",
        "zkp.prove.age.",
        "zkp.prove.age.gte.",
        "zkp.prove..gte",
        "zkp.prove.age.gte.018",
        "zkp.prove.ag*.gte",
        "zkp.prove.**.gte",
        "zkp.prove.age.gte.*",
        "zkp.prove.*",
        "*",
        "zkp.*.age.gte",
        "zkp.prove.\u0430ge.gte",
        "zkp.prove.age.gte\n",
        "zkp.prove.age.gte\u0000",
        "ZKP.prove.age.gte",
        "zkp.prove.%61ge.gte",
        "zkp.prove.%c3%a9.gte",
        "",
    ],
)
def test_no_action_but_those_of_the_grammar(target: Target, action: str) -> None:
    hana, aki = target.stranger.holder(), target.stranger.holder()
    body = terms(hana, aki, actions=[AGE, action])
    answer = target.wire.call("POST", f"{PREFIX}/delegations", body, {"X-API-Key": target.stranger.api_key})
    assert answer.outcome == (400, "INVALID_REQUEST")


@pytest.mark.parametrize(
    "value", ["0.12345678901234567", "9007199254740992", "null", "{}", "[]", "[1]", '"\\ud800"', "NaN"]
)
def test_no_value_but_one_that_has_a_pin(target: Target, value: str) -> None:
    hana, aki = target.stranger.holder(), target.stranger.holder()
    body = json.dumps(terms(hana, aki, predicates=[{"attributeName": "age", "type": "gte", "values": ["@"]}]))
    data = body.replace('"@"', value).encode()
    answer = target.wire.call("POST", f"{PREFIX}/delegations", data, {"X-API-Key": target.stranger.api_key})
    assert answer.outcome == (400, "INVALID_REQUEST")


@pytest.mark.parametrize(
    ("written", "plain"), [("1.0", "1"), ("1e2", "100"), ("-0.0", "0"), ("1.5", '"1.5"'), ("1e-2", '"0.01"')]
)
def test_numbers_are_accepted_by_their_value(target: Target, written: str, plain: str) -> None:
    """RFC 8259 §6 lets a number have fraction and exponent, so 1.0 is the integer 1, and a fraction is the decimal of its
    shortest text. Both spellings are one pin."""
    hana, aki = target.stranger.holder(), target.stranger.holder()
    body = json.dumps(terms(hana, aki, predicates=[{"attributeName": "age", "type": "gte", "values": ["@"]}]))
    key = {"X-API-Key": target.stranger.api_key}
    answers = [
        target.wire.call("POST", f"{PREFIX}/delegations", body.replace('"@"', value).encode(), key)
        for value in (written, plain)
    ]
    assert [answer.status for answer in answers] == [201, 201], answers[0].body
    shown, expected = (answer.json for answer in answers)
    assert shown["predicates"] == [{"attributeName": "age", "type": "gte", "values": [json.loads(written)]}]
    assert len(shown["actions"]) == 2
    assert shown["actions"] == expected["actions"]


def test_a_member_that_comes_twice_is_refused(target: Target) -> None:
    hana, aki = target.stranger.holder(), target.stranger.holder()
    body = json.dumps(terms(hana, aki))
    for twice in (', "autonomyLevel": 0}', ', "autonomy\\u004cevel": 0}'):
        data = (body[:-1] + twice).encode()
        answer = target.wire.call("POST", f"{PREFIX}/delegations", data, {"X-API-Key": target.stranger.api_key})
        assert answer.outcome == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("inner", ["", "1", "1 2", "-1 " + UNKNOWN, "1" * 18 + " " + UNKNOWN, "1 " + UNKNOWN + "\n"])
def test_no_cursor_but_ours(target: Target, inner: str) -> None:
    cursor = base64url(inner.encode()) or "%20"
    key = {"X-API-Key": target.stranger.api_key}
    assert target.wire.call("GET", f"{PREFIX}/delegations?cursor={cursor}", headers=key).outcome == (
        400,
        "INVALID_REQUEST",
    )


def test_a_token_that_was_called_back_is_nowhere_to_be_found(target: Target) -> None:
    hana = target.stranger.holder()
    nonce = "nonce-that-must-not-be-presented-5d41402abc4b2a76"
    body = {"invoker": hana.did, "nonce": nonce}
    headers = signed(hana, "delegate", body) | {"Idempotency-Key": "call-back"}
    assert target.wire.call("POST", f"{PREFIX}/ibcts/revoke", body, headers).status == 200
    held = [path for path in target.data_dir.rglob("*") if path.is_file() and nonce.encode() in path.read_bytes()]
    assert held == []


@pytest.mark.parametrize("act", ["revoke", "suspend"])
def test_a_signature_for_one_delegation_is_refused_at_another(target: Target, act: str) -> None:
    """An intermediary holds back the request of the holder and uses its signature at another delegation of the same holder."""
    hana, aki = (target.stranger.holder() for _ in range(2))
    first, second = (delegate(hana, terms(hana, aki)) for _ in range(2))
    places = {each: f"/delegations/{quote(each, safe='')}/{act}" for each in (first, second)}
    body = CHANGES[act]
    stolen = for_target(hana, places[first], "delegate", body)
    refused = hana.wire.call("POST", PREFIX + places[second], body, stolen)
    assert refused.outcome == (401, "AUTH_FAILED")
    assert refused.json["error"]["details"]["target"] == places[second]
    deleted = hana.wire.call("DELETE", f"{PREFIX}/delegations/{quote(second, safe='')}", None, stolen)
    assert deleted.outcome == (401, "AUTH_FAILED")
    assert ask(hana, "GET", f"/delegations/{second}").json["status"] == "active"
    assert hana.wire.call("POST", PREFIX + places[first], body, stolen).status == 200, (
        "the refusals have not used it up"
    )
    assert hana.wire.call("POST", PREFIX + places[first], body, stolen).outcome == (401, "AUTH_FAILED")


def test_a_signature_for_one_query_is_refused_at_another(target: Target) -> None:
    hana, aki = (target.stranger.holder() for _ in range(2))
    delegate(hana, terms(hana, aki))
    query = f"holderDid={quote(hana.did, safe='')}"
    stolen = for_target(hana, f"/delegations?{query}&limit=1", "read")
    for other in (
        query,
        f"{query}&limit=2",
        f"{query}&limit=1&status=active",
        f"agentDid={quote(hana.did, safe='')}&limit=1",
    ):
        answer = hana.wire.call("GET", f"{PREFIX}/delegations?{other}", None, stolen)
        assert answer.outcome == (401, "AUTH_FAILED"), other
    assert hana.wire.call("GET", f"{PREFIX}/delegations?limit=1&{query}", None, stolen).status == 200


def test_each_spelling_of_the_target_serves_an_honest_client(target: Target) -> None:
    hana = target.stranger.holder(strictEvidence=False)
    canonical = f"/dids/{quote(hana.did, safe='')}"
    for number, (spelling, called) in enumerate(
        [(canonical, f"/dids/{hana.did}"), (f"/dids/{hana.did}", canonical), (f"{PREFIX}/dids/{hana.did}?", canonical)]
    ):
        body = {
            "operation": "addService",
            "service": {"id": f"s{number}", "type": "LinkedDomains", "serviceEndpoint": "https://a.example/"},
        }
        signature = for_target(hana, canonical, "update", body, spelling)
        assert hana.wire.call("PATCH", PREFIX + called, body, signature).status == 200


def test_a_signature_for_the_path_of_one_did_serves_no_other(target: Target) -> None:
    hana, eve = (target.stranger.holder() for _ in range(2))
    body = {"operation": "removeService", "serviceId": "files"}
    paths = [f"/dids/{quote(who.did, safe='')}" for who in (hana, eve)]
    for called, named in ((paths[1], paths[0]), (paths[0], paths[1]), (paths[0], paths[0] + "/recover")):
        stolen = for_target(hana, named, "update", body)
        assert hana.wire.call("PATCH", PREFIX + called, body, stolen).outcome == (401, "AUTH_FAILED")


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"target": "/delegations"}, 400),
        ({"target": "delegations", "named": "true"}, 400),
        ({"target": "", "named": "true"}, 400),
        ({"target": "/a b", "named": "true"}, 400),
        ({"target": "/é", "named": "true"}, 400),
        ({"target": "/" + "a" * 2048, "named": "true"}, 400),
        ({"target": "/" + "a" * 2047, "named": "true"}, 200),
        ({"target": "/%", "named": "true"}, 200),
    ],
)
def test_targets_of_a_wrong_form_are_refused(target: Target, more: dict[str, str], status: int) -> None:
    hana = target.stranger.holder()
    answer = hana.wire.call("GET", f"{PREFIX}/auth/challenge?{urlencode({'did': hana.did} | more)}")
    assert answer.outcome == (status, None if status == 200 else "INVALID_REQUEST")


def test_a_target_cannot_be_cut_off_the_challenge(target: Target) -> None:
    hana, aki = (target.stranger.holder() for _ in range(2))
    one = delegate(hana, terms(hana, aki))
    path = f"/delegations/{quote(one, safe='')}/revoke"
    text = json.loads(
        hana.wire.call(
            "GET",
            f"{PREFIX}/auth/challenge?{urlencode({'did': hana.did, 'purpose': 'delegate', 'target': '/x', 'named': 'true'})}",
        ).body
    )["challenge"]
    origin = text.split(" ")[1]
    bare = hana.wire.url
    right = f"{bare}#{base64url(hashlib.sha256(path.encode()).digest())}"
    for forged in (bare, right, f"{right}#", f"{bare}#", f"{origin}#{right.partition('#')[2]}"):
        changed = text.replace(origin, forged)
        signature = {"Authorization": header(changed, hana.key.sign(changed.encode()).signature)}
        assert hana.wire.call("POST", PREFIX + path, {}, signature).outcome == (401, "AUTH_FAILED")


def test_agent_does_not_hide_behind_those_it_passed_on(target: Target) -> None:
    """One request suspends 400, and an agent passes on more than that: its own delegation is the oldest."""
    hana, aki, ben = (target.stranger.holder() for _ in range(3))
    root = delegate(hana, terms(hana, aki, maxDepth=3))
    child = terms(hana, ben, parentId=root, maxDepth=2, expiresAt=later(23 * HOUR))
    passed_on = [delegate(aki, child) for _ in range(401)]
    answer = ask(hana, "POST", "/delegations/suspend", {"all": True})
    assert (answer.status, answer.json["suspended"]) == (200, [root]), answer.body
    assert ask(hana, "GET", f"/delegations/{passed_on[0]}").json["status"] == "suspended"
    assert ask(hana, "POST", "/delegations/suspend", {"all": True}).json["suspended"] == []
