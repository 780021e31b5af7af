"""The status of a credential after a proof: reported to the parties; reported as unchecked to all others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.attack.delegated.scene import Json, People, Scene, envelope_of, in_two_minutes, printed, stable_refusal
from tests.attack.stranger import PREFIX, Answer
from tests.fault.turned_service import Turned

SHOP = "https://shop.example"
NEVER = {"holder", "credentialValidity", "credentialStatus", "revocation"}


def make_proof(scene: Scene, **more: Any) -> Json:
    answer = scene.ask(scene.body(**more))
    assert answer.status == 201, answer.body
    proof: Json = answer.json["proof"]
    return proof


def verify_shown(scene: Scene, proof: Json, headers: dict[str, str] | None = None, **expected: Any) -> Answer:
    """What a verifier is told who sends the proof, a stranger where there are no ``headers``."""
    return scene.target.wire.call("POST", f"{PREFIX}/zkp/proofs/verify", proof | expected, headers)


def verify_stored(scene: Scene, proof: Json, headers: dict[str, str]) -> Answer:
    """What a verifier is told who names the proof."""
    return scene.target.wire.call("POST", f"{PREFIX}/zkp/proofs/{proof['proofId']}/verify", {}, headers)


def everywhere(scene: Scene, proof: Json, headers: dict[str, str]) -> list[tuple[bool, list[str]]]:
    told = [answer.json for answer in (verify_shown(scene, proof, headers), verify_stored(scene, proof, headers))]
    return [(one["verified"], one["errors"]) for one in told]


def fall(scene: Scene, purpose: str) -> None:
    """The issuer revokes or suspends the credential."""
    body = {"purpose": purpose, "value": True}
    scene.people.operate("POST", f"/credentials/{scene.credential_id}/status", body)


@pytest.mark.parametrize(
    ("purpose", "code"), [("revocation", "CREDENTIAL_REVOKED"), ("suspension", "CREDENTIAL_SUSPENDED")]
)
def test_a_fallen_credential_is_told_or_said_to_be_unchecked(people: People, purpose: str, code: str) -> None:
    scene = Scene.create(people)
    proof = make_proof(scene)
    fall(scene, purpose)
    for who in (scene.holder, scene.agent):
        assert everywhere(scene, proof, scene.authorize(who)) == [(False, [code])] * 2
    operator = {"X-API-Key": scene.target.stranger.api_key}
    assert everywhere(scene, proof, operator) == [(False, [code])] * 2
    for answer in (
        verify_shown(scene, proof),
        *(ask(scene, proof, scene.authorize(people.mallory)) for ask in (verify_shown, verify_stored)),
    ):
        assert answer.json["verified"] is True
        assert set(answer.json["unchecked"]) >= NEVER


def test_a_credential_that_has_expired(mortals: People, turned: Turned) -> None:
    """The proof remains valid for longer, and does not report the expiry."""
    scene = Scene.create(mortals)
    end = in_two_minutes()
    claims = {
        "issuerDid": mortals.ivo.did,
        "holderDid": scene.holder.did,
        "schemaId": mortals.schema_id,
        "attributes": {"age": 37, "income": 1, "country": "Wakanda", "birthDate": "1988-02-29", "member": True},
        "validUntil": printed(end),
    }
    scene.credential_id = mortals.operate("POST", "/credentials", claims)["id"]
    proof = make_proof(scene)
    bearers = {who.did: scene.authorize(who) for who in (scene.holder, scene.agent, mortals.mallory)}
    turned.stop(end - timedelta(microseconds=1))
    assert everywhere(scene, proof, bearers[scene.holder.did]) == [(True, [])] * 2
    turned.stop(end)
    for who in (scene.holder, scene.agent):
        assert everywhere(scene, proof, bearers[who.did]) == [(False, ["CREDENTIAL_EXPIRED"])] * 2
    assert set(verify_shown(scene, proof).json["unchecked"]) >= NEVER
    assert everywhere(scene, proof, bearers[mortals.mallory.did]) == [(True, [])] * 2


def test_an_id_follows_no_holder(people: People) -> None:
    """A stranger who has proof and id asks again and again, and reads in no answer that anything has changed."""
    scene = Scene.create(people)
    proof = make_proof(scene)
    mallory = scene.authorize(people.mallory)

    def sight() -> list[Any]:
        answers = (
            verify_shown(scene, proof),
            verify_shown(scene, proof, mallory),
            verify_stored(scene, proof, mallory),
        )
        told = [answer.json for answer in answers]
        for one in told:
            one.pop("verifiedAt", None)
        return told

    before = sight()
    assert all(one["verified"] for one in before)
    fall(scene, "suspension")
    assert sight() == before
    fall(scene, "revocation")
    assert sight() == before
    assert scene.act(scene.holder, "POST", f"/zkp/proofs/{proof['proofId']}/revoke", "prove", {}).status == 200
    scene.revoke()
    assert sight() == before


def test_after_its_end_a_proof_is_expired_for_everybody(mortals: People, turned: Turned) -> None:
    scene = Scene.create(mortals)
    vera = scene.authorize(mortals.mallory)
    challenge = scene.target.wire.call("POST", f"{PREFIX}/challenges", {"domain": SHOP}, vera).json["challenge"]
    answer = scene.ask(scene.body(challenge=challenge, domain=SHOP))
    proof: Json = answer.json["proof"]
    fall(scene, "revocation")
    assert everywhere(scene, proof, vera) == [(False, ["CREDENTIAL_REVOKED"])] * 2
    operator = {"X-API-Key": scene.target.stranger.api_key}
    turned.stop(datetime.fromtimestamp(envelope_of(proof)["context"]["expiresAt"], UTC))
    scene.people.forget_tokens()
    for headers in ({}, operator, *(scene.authorize(who) for who in (scene.holder, scene.agent, mortals.mallory))):
        told = verify_shown(scene, proof, headers).json
        assert (told["verified"], "PROOF_EXPIRED" in told["errors"]) == (False, True)
        assert not {"CREDENTIAL_REVOKED", "PROOF_REVOKED"} & {*told["errors"], *told["warnings"]}
        if headers:
            told = verify_stored(scene, proof, headers).json
            assert (told["errors"], told["warnings"]) == (["PROOF_EXPIRED"], [])
            assert told.get("anchor") is None


def test_a_proof_is_as_young_as_the_verifier_wants_it(mortals: People, turned: Turned) -> None:
    scene = Scene.create(mortals)
    start = in_two_minutes()
    turned.stop(start)
    scene.people.forget_tokens()
    proof = make_proof(scene, ibct=scene.token())
    assert "maxAge" in verify_shown(scene, proof).json["unchecked"]
    for seconds, errors in ((300, []), (301, ["PROOF_TOO_OLD"])):
        turned.stop(start + timedelta(seconds=seconds))
        told = verify_shown(scene, proof, maxAge=300).json
        assert told["errors"] == errors
        assert "maxAge" not in told["unchecked"]
    refused = verify_shown(scene, proof, maxAge=-1)
    assert refused.outcome == (400, "INVALID_REQUEST")
    assert stable_refusal(refused)[1]["error"]["details"]["errors"][0]["path"] == "/maxAge"
