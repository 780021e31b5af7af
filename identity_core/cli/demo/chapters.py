"""Chapters 1 to 4: Hana's DID, Ivo's credential, the delegation, and the proof that Aki obtains."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from identity_core.cli.demo.participants import SHOP, Participants, Person, anchor_text
from identity_core.cli.demo.story import Story, attempted
from identity_core.client import Signer, ibct
from identity_core.domain import keys
from identity_core.domain.times import printed
from identity_core.errors import JsonValue

_DID: Final = {
    "method": "ids",
    "keyType": "Ed25519",
    "options": {
        "additionalKeys": [{"type": "X25519KeyAgreementKey2020", "purpose": ["keyAgreement"]}],
        "serviceEndpoints": [{"type": "DIDCommMessaging", "serviceEndpoint": "https://agent.example/didcomm"}],
        "recoveryKey": True,
    },
}
_ATTRIBUTES: Final[list[dict[str, Any]]] = [
    {"name": "name", "type": "string"},
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 150},
    {"name": "country", "type": "string"},
]
_VALUES: Final = {"name": "Hana Tanaka", "age": 24, "country": "JP"}
_ISSUER: Final = {
    "method": "ids",
    "options": {
        "additionalKeys": [{"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}],
        "storeSecrets": True,
    },
}
ADULT: Final[dict[str, JsonValue]] = {"attributeName": "age", "type": "gte", "value": 18}
COUNTRY: Final = ("country", "set_member")
DELEGATED_PROOFS: Final = "/zkp/delegated-proofs"
_ANCHORED: Final = {"anchor": True, "syncWaitMs": 5_000}


def a_did(story: Story, people: Participants) -> None:
    """Leaves Hana with the key that she recovered by."""
    session = people.session
    created = story.tell(
        "Hana creates a DID with two keys, a service and a recovery key",
        lambda: session.create(_DID),
        lambda body: f"{body['did']}, block {body['blockNumber']}",
    )
    did, hana = created["did"], people.person(created).signer
    story.tell("Anybody resolves it", lambda: session.resolve(did), version_text)
    _change_and_replay(story, people, hana)
    hana = _rotate(story, people, hana, created)
    story.tell("Version 1 is still there", lambda: session.resolve(did, versionId=1), version_text)
    recovery = Signer(did, created["keys"]["recovery"]["privateKey"])
    people.hana = Person(session, _recover(story, people, recovery))


def version_text(body: dict[str, Any]) -> str:
    """A resolution in words."""
    document = body["didDocument"]
    version = body["didDocumentMetadata"]["versionId"]
    services = ", ".join(service["type"] for service in document.get("service", []))
    return f"version {version}: {len(document['verificationMethod'])} keys, {services or 'no service'}"


def _change_and_replay(story: Story, people: Participants, hana: Signer) -> None:
    session, path = people.session, f"/dids/{quote(hana.did, safe='')}"
    service = {"id": "files", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
    story.tell(
        "Hana adds a service; her signature is bound to exactly this body",
        lambda: session.update(hana.did, {"operation": "addService", "service": service}, hana),
        lambda body: f"version {body['versionId']}, transaction {body['transactionHash'][:16]}…",
    )
    # A challenge that is bound to nothing is the worst case: anyone who sees the header could use it for any change.
    header = {"Authorization": hana.header(session.challenge(hana.did)["challenge"])}
    body = {"operation": "removeService", "serviceId": "files"}
    story.tell(
        "She removes it again, with a challenge that is bound to nothing",
        lambda: session.call("PATCH", path, body=body, headers=header),
        lambda answer: f"version {answer['versionId']}",
    )
    story.refused(
        "Mallory replays her header", lambda: session.call("PATCH", path, body=body, headers=header), "AUTH_FAILED"
    )


def _rotate(story: Story, people: Participants, hana: Signer, created: dict[str, Any]) -> Signer:
    end = printed(datetime.now(UTC) + timedelta(days=7))
    old = created["keys"]["authentication"]["keyId"]
    rotated = story.tell(
        "Hana rotates her key; the old one stays for a week of grace",
        lambda: people.session.rotate(
            hana.did, {"oldKeyId": old, "newKeyType": "Ed25519", "revokeOldAfter": end}, hana
        ),
        lambda body: f"old key valid until {body['gracePeriodEnd']}",
    )
    story.refused(
        "The old key may not end the DID any more",
        lambda: people.session.deactivate(hana.did, {"confirm": True, "reason": "stolen"}, hana),
        "FORBIDDEN",
    )
    return Signer(hana.did, rotated["newKey"]["privateKey"])


def _recover(story: Story, people: Participants, recovery: Signer) -> Signer:
    pair = keys.generate("Ed25519", os.urandom)
    body = {
        "newAuthenticationKey": {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": pair.public},
        "revokeAllExistingKeys": True,
    }
    story.tell(
        "Her laptop is stolen: the recovery key brings the DID back and drops every other key",
        lambda: people.session.recover(recovery.did, body, recovery),
        lambda answer: f"version {answer['versionId']}, a new recovery key was issued",
    )
    return Signer(recovery.did, pair.secret)


def a_credential(story: Story, people: Participants) -> None:
    """Leaves everybody with a DID, and the credential."""
    session = people.session
    ivo, aki, vera = story.tell(
        "Ivo, Aki and Vera create DIDs; the service keeps Ivo's signing key for him",
        lambda: [session.create(_ISSUER), session.create({"method": "ids"}), session.create({"method": "ids"})],
        lambda made: f"Ivo is {made[0]['did']}, with a Bls12381G2Key2020 key",
    )
    people.ivo, people.aki, people.vera = people.person(ivo), people.person(aki), people.person(vera)
    schema = story.tell(
        "Ivo registers what his credentials say",
        lambda: people.ivo.ask("POST", "/credential-schemas", {"attributes": _ATTRIBUTES}),
        lambda body: ", ".join(f"{one['name']} ({one['type']})" for one in body["attributes"]),
    )
    people.schema_id = schema["id"]
    statement = {
        "issuerDid": people.ivo.did,
        "holderDid": people.hana.did,
        "schemaId": people.schema_id,
        "attributes": _VALUES,
    }
    issued = story.tell(
        "Ivo issues Hana a credential; one BBS signature covers all values",
        lambda: people.ivo.ask("POST", "/credentials", statement),
        lambda body: f"{body['id']}, {body['status']}",
    )
    people.credential_id = issued["id"]
    path = f"/credentials/{quote(people.credential_id, safe='')}"
    story.tell(
        "Hana reads it",
        lambda: people.hana.ask("GET", path),
        lambda body: ", ".join(f"{name} {body['credential']['credentialSubject'][name]}" for name in _VALUES),
    )
    story.refused("For Vera it does not exist", lambda: people.vera.ask("GET", path), "CREDENTIAL_NOT_FOUND")


def a_delegation(story: Story, people: Participants) -> None:
    """Leaves a request that Aki may send."""
    challenge = story.tell(
        "Vera takes a challenge: what she is shown must be made for her, and now",
        lambda: people.vera.ask("POST", "/challenges", {"domain": SHOP}),
        lambda body: f"{body['challenge'][:24]}… for {body['domain']}",
    )
    people.challenge = challenge["challenge"]
    made = story.tell(
        "Hana delegates to Aki: whether she is 18, fixed, and any question about her country",
        lambda: people.hana.ask("POST", "/delegations", _terms(people)),
        lambda body: (
            f"autonomy {body['autonomyLevel']}, {body['maxUses']} uses, {body['maxRefusals']} wrong guess at most"
        ),
    )
    people.delegation_id = made["id"]
    token = story.tell(
        "At home, Hana signs a token for one use of it",
        lambda: signed(people, ibct.action_text("age", "gte", pin=18)),
        lambda token: f"{token['action']}, until {token['expiresAt']}",
    )
    people.request = ibct.proof_request(token, people.credential_id, value=18, challenge=people.challenge, domain=SHOP)


def signed(people: Participants, action: str) -> dict[str, str]:
    """A token of Hana's for Aki."""
    return ibct.issue(
        people.hana.signer, ibct.IbctTemplate(people.aki.did, action, people.delegation_id, timedelta(hours=1))
    )


def _terms(people: Participants) -> dict[str, Any]:
    return {
        "holderDid": people.hana.did,
        "agentDid": people.aki.did,
        "predicates": [{"attributeName": "age", "type": "gte", "values": [18]}],
        "actions": [ibct.action_text(*COUNTRY)],
        "credentialIds": [people.credential_id],
        "verifiers": [SHOP],
        # A value that the agent chooses needs 3, and so does an anchor on a fixed one.
        "autonomyLevel": 3,
        "maxUses": 5,
        "expiresAt": printed(datetime.now(UTC) + timedelta(days=30)),
        "purpose": "buying at Vera's",
    }


def a_proof(story: Story, people: Participants) -> None:
    """Leaves the answer that brought the proof."""
    probed = story.tell(
        "Aki asks for the proof, and for an anchor on the ledger",
        lambda: attempted(lambda: people.aki.ask("POST", DELEGATED_PROOFS, people.request | _ANCHORED)),
        _anchored_text,
        promise=lambda outcome: outcome["code"] in ("none", "ANCHORING_DISABLED"),
    )
    people.is_anchored = probed["code"] == "none"
    if people.is_anchored:
        people.request |= _ANCHORED
        people.proved = probed["answer"]
    else:
        people.proved = story.tell(
            "So Aki asks without; a refusal before the proof spends nothing",
            lambda: people.aki.ask("POST", DELEGATED_PROOFS, people.request),
            _proof_text,
        )
    story.tell(
        "The answer is lost; Aki sends the same again",
        lambda: people.aki.ask("POST", DELEGATED_PROOFS, people.request),
        lambda body: f"the same proof {body['proofId']}, nothing spent",
        promise=lambda body: body["proof"] == people.proved["proof"],
    )


def _anchored_text(outcome: dict[str, Any]) -> str:
    if outcome["code"] == "ANCHORING_DISABLED":
        return f"this service does not anchor: {outcome['status']} {outcome['code']}"
    return (
        _proof_text(outcome["answer"])
        if outcome["code"] == "none"
        else f"refused: {outcome['status']} {outcome['code']}"
    )


def _proof_text(body: dict[str, Any]) -> str:
    size = len(body["proof"]["proof"])
    return f"proof {body['proofId']}, {size:,} characters, {anchor_text(body.get('anchor'))}"
