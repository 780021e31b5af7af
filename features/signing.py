"""How the people of the stories sign in: DIDAuth for exactly one operation and body."""

from __future__ import annotations

from typing import Any

from features.world import Person, World
from identity_client import hash_body

# What each operation's challenge is for; all others read. Written down apart from the service, which must agree.
PURPOSES = {
    **dict.fromkeys(
        (
            "createCredentialSchema",
            "issueCredential",
            "importCredential",
            "setCredentialStatus",
            "createCredentialOffer",
        ),
        "credential",
    ),
    **dict.fromkeys(
        (
            "createDelegation",
            "revokeDelegation",
            "deleteDelegation",
            "suspendDelegation",
            "suspendDelegations",
            "resumeDelegation",
            "revokeIbct",
            "answerConsentRequest",
        ),
        "delegate",
    ),
    **dict.fromkeys(
        (
            "generateDelegatedProof",
            "createDelegatedPresentation",
            "revokeProof",
            "createConsentRequest",
            "createVerifierRequest",
        ),
        "prove",
    ),
    **dict.fromkeys(("eraseRecords", "deleteLabel", "cancelVerifierRequest"), "erase"),
    "setLabel": "label",
    "resetDisclosures": "disclosures",
    "rotateHolderSecret": "holder-secret",
}


def signature(world: World, person: Person, operation_id: str, body: Any = None) -> dict[str, str]:
    """The header of a person for exactly this operation and body; None is not a body."""
    purpose = PURPOSES.get(operation_id, "read")
    digest = None if body is None else hash_body(body)
    bound = {} if digest is None else {"body_hash": digest}
    text = world.challenge(person.did, purpose=purpose, **bound)
    return {"Authorization": person.signer().header(text, purpose=purpose, digest=digest)}


def call(world: World, name: str, operation_id: str, model: str = "", body: Any = None, **more: Any) -> Any:
    """A signed operation through the generated client. What is signed is what the client sends."""
    person = world.person(name)
    if body is None:
        return world.call(operation_id, headers=signature(world, person, operation_id), **more)
    made = world.model(model, body)
    return world.call(operation_id, headers=signature(world, person, operation_id, made.to_dict()), body=made, **more)
