"""Proofs in wrong hands: shown to another verifier, edited, mixed, asked for by strangers (openapi/DECISIONS.md §4.9)."""

from __future__ import annotations

import base64
import json
import random
import uuid
from typing import Any

import pytest

from tests.attack.delegated.scene import AGE, Json, People, Scene, envelope_of, stable_refusal
from tests.attack.stranger import PREFIX, Answer, base64url, rounds

SHOP = "https://shop.example"
CHALLENGE = "the challenge of the shop"
VERIFY = f"{PREFIX}/zkp/proofs/verify"


def make_proof(scene: Scene, **more: Any) -> Json:
    answer = scene.ask(scene.body(challenge=CHALLENGE, domain=SHOP, **more))
    assert answer.status == 201, answer.body
    proof: Json = answer.json
    return proof


def verdict(scene: Scene, proof: Json, **expected: Any) -> Json:
    """What anybody is told, without a credential."""
    answer = scene.target.wire.call("POST", VERIFY, proof | expected)
    assert answer.status == 200, answer.body
    told: Json = answer.json
    return told


def closed(envelope: Json) -> Json:
    return {
        "proof": base64url(json.dumps(envelope, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())
    }


def test_a_good_proof_for_whom_it_was_made(scene: Scene) -> None:
    proof = make_proof(scene)["proof"]
    told = verdict(
        scene,
        proof,
        challenge=CHALLENGE,
        domain=SHOP,
        predicate=AGE,
        issuerDid=scene.people.ivo.did,
        schemaId=scene.people.schema_id,
    )
    assert (told["verified"], told["errors"]) == (True, [])
    # What a proof cannot say, and a verifier who has no part in it is not told.
    unsaid = {"maxAge", "holder", "credentialValidity", "credentialStatus", "revocation"}
    assert set(told["unchecked"]) == unsaid
    assert verdict(scene, closed(envelope_of(proof)))["verified"] is True
    # Whom it is about stands nowhere in it.
    assert scene.holder.did not in json.dumps([told, envelope_of(proof)])
    assert scene.agent.did not in json.dumps([told, envelope_of(proof)])


def test_shown_to_another_verifier(scene: Scene) -> None:
    proof = make_proof(scene)["proof"]
    for expected, code in (
        ({"domain": "https://bank.example"}, "DOMAIN_MISMATCH"),
        ({"domain": SHOP + "/"}, "DOMAIN_MISMATCH"),
        ({"challenge": "the challenge of a bank"}, "CHALLENGE_MISMATCH"),
        ({"predicate": AGE | {"value": 21}}, "PREDICATE_MISMATCH"),
        ({"predicate": AGE | {"type": "gt"}}, "PREDICATE_MISMATCH"),
        ({"issuerDid": scene.people.mallory.did}, "ISSUER_MISMATCH"),
        ({"schemaId": "https://schemas.example/other"}, "SCHEMA_MISMATCH"),
    ):
        told = verdict(scene, proof, **expected)
        assert told["verified"] is False
        assert told["errors"] == [code]


def test_without_a_challenge_it_is_bound_to_the_nonce(scene: Scene) -> None:
    body = scene.body()
    proof = scene.ask(body).json["proof"]
    assert verdict(scene, proof, challenge=body["ibct"]["nonce"])["verified"] is True
    assert verdict(scene, proof, challenge=scene.unsigned()["nonce"])["errors"] == ["CHALLENGE_MISMATCH"]
    assert verdict(scene, proof, domain=scene.target.wire.url)["verified"] is True


def test_every_public_signal_edited(scene: Scene) -> None:
    proof = make_proof(scene)["proof"]
    signals = proof["publicSignals"]
    assert len(signals) == 8
    for place in range(len(signals)):
        edited = [*signals[:place], signals[place] + "A", *signals[place + 1 :]]
        assert verdict(scene, proof, publicSignals=edited)["errors"] == ["PUBLIC_SIGNALS_MISMATCH"]
    for edited in (signals[:-1], [*signals, "x"], list(reversed(signals)), []):
        assert verdict(scene, proof, publicSignals=edited)["verified"] is False
    assert verdict(scene, proof, predicateType="lte")["verified"] is False
    assert verdict(scene, proof, proofId=str(uuid.uuid4()))["verified"] is False


def edits_of_suite_1(envelope: Json, scene: Scene) -> list[Json]:
    shown = envelope["predicates"][0]
    method = envelope["verificationMethod"].replace(scene.people.ivo.did, scene.people.mallory.did)
    return [*({"predicates": asked} for asked in asked_instead(shown)), {"version": 2}, {"verificationMethod": method}]


def edits_of_suite_2(envelope: Json, scene: Scene) -> list[Json]:
    question, consent = envelope["question"], envelope["consent"]
    (asked,), (part,), (gap,) = question["credentials"], envelope["parts"], envelope["status"]
    method = asked["issuer"].replace(scene.people.ivo.did, scene.people.mallory.did)
    credentials = [
        *(asked | {"predicates": predicates} for predicates in asked_instead(asked["predicates"][0])),
        asked | {"issuer": method},
    ]
    questions: list[Json] = [
        *({"credentials": [one]} for one in credentials),
        {"credentials": [asked, asked]},
        {"holder": "plain"},
        {"holder": "none"},
        {"pseudonym": "https://shop.example"},
        {"status": False},
        {"validity": False},
        {"either": [[0, 0]]},
        {"same": [[[0, "age"], [0, "income"]]]},
    ]
    later = consent["notAfter"] + 3_600
    return [
        *({"question": question | change} for change in questions),
        *({"consent": consent | change} for change in ({"cover": 6}, {"cover": 31}, {"notAfter": later})),
        *({"consent": None}, {"argument": ""}, {"day": envelope["day"] + 1}, {"day": None}, {"version": 1}),
        *({"status": []}, {"status": [gap, gap]}, {"status": [part]}, {"parts": [gap]}, {"parts": [part, part]}),
        *({"sets": [envelope["argument"]]}, {"disclosed": [[0, 6, "AA"]]}, {"pseudonym": "AA"}),
        {"agent": {"key": base64url(bytes(32)), "signature": base64url(bytes(64))}},
    ]


def asked_instead(shown: Json) -> list[list[Json]]:
    """Other predicates than the one that was asked."""
    changes: list[Json] = [{"value": 36}, {"type": "lte"}, {"attributeName": "income"}]
    return [*([shown | change] for change in changes), [shown, shown], []]


@pytest.mark.parametrize("suite", [1, 2])
def test_every_member_of_the_envelope_edited(people: People, suite: int) -> None:
    scene = Scene.create(people, suite=suite)
    envelope = envelope_of(make_proof(scene)["proof"])
    own = edits_of_suite_1 if suite == 1 else edits_of_suite_2
    edits = [envelope | change for change in (*own(envelope, scene), {"suite": "other"}, {"extra": 1})]
    edits += [
        envelope | {"context": envelope["context"] | change}
        for change in (
            {"audience": "https://bank.example"},
            {"nonce": base64url(b"another nonce of some length")},
            {"expiresAt": envelope["context"]["expiresAt"] + 86_400},
            {"issuedAt": envelope["context"]["issuedAt"] - 1},
            {"proofId": str(uuid.uuid4())},
            {"agent": scene.agent.did},
        )
    ]
    for edited in edits:
        told = verdict(scene, closed(edited))
        assert told["verified"] is False
        assert told["errors"]


def test_parts_of_two_proofs_make_no_third(people: People) -> None:
    """Another credential of the same holder, another holder's, another question."""
    scene = Scene.create(people)
    mine = envelope_of(make_proof(scene)["proof"])
    other = Scene.create(people, people.mallory)
    others = [make_proof(other)["proof"], make_proof(scene, about=("age", "lte", 65))["proof"]]
    scene.credential_id = people.issue(people.hana, age=99)
    others.append(make_proof(scene)["proof"])
    for proof in others:
        theirs = envelope_of(proof)
        for name in mine:
            if mine[name] != theirs[name]:
                assert verdict(scene, closed(mine | {name: theirs[name]}))["verified"] is False, name
    # The envelope of one with the signals of another.
    assert verdict(scene, others[0], publicSignals=others[1]["publicSignals"])["verified"] is False


def test_octets_flipped_anywhere(scene: Scene) -> None:
    text = make_proof(scene)["proof"]["proof"]
    dice = random.Random(20260105)
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    for _ in range(rounds(60)):
        flipped = bytearray(data)
        flipped[dice.randrange(len(flipped))] ^= 1 << dice.randrange(8)
        assert verdict(scene, {"proof": base64url(bytes(flipped))})["verified"] is False


@pytest.mark.parametrize(("method", "act", "body"), [("GET", "", None), ("POST", "/revoke", {})])
def test_a_foreign_proof_is_an_absent_one(scene: Scene, method: str, act: str, body: Any) -> None:
    proof_id = make_proof(scene)["proofId"]

    def ask(name: str) -> Answer:
        path = f"{PREFIX}/zkp/proofs/{name}{act}"
        return scene.target.wire.call(method, path, body, scene.authorize(scene.people.mallory))

    foreign = ask(proof_id)
    assert foreign.outcome == (404, "PROOF_NOT_FOUND")
    for name in (str(uuid.uuid4()), "x", "..%2f..%2fhealth", "%00"):
        absent = ask(name)
        assert absent.status == 400 or stable_refusal(absent) == stable_refusal(foreign)


def test_revoked_proof_stays_revoked_after_repetition(scene: Scene) -> None:
    body = scene.body()
    proof = scene.ask(body).json
    path = f"/zkp/proofs/{proof['proofId']}"
    stored = f"{PREFIX}{path}/verify"
    vera = scene.authorize(scene.people.mallory)
    assert scene.target.wire.call("POST", stored, {}, vera).json["verified"] is True
    assert scene.act(scene.holder, "POST", f"{path}/revoke", "prove", {}).status == 200
    assert scene.ask(body).json["proofId"] == proof["proofId"]
    told = scene.target.wire.call("POST", stored, {}, scene.authorize(scene.people.hana)).json
    assert (told["verified"], told["errors"]) == (False, ["PROOF_REVOKED"])
    # A client that is not a party learns what the proof alone states, and that nothing further was checked.
    told = scene.target.wire.call("POST", stored, {}, vera).json
    assert told["verified"] is True
    assert "revocation" in told["unchecked"]
