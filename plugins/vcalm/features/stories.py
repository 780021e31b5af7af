"""Helpers of stories about VCALM: Ivo's credentials of bbs-2023, Hana's presentations, and a good request for every
operation."""

from __future__ import annotations

from typing import Any

from features.credentialing import issuer
from features.document import Operation
from features.formats import BREAKING_FORMAT, base58btc, data_integrity_input, sign
from features.world import DRAFTS, Draft, World
from tests import securing

CONTEXTS = ["https://www.w3.org/ns/credentials/v2", "https://www.w3.org/ns/credentials/undefined-terms/v2"]
DOMAIN = "https://verifier.example"
OWN_CHALLENGE = "a challenge of the verifier's own"


def disclosed(world: World, by: str = "Ivo", **changed: Any) -> dict[str, Any]:
    """A credential of bbs-2023 about Hana, of which she discloses her age. ``changed`` are members of the credential."""
    person = issuer(world, by)
    key = person.created["keys"]["assertionMethod"]
    claims = {
        "@context": CONTEXTS,
        "type": ["VerifiableCredential"],
        "issuer": person.did,
        "validFrom": "2026-01-01T00:00:00Z",
        "credentialSubject": {"id": world.person("Hana").did, "age": 24, "country": "Wakanda"},
    } | changed
    mandatory = [f"/{name}" for name in claims if name not in ("@context", "type", "credentialSubject")]
    pointers = ["/credentialSubject/age", "/credentialSubject/id"]
    return securing.disclosed(claims, key, mandatory=mandatory, pointers=pointers)


def presentation(world: World, challenge: str | None, credential: dict[str, Any], by: str = "Hana") -> dict[str, Any]:
    """A presentation that ``by`` has signed for the challenge and the verifier of the stories."""
    person = world.person(by)
    key = person.created["keys"]["authentication"]
    unsigned = {"@context": CONTEXTS[:1], "type": ["VerifiablePresentation"], "holder": person.did}
    unsigned["verifiableCredential"] = [credential]
    proof = {
        "type": "DataIntegrityProof",
        "cryptosuite": "eddsa-jcs-2022",
        "created": "2026-01-05T10:00:00Z",
        "verificationMethod": key["keyId"],
        "proofPurpose": "authentication",
        "@context": CONTEXTS[:1],
        "domain": DOMAIN,
    } | ({} if challenge is None else {"challenge": challenge})
    signature = sign(key["privateKey"], data_integrity_input(proof, unsigned))
    return unsigned | {"proof": proof | {"proofValue": base58btc(signature)}}


def _drafted(world: World, operation: Operation) -> Draft:
    draft = Draft(operation, operation.path)
    if operation.operation_id == "createVcalmChallenge":
        return draft
    # Where plugins break on demand, one that does is asked.
    breaks = world.kind in ("faulty", "hanging")
    credential = {"proof": {"cryptosuite": BREAKING_FORMAT}} if breaks else disclosed(world)
    if operation.operation_id == "verifyVcalmCredential":
        draft.body = {"verifiableCredential": credential}
    else:
        shown = presentation(world, OWN_CHALLENGE, credential)
        options = {"challenge": OWN_CHALLENGE, "domain": DOMAIN}
        draft.body = {"verifiablePresentation": shown, "options": options}
    return draft


for _name in ("verifyVcalmCredential", "verifyVcalmPresentation", "createVcalmChallenge"):
    DRAFTS[_name] = _drafted
