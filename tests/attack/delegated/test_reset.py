"""The reset of disclosures as a way to more questions: forged, replayed, of another's credential, and while proofs are being made."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.attack.delegated.scene import People, Scene
from tests.attack.delegated.test_oracle import DISCLOSURES, NO, YES, Searcher
from tests.attack.stranger import PREFIX, Answer, Holder, at_once
from tests.attack.test_http_credentials import mint
from tests.attack.test_http_delegations import signed

RESETS = f"{PREFIX}/dashboard/disclosures"
OPEN: dict[str, Any] = {"maxRefusals": None, "maxThresholds": None}


def used_up(people: People) -> Searcher:
    """An agent that has asked all that it may."""
    who = Searcher(Scene.create(people, **OPEN), set(range(151)))
    assert [who.at_least(threshold) for threshold in (1, 2, 3, 4)] == [True, True, True, False]
    return who


def named(scene: Scene) -> dict[str, Any]:
    return {"credentialId": scene.credential_id}


def reset(scene: Scene, headers: dict[str, str], body: Any = None) -> Answer:
    return scene.target.wire.call("DELETE", RESETS, named(scene) if body is None else body, headers)


def by_holder(scene: Scene) -> dict[str, str]:
    return signed(scene.holder, "disclosures", named(scene))


def newcomer(scene: Scene, agent: Holder | None = None) -> Searcher:
    """Return an agent to which the holder delegates now."""
    people, agent = scene.people, agent or scene.target.stranger.holder()
    people.bearer(agent)
    delegation = people.delegate(scene.holder, agent, **OPEN)
    return Searcher(Scene(people, scene.credential_id, delegation, scene.holder, agent), set(range(151)))


def test_only_the_holder_signs_it(people: People) -> None:
    scene = used_up(people).scene
    unrelated = people.target.stranger.holder()
    for who, expected in ((scene.agent, 403), (people.ivo, 403), (unrelated, 404)):
        assert reset(scene, signed(who, "disclosures", named(scene))).status == expected
    stolen = signed(scene.agent, "disclosures", named(scene))["Authorization"]
    assert reset(scene, {"Authorization": stolen}).status == 403
    for headers in (
        {"X-API-Key": scene.target.stranger.api_key},
        {"X-API-Key": mint(scene.target, scopes=["records:erase"], allowedTargets=[scene.holder.did])},
        {},
    ):
        assert reset(scene, headers).outcome == (401, "AUTH_REQUIRED")
    for bearer in (scene.holder, scene.agent):
        assert reset(scene, scene.authorize(bearer)).outcome == (401, "AUTH_FAILED")
    assert not newcomer(scene).at_least(5)


def test_a_signature_is_for_this_for_this_credential_and_once(people: People) -> None:
    who = used_up(people)
    scene, other = who.scene, used_up(people).scene
    for purpose in ("read", "erase", "delegate", "prove", "credential", "token"):
        assert reset(scene, signed(scene.holder, purpose, named(scene))).outcome == (401, "AUTH_FAILED")
    assert reset(scene, by_holder(other)).outcome == (401, "AUTH_FAILED")
    assert not newcomer(scene).at_least(5)
    header = by_holder(scene)
    assert reset(scene, header).status == 200
    late = newcomer(scene)
    assert [late.at_least(threshold) for threshold in (5, 6, 7, 8)] == [True, True, True, False]
    assert reset(scene, header).outcome == (401, "AUTH_FAILED")
    assert not newcomer(scene).at_least(9), "nothing was reset a second time"


def test_reset_gives_earlier_agents_no_question(people: People) -> None:
    who = used_up(people)
    scene = who.scene
    again = newcomer(scene, scene.agent)
    for _ in range(2):
        assert reset(scene, by_holder(scene)).status == 200
        assert not who.at_least(5)
        assert not again.at_least(5)
        assert not newcomer(scene, scene.agent).at_least(5)
    assert newcomer(scene).at_least(5)


def test_odd_bodies_reset_nothing(people: People) -> None:
    scene = used_up(people).scene
    own = scene.credential_id
    for odd in ({}, [], {"credentialId": [own]}, {"credentialId": None}, named(scene) | {"at": "2020-01-01T00:00:00Z"}):
        assert reset(scene, signed(scene.holder, "disclosures", odd), odd).status in (400, 401), odd
    for strange in (f" {own}", own.upper(), f"{own}\0", "%", "*", "did:x:y"):
        body = {"credentialId": strange}
        assert reset(scene, signed(scene.holder, "disclosures", body), body).outcome == (404, "CREDENTIAL_NOT_FOUND")
    twice = b'{"credentialId":"' + own.encode() + b'","credentialId":"' + own.encode() + b'"}'
    assert reset(scene, by_holder(scene), twice).status in (400, 401)
    assert not newcomer(scene).at_least(5)


def test_reset_while_proofs_are_made_gives_old_agent_nothing(crowded: People) -> None:
    who = Searcher(Scene.create(crowded, **OPEN), set(range(151)))
    scene = who.scene
    assert who.at_least(1)
    bodies = [scene.body(value=value) for value in range(2, 14)]

    def resets() -> list[Answer]:
        return [reset(scene, by_holder(scene)) for _ in range(3)]

    done, *answers = at_once(scene.target.wire, [resets, *(partial(scene.ask, body) for body in bodies)])
    assert [answer.status for answer in done] == [200] * 3
    assert sum(answer.outcome in (YES, NO) for answer in answers) == DISCLOSURES - 1
    assert not who.at_least(30)
