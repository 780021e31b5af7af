"""Delegations that were passed on: what is wider than it may be gives nothing at use, though it was written straight into the
database (domain/delegations/README.md)."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest

from tests.attack.delegated.scene import HOUR, People, Scene, later, written
from tests.attack.stranger import Holder, at_once

NO_DELEGATION = (403, "DELEGATION_INVALID")


def passed_on(people: People, **terms: Any) -> tuple[Scene, str, Holder]:
    """What Hana gave to a middle, and the middle to Aki: the scene of Aki, the root, and the middle."""
    middle = people.target.stranger.holder()
    limits = {"maxUses": 50, "maxRefusals": 5, "maxThresholds": 20, "autonomyLevel": 5, "maxDepth": 2}
    root = people.delegate(
        people.hana,
        middle,
        credentialIds=[credential := people.issue(people.hana)],
        actions=["zkp.prove.age.*"],
        notBefore=later(-1),
        **limits,
    )
    wish = limits | {
        "holderDid": people.hana.did,
        "agentDid": people.aki.did,
        "parentId": root,
        "actions": ["zkp.prove.age.gte"],
        "credentialIds": [credential],
        "autonomyLevel": 4,
        "maxDepth": 1,
        "expiresAt": later(HOUR),
    }
    scene = Scene.create(people)
    made = scene.act(middle, "POST", "/delegations", "delegate", wish | terms)
    if made.status != 201:
        raise RuntimeError(made.body)
    scene.delegation_id, scene.credential_id = made.json["id"], credential
    return scene, root, middle


RECORD = "UPDATE delegations SET record = CAST(replace(CAST(record AS TEXT), '{}', '{}') AS BLOB) WHERE id = ?"
WIDER = {
    "uses": "UPDATE delegations SET max_uses = NULL WHERE id = ?",
    "end": "UPDATE delegations SET expires_at = expires_at + 864000000000 WHERE id = ?",
    "beginning": "UPDATE delegations SET not_before = 0 WHERE id = ?",
    "refusals": "UPDATE delegations SET max_refusals = 6 WHERE id = ?",
    "thresholds": "UPDATE delegations SET max_thresholds = NULL WHERE id = ?",
    "actions": RECORD.format("zkp.prove.age.gte", "zkp.prove.*.*"),
    "depth": RECORD.format('"maxDepth":1', '"maxDepth":2'),
    "level": RECORD.format('"autonomyLevel":4', '"autonomyLevel":6'),
    "credentials": RECORD.format('"credentialIds":[', '"credentialIds":["urn:uuid:other",'),
    "grantor": "UPDATE delegations SET grantor = holder WHERE id = ?",
    "another holder": "UPDATE delegations SET holder = grantor WHERE id = ?",
    "another agent": "UPDATE delegations SET agent = grantor WHERE id = ?",
    "a parent that is gone": "UPDATE delegations SET parent_id = 'gone' WHERE id = ?",
    "no parent": "UPDATE delegations SET parent_id = NULL WHERE id = ?",
    "its own parent": "UPDATE delegations SET parent_id = id WHERE id = ?",
}


@pytest.mark.parametrize("dimension", WIDER)
def test_a_child_widened_in_the_database_is_refused(people: People, dimension: str) -> None:
    scene, _, _ = passed_on(people)
    assert scene.ask().status == 201
    written(scene.target, WIDER[dimension], scene.delegation_id)
    refused = scene.ask()
    assert refused.outcome == NO_DELEGATION, refused.body
    # The details are those of a delegation that does not exist: the agent learns nothing about the row.
    details = {name: value for name, value in refused.json["error"]["details"].items() if name != "requestId"}
    assert details == {
        "remedies": ["createDelegation; its id is the delegationRef"],
        "remedy": "createDelegation; its id is the delegationRef.",
    }


def test_a_parent_that_was_made_narrower_narrows_its_children(people: People) -> None:
    scene, root, _ = passed_on(people)
    written(scene.target, RECORD.format("zkp.prove.age.*", "zkp.prove.age.lte"), root)
    assert scene.ask().outcome == NO_DELEGATION


def test_a_circle_ends(people: People) -> None:
    scene, root, _ = passed_on(people)
    written(scene.target, "UPDATE delegations SET parent_id = ? WHERE id = ?", scene.delegation_id, root)
    assert scene.ask().outcome == NO_DELEGATION


def test_a_child_of_somebody_else_s_delegation(people: People) -> None:
    """Mallory hangs her own under Hana's root."""
    scene, root, _ = passed_on(people)
    own = people.delegate(people.mallory, people.aki)
    written(scene.target, "UPDATE delegations SET parent_id = ? WHERE id = ?", root, own)
    attack = Scene.create(people, people.mallory)
    attack.delegation_id = own
    assert attack.ask(attack.body(credentialId=scene.credential_id)).outcome == NO_DELEGATION
    assert attack.ask().outcome == NO_DELEGATION


def test_no_deeper_than_was_allowed(people: People) -> None:
    scene, _, _ = passed_on(people, maxDepth=0)
    cleo = people.target.stranger.holder()
    wish = {
        "holderDid": people.hana.did,
        "agentDid": cleo.did,
        "parentId": scene.delegation_id,
        "actions": ["zkp.prove.age.gte"],
        "autonomyLevel": 3,
        "expiresAt": later(HOUR / 2),
    }
    assert scene.act(scene.agent, "POST", "/delegations", "delegate", wish).status in (403, 422)


@pytest.mark.parametrize("state", ["revoked", "suspended", "exhausted"])
def test_status_of_ancestor_applies_to_descendants(people: People, state: str) -> None:
    scene, root, _ = passed_on(people)
    assert scene.ask().status == 201
    if state == "revoked":
        people.operate("POST", f"/delegations/{root}/revoke", {})
        expected = (410, "DELEGATION_REVOKED")
    elif state == "suspended":
        people.operate("POST", f"/delegations/{root}/suspend")
        expected = (403, "DELEGATION_NOT_ACTIVE")
    else:
        written(scene.target, "UPDATE delegations SET uses = max_uses WHERE id = ?", root)
        expected = (403, "DELEGATION_EXHAUSTED")
    assert scene.ask().outcome == expected


def test_the_uses_of_all_children_are_those_of_the_root(people: People) -> None:
    """Else who may pass on could give himself as many uses as he likes."""
    middle = people.target.stranger.holder()
    root = people.delegate(people.hana, middle, maxUses=4, autonomyLevel=5, maxDepth=1)
    scene = Scene.create(people)
    wish = {
        "holderDid": people.hana.did,
        "agentDid": people.aki.did,
        "parentId": root,
        "actions": ["zkp.prove.*.*"],
        "autonomyLevel": 3,
        "maxUses": 4,
        "maxRefusals": None,
        "maxThresholds": None,
        "expiresAt": later(HOUR),
    }
    children = [scene.act(middle, "POST", "/delegations", "delegate", wish).json["id"] for _ in range(4)]
    bodies = [scene.body(ibct=scene.token(delegationRef=child)) for child in children for _ in range(3)]
    answers = at_once(scene.target.wire, [partial(scene.ask, body) for body in bodies])
    outcomes = Counter(answer.outcome for answer in answers)
    assert outcomes == {(201, None): 4, (403, "DELEGATION_EXHAUSTED"): 8}
    assert scene.delegation(root)["uses"] == 4
