"""Chapters 1 to 4: Hana's DID, Ivo's credential, the delegation, and the proof that Aki obtains."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from identity_core.cli.demo.participants import SHOP, Participants, Person, anchor_text
from identity_core.cli.demo.story import Story, attempted, refusal_text
from identity_core.cli.wallet import make_key, public_half
from identity_core.client import Signer, ibct
from identity_core.codec.times import printed
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
_SCHEMA: Final = {
    "attributes": [
        {"name": "name", "type": "string"},
        {"name": "age", "type": "integer", "minimum": 0, "maximum": 150},
        {"name": "country", "type": "string"},
    ]
}
_VALUES: Final = {"name": "Hana Tanaka", "age": 24, "country": "JP"}
_BBS_KEY: Final = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
_ISSUER: Final = {"method": "ids", "options": {"additionalKeys": [_BBS_KEY], "storeSecrets": True}}
_PERSON: Final = {"method": "ids"}
_STOLEN: Final = {"confirm": True, "reason": "stolen"}
_FILES: Final = {"id": "files", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
_ADDED: Final = {"operation": "addService", "service": _FILES}
ADULT: Final[dict[str, JsonValue]] = {"attributeName": "age", "type": "gte", "value": 18}
COUNTRY: Final = ("country", "set_member")
DELEGATED_PROOFS: Final = "/zkp/delegated-proofs"
_ANCHORED: Final = {"anchor": True, "syncWaitMs": 5_000}


def a_did(story: Story, people: Participants) -> None:
    """Leaves Hana with the key that she recovered by."""
    session = people.session
    title = "Hana creates a DID with two keys, a service and a recovery key"
    created = story.tell(title, "{did}, block {blockNumber}", session.create, _DID)
    did, hana = created["did"], people.person(created).signer
    story.tell("Anybody resolves it", version_text, session.resolve, did)
    _change_and_replay(story, people, hana)
    _rotate(story, people, hana, created)
    story.tell("Version 1 is still there", version_text, lambda: session.resolve(did, versionId=1))
    people.hana = Person(session, _recover(story, people, Signer(did, created["keys"]["recovery"]["privateKey"])))


def version_text(body: dict[str, Any]) -> str:
    """A resolution in words."""
    document = body["didDocument"]
    version = body["didDocumentMetadata"]["versionId"]
    services = ", ".join(service["type"] for service in document.get("service", []))
    return f"version {version}: {len(document['verificationMethod'])} keys, {services or 'no service'}"


def _change_and_replay(story: Story, people: Participants, hana: Signer) -> None:
    session, path = people.session, f"/dids/{quote(hana.did, safe='')}"
    title = "Hana adds a service; her signature is bound to exactly this body"
    said = "version {versionId}, transaction {transactionHash:.16}…"
    story.tell(title, said, session.update, hana.did, _ADDED, hana)
    # A challenge that is bound to nothing is the worst case: anyone who sees the header could use it for any change.
    header = {"Authorization": hana.header(session.challenge(hana.did)["challenge"])}
    body = {"operation": "removeService", "serviceId": "files"}

    def remove() -> Any:
        return session.call("PATCH", path, body=body, headers=header)

    story.tell("She removes it again, with a challenge that is bound to nothing", "version {versionId}", remove)
    story.refused("Mallory replays her header", "AUTH_FAILED", remove)


def _rotate(story: Story, people: Participants, hana: Signer, created: dict[str, Any]) -> None:
    end = printed(datetime.now(UTC) + timedelta(days=7))
    body = {"oldKeyId": created["keys"]["authentication"]["keyId"], "newKeyType": "Ed25519", "revokeOldAfter": end}
    title = "Hana rotates her key; the old one stays for a week of grace"
    story.tell(title, "old key valid until {gracePeriodEnd}", people.session.rotate, hana.did, body, hana)
    title = "The old key may not end the DID any more"
    story.refused(title, "FORBIDDEN", people.session.deactivate, hana.did, _STOLEN, hana)


def _recover(story: Story, people: Participants, recovery: Signer) -> Signer:
    key = make_key("Ed25519")
    body = {"newAuthenticationKey": public_half(key), "revokeAllExistingKeys": True}
    title = "Her laptop is stolen: the recovery key brings the DID back and drops every other key"
    said = "version {versionId}, a new recovery key was issued"
    story.tell(title, said, people.session.recover, recovery.did, body, recovery)
    return Signer(recovery.did, key["privateKey"])


def a_credential(story: Story, people: Participants) -> None:
    """Leaves everybody with a DID, and the credential."""
    made = story.tell(
        "Ivo, Aki and Vera create DIDs; the service keeps Ivo's signing key for him",
        lambda made: f"Ivo is {made[0]['did']}, with a Bls12381G2Key2020 key",
        lambda: [people.session.create(body) for body in (_ISSUER, _PERSON, _PERSON)],
    )
    people.ivo, people.aki, people.vera = map(people.person, made)
    title = "Ivo registers what his credentials say"
    schema = story.tell(title, _schema_text, people.ivo.ask, "POST", "/credential-schemas", _SCHEMA)
    people.schema_id = schema["id"]
    parties = {"issuerDid": people.ivo.did, "holderDid": people.hana.did}
    statement = parties | {"schemaId": people.schema_id, "attributes": _VALUES}
    title = "Ivo issues Hana a credential; one BBS signature covers all values"
    issued = story.tell(title, "{id}, {status}", people.ivo.ask, "POST", "/credentials", statement)
    people.credential_id = issued["id"]
    path = f"/credentials/{quote(people.credential_id, safe='')}"
    story.tell("Hana reads it", _values_text, people.hana.ask, "GET", path)
    story.refused("For Vera it does not exist", "CREDENTIAL_NOT_FOUND", people.vera.ask, "GET", path)


def _schema_text(body: dict[str, Any]) -> str:
    return ", ".join(f"{one['name']} ({one['type']})" for one in body["attributes"])


def _values_text(body: dict[str, Any]) -> str:
    subject = body["credential"]["credentialSubject"]
    return ", ".join(f"{name} {subject[name]}" for name in _VALUES)


def a_delegation(story: Story, people: Participants) -> None:
    """Leaves a request that Aki may send."""
    title = "Vera takes a challenge: what she is shown must be made for her, and now"
    said = "{challenge:.24}… for {domain}"
    challenge = story.tell(title, said, people.vera.ask, "POST", "/challenges", {"domain": SHOP})
    people.challenge = challenge["challenge"]
    title = "Hana delegates to Aki: whether she is 18, fixed, and any question about her country"
    said = "autonomy {autonomyLevel}, {maxUses} uses, {maxRefusals} wrong guess at most"
    made = story.tell(title, said, people.hana.ask, "POST", "/delegations", _terms(people))
    people.delegation_id = made["id"]
    action = ibct.action_text("age", "gte", pin=18)
    title = "At home, Hana signs a token for one use of it"
    token = story.tell(title, "{action}, until {expiresAt}", signed, people, action)
    people.request = ibct.proof_request(token, people.credential_id, value=18, challenge=people.challenge, domain=SHOP)


def signed(people: Participants, action: str) -> dict[str, str]:
    """A token of Hana's for Aki."""
    wanted = ibct.IbctTemplate(people.aki.did, action, people.delegation_id, timedelta(hours=1))
    return ibct.issue(people.hana.signer, wanted)


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

    def ask() -> Any:
        return people.aki.ask("POST", DELEGATED_PROOFS, people.request)

    without, people.request = people.request, people.request | _ANCHORED
    probed = story.tell(
        "Aki asks for the proof, and for an anchor on the ledger",
        _anchored_text,
        lambda: attempted(ask),
        promise=lambda outcome: outcome["code"] in ("none", "ANCHORING_DISABLED"),
    )
    people.is_anchored = probed["code"] == "none"
    if people.is_anchored:
        people.proved = probed["answer"]
    else:
        people.request = without
        people.proved = story.tell("So Aki asks without; a refusal before the proof spends nothing", _proof_text, ask)
    story.tell(
        "The answer is lost; Aki sends the same again",
        "the same proof {proofId}, nothing spent",
        ask,
        promise=lambda body: body["proof"] == people.proved["proof"],
    )


def _anchored_text(outcome: dict[str, Any]) -> str:
    if outcome["code"] == "none":
        return _proof_text(outcome["answer"])
    if outcome["code"] == "ANCHORING_DISABLED":
        return f"this service does not anchor: {outcome['status']} {outcome['code']}"
    return refusal_text(outcome)


def _proof_text(body: dict[str, Any]) -> str:
    size = len(body["proof"]["proof"])
    return f"proof {body['proofId']}, {size:,} characters, {anchor_text(body.get('anchor'))}"
