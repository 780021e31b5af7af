"""Holders whose wallets keep the secret that their credentials are bound to agree to proofs."""

from __future__ import annotations

import uuid
from typing import Any

from identity_bound_credentials.handover import hand_over
from pytest_bdd import given, then, when

from features.proving import ATTRIBUTES, ISSUER, SCHEMA, VALUES, Proving, story
from features.signing import call
from features.steps.answers import body_of
from features.verifying import AGE, SHOP
from features.world import World
from tests.wallets import HomeWallet

CHALLENGE = "a challenge of the shop's"
OLDER = AGE | {"value": 21}


def _agents_key(world: World) -> str:
    key: str = world.people["Aki"].created["keys"]["authentication"]["publicKey"]
    return key


# Given


@given("Hana's credential is bound to the secret in her wallet")
def kept_by_wallet(world: World) -> None:
    proving, wallet = Proving(world), HomeWallet()
    world.notes["presents"] = True
    world.notes["proving"] = proving
    key = world.new_person("Ivo", ISSUER).created["keys"]["assertionMethod"]
    proving.schema_ids.append(f"{SCHEMA}/{uuid.uuid4()}")
    schema = {"id": proving.schema_ids[0], "attributes": ATTRIBUTES}
    proving.operate("createCredentialSchema", "CreateCredentialSchemaRequest", schema)
    held = wallet.obtained(key, world.person("Hana").did, schema, VALUES)
    proving.operate("importCredential", "ImportCredentialRequest", held.body)
    world.person("Aki")
    proving.credential_id, proving.delegation_id = held.particulars.id, proving.delegate()
    proving.body |= {"challenge": CHALLENGE, "domain": SHOP}
    world.notes["wallet"] = (wallet, held)


@given("she agrees to the request that Aki will send")
def agrees_to_request(world: World) -> None:
    wallet, held = world.notes["wallet"]
    story(world).body["holderConsent"] = wallet.agrees(held, AGE, SHOP, CHALLENGE)


@given("she agrees in advance to what Aki's key hands over")
def agrees_in_advance(world: World) -> None:
    wallet, held = world.notes["wallet"]
    story(world).body["holderConsent"] = wallet.agrees(held, AGE, SHOP, agent_key=_agents_key(world))


# When


@when("Aki asks for a proof of hers")
def asks(world: World) -> None:
    answer = story(world).ask()
    if answer.status_code == 201:
        world.notes["proof"] = body_of(answer)


@when("Aki asks for a proof that she is 21 in its place")
def asks_more(world: World) -> None:
    proving = story(world)
    proving.predicate = OLDER
    proving.ask()


@when("Aki signs it for Vera")
def signs(world: World) -> None:
    proof, signer = world.notes["proof"]["proof"], world.people["Aki"].signer()
    proof["proof"] = hand_over(proof["proof"], signer, audience=SHOP, challenge=CHALLENGE)


@when("Vera has the stored proof verified")
def stored_verified(world: World) -> None:
    expected, proof_id = {"consentCover": 13, "agentKey": _agents_key(world)}, world.notes["proof"]["proofId"]
    call(world, "Vera", "verifyStoredProof", "VerifyStoredProofRequest", expected, proof_id=proof_id)


# Then


def _accepted(world: World, **expected: Any) -> None:
    asked = {"predicate": AGE, "domain": SHOP, "challenge": CHALLENGE, "requires": ["holder"]} | expected
    call(world, "Vera", "verifyProof", "VerifyProofRequest", world.notes["proof"]["proof"] | asked)
    verdict = body_of(world.answer)
    assert verdict["verified"] is True, verdict["checks"]
    assert {"holder", "challenge", "domain"}.isdisjoint(verdict["unchecked"])


@then("Vera, who expects a consent to her challenge, accepts it")
def accepted_with_consent(world: World) -> None:
    _accepted(world, consentCover=7)


@then("Vera, who expects a consent to Aki's key, accepts it")
def accepted_handed_over(world: World) -> None:
    _accepted(world, consentCover=13, agentKey=_agents_key(world))
