"""What stories about verification send: Hana's proof, and a good request for every operation on it and on what it leaves behind."""

from __future__ import annotations

from typing import Any

from features.document import Operation
from features.proving import story
from features.steps.answers import body_of
from features.world import DRAFTS, Draft, World

SHOP = "https://shop.example"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
UNKNOWN_HOLDER = "did:ids:QmPdn589kkBJKooQMPRUHHsRXAUDJAqunTWzvoEFGy5t6P"
AGE = {"attributeName": "age", "type": "gte", "value": 18}


def proof_of(world: World) -> dict[str, Any]:
    """The answer that brought the story's proof, made when it is first asked for."""
    if "proof" not in world.notes:
        answer = story(world).ask()
        assert answer.status_code == 201, answer.content
        world.notes["proof"] = body_of(answer)
    made: dict[str, Any] = world.notes["proof"]
    return made


def question(world: World, **expected: Any) -> dict[str, Any]:
    """A ``VerifyProofRequest`` for the story's proof."""
    return proof_of(world)["proof"] | expected


BODIES: dict[str, Any] = {
    "verifyProof": question,
    "verifyStoredProof": lambda world: {"predicate": AGE},
    "revokeProof": lambda world: {"reason": "over"},
    "createVerifierChallenge": lambda world: {"domain": SHOP},
}


def drafted(world: World, operation: Operation) -> Draft:
    """Return the request of an operator."""
    path = operation.path
    if "{proofId}" in path:
        path = path.replace("{proofId}", proof_of(world)["proofId"])
    make = BODIES.get(operation.operation_id)
    body = None if make is None else make(world)
    return Draft(operation, path, headers=world.key_header(), body=body)


OF_A_HOLDER: dict[str, Any] = {
    "resetDisclosures": {"credentialId": f"urn:uuid:{UNKNOWN}"},
    "rotateHolderSecret": {"forgetFormer": False},
}


def _signed_by_hana(world: World, operation: Operation) -> Draft:
    """Return a request that only a holder may send, for an unknown credential until the story names one."""
    hana, body = world.new_person("Hana"), OF_A_HOLDER[operation.operation_id]
    return Draft(operation, operation.path, headers=world.signed(hana, operation.operation_id, body), body=body)


DRAFTS |= dict.fromkeys(OF_A_HOLDER, _signed_by_hana)
for _name in (
    "verifyProof", "verifyStoredProof", "getProof", "revokeProof", "createVerifierChallenge",
):  # fmt: skip
    DRAFTS[_name] = drafted
