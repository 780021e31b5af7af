"""One token, one evaluation: requests repeated, slightly changed, sent at once, or sent by another client (openapi/DECISIONS.md §4.4)."""

from __future__ import annotations

import json
import random
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.attack.delegated.scene import Json, People, Scene, in_two_minutes, later, printed, stable_refusal
from tests.attack.stranger import Answer, at_once, rounds
from tests.fault.turned_service import Turned

CROWD = 24
REPLAYED = (403, "IBCT_REPLAYED")
UNSATISFIED = (422, "PREDICATE_NOT_SATISFIED")
EXPIRED = (410, "IBCT_EXPIRED")
IN_PROGRESS = (409, "REQUEST_IN_PROGRESS")


def sending(scene: Scene, body: Json) -> Callable[[], Answer]:
    return lambda: scene.ask(body)


@pytest.mark.parametrize("first", [18, 40], ids=["after_a_proof", "after_a_refusal"])
def test_a_spent_token_asks_nothing_else(people: People, first: int) -> None:
    scene = Scene.create(people)
    body = scene.body(value=first)
    assert scene.ask(body).status == (201 if first == 18 else 422)
    other = Scene.create(people).credential_id
    for change in (
        {"predicate": body["predicate"] | {"value": 19}},
        {"predicate": body["predicate"] | {"value": str(first)}},
        {"credentialId": other},
        {"anchor": False},
        {"syncWaitMs": 0},
        {"challenge": "c" * 16},
        {"domain": "https://shop.example"},
    ):
        assert scene.ask(body | change).outcome == REPLAYED, change
    assert scene.uses == 1


def test_the_identical_request_gets_the_identical_answer(scene: Scene) -> None:
    body = scene.body()
    first = scene.ask(body)
    again = [scene.ask(body) for _ in range(3)]
    assert first.status == 201
    assert "idempotent-replayed" not in first.headers
    assert {answer.body for answer in again} == {first.body}
    assert {answer.headers["idempotent-replayed"] for answer in again} == {"true"}
    assert scene.uses == scene.proofs() == 1


def test_so_does_the_refused_one(scene: Scene) -> None:
    body = scene.body(value=40)
    answers = [scene.ask(body) for _ in range(4)]
    assert {answer.outcome for answer in answers} == {UNSATISFIED}
    details = [answer.json["error"]["details"] for answer in answers]
    assert len({json.dumps({name: one[name] for name in one if name != "requestId"}) for one in details}) == 1
    assert scene.uses == 1
    assert scene.proofs() == 0


def test_an_identical_request_in_another_spelling(scene: Scene) -> None:
    """The same JSON value, with other white space, another order of names, and escapes."""
    body = scene.body()
    first = scene.ask(body)
    turned = dict(reversed(body.items())) | {"ibct": dict(reversed(body["ibct"].items()))}
    spelled = json.dumps(turned, indent=3).replace('"gte"', '"\\u0067te"').replace('"age"', '"\\u0061ge"')
    assert scene.ask(spelled.encode()).body == first.body
    assert scene.uses == 1


def test_an_id_and_a_nonce_serve_one_request_each(scene: Scene) -> None:
    used = scene.unsigned()
    assert scene.ask(scene.body(ibct=scene.signed(used))).status == 201
    other = scene.unsigned()
    for name in ("id", "nonce"):
        assert scene.ask(scene.body(ibct=scene.signed(other | {name: used[name]}))).outcome == REPLAYED
    # Two tokens that were good alone make no third.
    assert scene.ask(scene.body(ibct=scene.signed(other))).status == 201
    crossed = scene.unsigned(id=used["id"], nonce=other["nonce"])
    assert scene.ask(scene.body(ibct=scene.signed(crossed))).outcome == REPLAYED
    assert scene.uses == 2


def test_a_nonce_is_a_holder_s_own(people: People) -> None:
    """Else one holder could spend another's."""
    scene = Scene.create(people)
    token = scene.unsigned()
    assert scene.ask(scene.body(ibct=scene.signed(token))).status == 201
    other = Scene.create(people, people.target.stranger.holder(), people.aki)
    same = other.unsigned(id=token["id"], nonce=token["nonce"])
    assert other.ask(other.body(ibct=other.signed(same))).status == 201


def test_one_evaluation_for_24_identical_requests(crowded: People) -> None:
    for _ in range(rounds(6)):
        scene = Scene.create(crowded)
        body = scene.body()
        answers = at_once(scene.target.wire, [sending(scene, body)] * CROWD)
        outcomes = Counter(answer.outcome for answer in answers)
        assert set(outcomes) <= {(201, None), IN_PROGRESS}, outcomes
        assert len({answer.json["proofId"] for answer in answers if answer.status == 201}) == 1
        assert all(answer.headers["retry-after"] == "1" for answer in answers if answer.status == 409)
        assert scene.uses == scene.proofs() == 1


def test_one_evaluation_for_24_requests_that_share_a_token(crowded: People) -> None:
    """Each asks something else: the search that a token must not allow."""
    for number in range(rounds(6)):
        scene = Scene.create(crowded)
        token = scene.token()
        bodies = [scene.body(value=25 + place, ibct=token) for place in range(CROWD)]
        random.Random(number).shuffle(bodies)
        answers = at_once(scene.target.wire, [sending(scene, body) for body in bodies])
        outcomes = Counter(answer.outcome for answer in answers)
        assert set(outcomes) <= {(201, None), UNSATISFIED, REPLAYED}, outcomes
        assert outcomes[REPLAYED] == CROWD - 1
        assert scene.uses == 1


def test_exactly_as_many_uses_as_were_given(crowded: People) -> None:
    """24 tokens, 5 uses."""
    for _ in range(rounds(3)):
        scene = Scene.create(crowded, maxUses=5)
        # Half of them would be refused: a refusal is a use.
        bodies = [scene.body(value=18 + 20 * (place % 2)) for place in range(CROWD)]
        answers = at_once(scene.target.wire, [sending(scene, body) for body in bodies])
        outcomes = Counter(answer.outcome for answer in answers)
        assert outcomes[201, None] + outcomes[UNSATISFIED] == 5, outcomes
        assert outcomes[403, "DELEGATION_EXHAUSTED"] == CROWD - 5, outcomes
        assert scene.uses == 5
        assert scene.delegation()["status"] == "exhausted"


def test_a_spent_token_is_spent_for_every_process(peoples: Any, targets: Any) -> None:
    scene = Scene.create(peoples(targets(4)))
    body = scene.body()
    first = scene.ask(body)
    assert first.status == 201
    changed = body | {"predicate": body["predicate"] | {"value": 30}}
    for _ in range(16):
        assert scene.ask(changed, fresh=True).outcome == REPLAYED
        assert scene.ask(body, fresh=True).body == first.body
    assert scene.uses == 1


def test_at_the_edge_of_its_expiry_a_token_is_not_forgotten(mortals: People, turned: Turned) -> None:
    """Rows are deleted later than any clock may think that the token is still good; every consumption deletes some."""
    scene, end = Scene.create(mortals), in_two_minutes()
    body = scene.body(ibct=scene.token(expiresAt=printed(end)))
    changed = body | {"predicate": body["predicate"] | {"value": 30}}
    first = scene.ask(body)
    assert first.status == 201
    moments = (-1.0, -1e-6, 0.0, 1e-6, 1.0, 2.0, 59.0, 61.0, 240.0)
    for seconds in moments:
        turned.stop(end + timedelta(seconds=seconds))
        assert scene.ask().status == 201
        again = scene.ask(body)
        assert scene.ask(changed).outcome == (REPLAYED if seconds < 0 else EXPIRED)
        assert again.outcome == ((201, None) if seconds < 0 else EXPIRED)
        assert again.body == first.body or seconds >= 0
    assert scene.uses == scene.proofs() == 1 + len(moments)
    # Then the clock is set back by some minutes, which the service tolerates.
    turned.stop(end - timedelta(seconds=30))
    assert scene.ask(changed).outcome == REPLAYED


def test_refusal_before_the_signature_uses_nothing(scene: Scene) -> None:
    body = scene.body(challenge="c" * 16, domain="https://shop.example")
    for change in ({"challenge": "short"}, {"syncWaitMs": -1}, {"agentDid": scene.people.mallory.did}):
        assert scene.ask(body | change).status in (400, 403)
    assert scene.ask(body, headers={"Authorization": "Bearer nonsense"}).status == 401
    assert scene.ask(body | {"ibct": body["ibct"] | {"nonce": "f" * 32}}).outcome == (403, "IBCT_INVALID")
    assert scene.uses == 0
    assert scene.ask(body).status == 201


# What is wrong, by terms of the delegation or in the request; and what mends it, past the token.
WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[int, str]]] = {
    "credential": ({}, {"credentialId": "urn:uuid:none"}, (404, "CREDENTIAL_NOT_FOUND")),
    "predicate": ({}, {"about": ("age", "gte", 151)}, (422, "PREDICATE_UNSUPPORTED")),
    "exhausted": ({"maxUses": 0}, {}, (403, "DELEGATION_EXHAUSTED")),
    "disclosure": ({"maxThresholds": 0}, {}, (403, "DISCLOSURE_LIMIT")),
    "not begun": ({"notBefore": later(12 * 3600)}, {}, (403, "DELEGATION_NOT_ACTIVE")),
    "delegation": ({}, {"delegation": str(uuid.uuid4())}, (403, "DELEGATION_INVALID")),
    "no": ({}, {"value": 90}, UNSATISFIED),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_every_refusal_of_a_genuine_token_spends_it(crowded: People, wrong: str) -> None:
    """Whatever it was that refused, the token asks nothing else; the identical request is told the same, by every process."""
    terms, change, outcome = WRONG[wrong]
    scene = Scene.create(crowded, **terms)
    change = dict(change)
    if "delegation" in change:
        change["ibct"] = scene.token(delegationRef=change.pop("delegation"))
    body = scene.body(**change)
    first = scene.ask(body)
    assert first.outcome == outcome
    uses = scene.uses
    for _ in range(6):
        again = scene.ask(body, fresh=True)
        assert stable_refusal(again)[:2] == stable_refusal(first)[:2]
        assert again.headers["idempotent-replayed"] == "true"
        for other in (
            {"predicate": {"attributeName": "age", "type": "gte", "value": 18 + (wrong != "no")}},
            {"credentialId": Scene.create(crowded).credential_id} if wrong == "credential" else {"anchor": False},
            {"domain": "https://shop.example"},
        ):
            assert scene.ask(body | other, fresh=True).outcome == REPLAYED
    assert scene.uses == uses == (1 if wrong == "no" else 0)


# By terms of the delegation: the question that is refused, what refuses it, and the one that the same token is then good for.
MENDED: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[int, str], dict[str, Any]]] = {
    "no verifier": (
        {"verifiers": ["https://shop.example"]},
        {},
        (403, "SCOPE_MISMATCH"),
        {"domain": "https://shop.example"},
    ),
    "value": (
        {"actions": ["zkp.prove.age.gte.18"]},
        {"predicate": {"attributeName": "age", "type": "gte", "value": 21}},
        (403, "SCOPE_MISMATCH"),
        {"predicate": {"attributeName": "age", "type": "gte", "value": 18}},
    ),
}


@pytest.mark.parametrize("name", MENDED)
def test_refusal_of_scope_leaves_the_token_to_the_agent(crowded: People, name: str) -> None:
    """The agent reads the delegation and mends its request: the holder need not sign again."""
    terms, wrong, outcome, mended = MENDED[name]
    scene = Scene.create(crowded, **terms)
    body = scene.body()
    for _ in range(3):
        refused = scene.ask(body | wrong, fresh=True)
        assert refused.outcome == outcome
        assert refused.json["error"]["details"]["reason"]
    assert (scene.uses, scene.proofs()) == (0, 0)
    assert scene.ask(body | wrong | mended, fresh=True).outcome == (201, None)
    assert scene.ask(body | wrong, fresh=True).outcome == REPLAYED
    assert (scene.uses, scene.proofs()) == (1, 1)


def test_a_refusal_is_repeated_when_its_cause_is_gone(people: People) -> None:
    scene = Scene.create(people)
    people.operate("POST", f"/delegations/{scene.delegation_id}/suspend")
    body = scene.body()
    assert scene.ask(body).outcome == (403, "DELEGATION_NOT_ACTIVE")
    people.operate("POST", f"/delegations/{scene.delegation_id}/resume")
    assert scene.ask(body).outcome == (403, "DELEGATION_NOT_ACTIVE")
    assert scene.ask().status == 201


def test_an_identical_request_is_authorised_anew(scene: Scene) -> None:
    body = scene.body()
    assert scene.ask(body).status == 201
    assert scene.ask(body, headers=scene.authorize(scene.people.mallory)).outcome == (403, "FORBIDDEN")
    scene.revoke()
    assert scene.ask(body).outcome == (410, "DELEGATION_REVOKED")
