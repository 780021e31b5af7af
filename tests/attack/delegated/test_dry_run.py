"""checkDelegatedProof is not an oracle: it says the same of two requests where only the attribute, or what others have asked, differs."""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from typing import Any

import pytest

from tests.attack.delegated.scene import PROOFS, VALUES, People, Scene, proof_value
from tests.attack.stranger import Answer, Holder

AGE: int = VALUES["age"]
LEFT_BEHIND = ("invocations", "disclosures", "delegation_thresholds", "proofs", "timeline", "audit_lines")


def check(scene: Scene, body: Any, who: Holder | None = None) -> Answer:
    return scene.target.wire.call("POST", f"{PROOFS}/check", body, scene.authorize(who or scene.agent))


def stable_answer(answer: Answer) -> dict[str, Any]:
    assert answer.status == 200, answer.body
    assert answer.headers["cache-control"] == "no-store"
    body: dict[str, Any] = answer.json
    return body


def codes(answer: Answer) -> list[str]:
    return [one["code"] for one in stable_answer(answer)["reasons"]]


def count_rows(scene: Scene) -> list[int]:
    """How many rows there are of what a proof leaves behind."""
    with closing(sqlite3.connect(scene.target.data_dir / "identity.sqlite", timeout=60)) as connection:
        return [connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in LEFT_BEHIND]


def test_every_threshold_gets_same_octets_and_token_stays_good(scene: Scene) -> None:
    token, before = scene.token(), count_rows(scene)
    answers = {check(scene, scene.body(value=age, ibct=token)).body for age in (1, AGE, AGE + 1, 60, 149)}
    assert len(answers) == 1
    assert stable_answer(check(scene, scene.body(ibct=token)))["usable"] is True
    assert (scene.uses, scene.delegation()["refusals"], count_rows(scene)) == (0, 0, before)
    assert scene.ask(scene.body(value=AGE, ibct=token)).status == 201


def test_a_token_that_was_used_is_one_whatever_its_answer_was(scene: Scene) -> None:
    yes, no = scene.body(value=AGE), scene.body(value=AGE + 1)
    assert (scene.ask(yes).status, scene.ask(no).status) == (201, 422)
    answers = [check(scene, body) for body in (yes, no, yes | {"predicate": no["predicate"]})]
    assert codes(answers[0]) == ["IBCT_REPLAYED"]
    assert len({answer.body for answer in answers}) == 1


def test_dry_run_hides_requests_of_other_agents(people: People) -> None:
    """Where the limit of a credential is reached, what was asked before may be asked again; the check tells neither from the other."""
    scene = Scene.create(people)
    for age in (10, 11, 12):
        assert scene.ask(scene.body(value=age)).status == 201
    assert scene.ask(scene.body(value=13)).outcome == (403, "DISCLOSURE_LIMIT")
    old, new = (check(scene, scene.body(value=age)) for age in (11, 14))
    assert old.body == new.body
    assert stable_answer(old)["usable"] is True


def test_dry_run_without_token_discloses_nothing(scene: Scene) -> None:
    forged = scene.token(key=scene.people.mallory.key)
    there = scene.body(ibct=forged)
    elsewhere = forged | {"delegationRef": str(uuid.uuid4())}
    elsewhere["proofValue"] = proof_value(elsewhere, scene.people.mallory.key)
    answers = [
        check(scene, body) for body in (there, there | {"credentialId": "urn:uuid:none"}, there | {"ibct": elsewhere})
    ]
    assert codes(answers[0]) == ["IBCT_INVALID"]
    assert len({answer.body for answer in answers}) == 1
    assert "delegation" not in stable_answer(answers[0])
    assert check(scene, scene.body(), scene.people.mallory).outcome == (403, "FORBIDDEN")
    assert check(scene, scene.body(), scene.holder).outcome == (403, "FORBIDDEN")


def test_a_foreign_credential_is_as_one_that_is_not_there(scene: Scene) -> None:
    foreign = scene.people.issue(scene.people.mallory)
    answers = [check(scene, scene.body(credentialId=one)) for one in (foreign, f"urn:uuid:{uuid.uuid4()}")]
    assert codes(answers[0]) == ["CREDENTIAL_NOT_FOUND"]
    assert answers[0].body == answers[1].body


@pytest.mark.parametrize("state", ["revoked", "by hand"])
def test_a_delegation_that_is_over(people: People, state: str) -> None:
    scene = Scene.create(people, maxUses=4)
    assert stable_answer(check(scene, scene.body()))["delegation"]["usesLeft"] == 4
    if state == "revoked":
        scene.revoke()
    else:
        people.operate("POST", f"/delegations/{scene.delegation_id}/suspend")
    refused = scene.ask().code
    assert codes(check(scene, scene.body())) == [refused]
