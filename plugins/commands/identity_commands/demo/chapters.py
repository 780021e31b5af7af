"""Chapters 1 to 4: Hana's DID, Ivo's credential, the delegation, and the proof that Aki obtains."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from identity_client import Session, Signer, hash_body, ibct
from identity_codec.strict_json import JsonValue
from identity_codec.times import printed
from identity_commands.demo.participants import SHOP, Participants, anchor_text
from identity_commands.demo.story import Story, attempted, refusal_text
from identity_commands.remote import TokenCaller
from identity_commands.wallet import make_key, public_half

_AGENT: Final = {"type": "DIDCommMessaging", "serviceEndpoint": "https://agent.example/didcomm"}
_ENCRYPTION_KEY: Final = {"type": "X25519KeyAgreementKey2020", "purpose": ["keyAgreement"]}
_OPTIONS: Final = {"additionalKeys": [_ENCRYPTION_KEY], "serviceEndpoints": [_AGENT], "recoveryKey": True}
_DID: Final = {"method": "ids", "keyType": "Ed25519", "options": _OPTIONS}
_NAME: Final = {"name": "name", "type": "string"}
_AGE: Final = {"name": "age", "type": "integer", "minimum": 0, "maximum": 150}
_SCHEMA: Final = {"attributes": [_NAME, _AGE, {"name": "country", "type": "string"}]}
_VALUES: Final = {"name": "Hana Tanaka", "age": 24, "country": "JP"}
_BBS_KEY: Final = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
_ISSUER: Final = {"method": "ids", "options": {"additionalKeys": [_BBS_KEY], "storeSecrets": True}}
_THREE: Final = (_ISSUER, {"method": "ids"}, {"method": "ids"})
_STOLEN: Final = {"confirm": True, "reason": "stolen"}
_FILES: Final = {"id": "files", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
_ADDED: Final = {"operation": "addService", "service": _FILES}
_REMOVED: Final[dict[str, JsonValue]] = {"operation": "removeService", "serviceId": "files"}
ADULT: Final[dict[str, JsonValue]] = {"attributeName": "age", "type": "gte", "value": 18}
ADULT_ONLY: Final = ibct.action_text("age", "gte", pin=18)
COUNTRY: Final = ibct.action_text("country", "set_member")
DELEGATED_PROOFS: Final = "/zkp/delegated-proofs"
_ANCHORED: Final = {"anchor": True, "syncWaitMs": 5_000}


def a_did(story: Story, people: Participants) -> None:
    """Leave Hana with the key of her recovery."""
    session = people.session
    title = "Hana creates a DID with two keys, a service and a recovery key"
    created = story.tell(title, "{did}, block {blockNumber}", session.create, _DID)
    did, secrets = created["did"], created["keys"]
    story.tell("Anybody resolves it", version_text, session.resolve, did)
    hana = people.person(created).signer
    _change_and_replay(story, session, hana)
    end = printed(datetime.now(UTC) + timedelta(days=7))
    body = {"oldKeyId": secrets["authentication"]["keyId"], "newKeyType": "Ed25519", "revokeOldAfter": end}
    title = "Hana rotates her key; the old one stays for a week of grace"
    story.tell(title, "old key valid until {gracePeriodEnd}", session.rotate, did, body, hana)
    title = "The old key may not end the DID any more"
    story.refused(title, "FORBIDDEN", session.deactivate, did, _STOLEN, hana)
    story.tell("Version 1 is still there", version_text, partial(session.resolve, did, versionId=1))
    key = make_key("Ed25519")
    body = {"newAuthenticationKey": public_half(key), "revokeAllExistingKeys": True}
    title = "Her laptop is stolen: the recovery key brings the DID back and drops every other key"
    said = "version {versionId}, a new recovery key was issued"
    story.tell(title, said, session.recover, did, body, Signer(did, secrets["recovery"]["privateKey"]))
    people.hana = TokenCaller(session, Signer(did, key["privateKey"]))


def version_text(body: dict[str, Any]) -> str:
    """Return a resolution in words."""
    document, version = body["didDocument"], body["didDocumentMetadata"]["versionId"]
    services = ", ".join(service["type"] for service in document.get("service", []))
    return f"version {version}: {len(document['verificationMethod'])} keys, {services or 'no service'}"


def _change_and_replay(story: Story, session: Session, hana: Signer) -> None:
    title = "Hana adds a service; her signature is bound to exactly this body"
    said = "version {versionId}, transaction {transactionHash:.16}…"
    story.tell(title, said, session.update, hana.did, _ADDED, hana)
    # This header is all that a thief could steal: it is good for this change, once.
    digest = hash_body(_REMOVED)
    challenge = session.challenge(hana.did, purpose="update", digest=digest)["challenge"]
    header = {"Authorization": hana.header(challenge, purpose="update", digest=digest, origin=session.origin)}
    change = partial(session.call, "PATCH", f"/dids/{quote(hana.did, safe='')}", headers=header)
    story.tell("She removes it again", "version {versionId}", partial(change, body=_REMOVED))
    story.refused("Mallory replays her header", "AUTH_FAILED", partial(change, body=_REMOVED))


def a_credential(story: Story, people: Participants) -> None:
    """Leave all participants with a DID, and the credential."""
    title = "Ivo, Aki and Vera create DIDs; the service keeps Ivo's signing key for him"
    said = "Ivo is {0[did]}, with a Bls12381G2Key2020 key"
    made = story.tell(title, lambda made: said.format(*made), lambda: [*map(people.session.create, _THREE)])
    people.ivo, people.aki, people.vera = map(people.person, made)
    title = "Ivo registers what his credentials say"
    schema = story.tell(title, _schema_text, people.ivo.ask, "POST", "/credential-schemas", _SCHEMA)
    parties = {"issuerDid": people.ivo.did, "holderDid": people.hana.did}
    people.schema_id = schema["id"]
    people.statement = parties | {"schemaId": people.schema_id, "attributes": _VALUES}
    title = "Ivo issues Hana a credential; one BBS signature covers all values"
    issued = story.tell(title, "{id}, {status}", people.ivo.ask, "POST", "/credentials", people.statement)
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
    """Leave a request that Aki may send."""
    title = "Vera takes a challenge: what she is shown must be made for her, and now"
    said = "{challenge:.24}… for {domain}"
    taken = story.tell(title, said, people.vera.ask, "POST", "/challenges", {"domain": SHOP})
    people.challenge = taken["challenge"]
    title = "Hana delegates to Aki: whether she is 18, fixed, and any question about her country"
    said = "autonomy {autonomyLevel}, {maxUses} uses, {maxRefusals} wrong guess at most"
    made = story.tell(title, said, people.hana.ask, "POST", "/delegations", terms(people))
    people.delegation_id = made["id"]
    title = "At home, Hana signs a token for one use of it"
    token = story.tell(title, "{action}, until {expiresAt}", people.token, ADULT_ONLY)
    people.request = ibct.proof_request(token, people.credential_id, value=18, challenge=people.challenge, domain=SHOP)


def terms(people: Participants) -> dict[str, Any]:
    """Return the delegation to Aki over the current credential."""
    return {
        "holderDid": people.hana.did,
        "agentDid": people.aki.did,
        "predicates": [{"attributeName": "age", "type": "gte", "values": [18]}],
        "actions": [COUNTRY],
        "credentialIds": [people.credential_id],
        "verifiers": [SHOP],
        # A value that the agent chooses needs 3, and so does an anchor on a fixed one.
        "autonomyLevel": 3,
        "maxUses": 5,
        "expiresAt": printed(datetime.now(UTC) + timedelta(days=30)),
        "purpose": "buying at Vera's",
    }


def a_proof(story: Story, people: Participants) -> None:
    """Leave the answer that brought the proof."""
    anchored = people.request | _ANCHORED
    ask = partial(people.aki.ask, "POST", DELEGATED_PROOFS)
    title = "Aki asks for the proof, and for an anchor on the ledger"
    probed = story.tell(title, _anchored_text, attempted, ask, anchored)
    story.promise(probed["code"] in ("none", "ANCHORING_DISABLED"))
    people.is_anchored = probed["code"] == "none"
    if people.is_anchored:
        people.request, people.proved = anchored, probed["answer"]
    else:
        title = "So Aki asks without; a refusal before the proof spends nothing"
        people.proved = story.tell(title, _proof_text, ask, people.request)
    said = "the same proof {proofId}, nothing spent"
    again = story.tell("The answer is lost; Aki sends the same again", said, ask, people.request)
    story.promise(again["proof"] == people.proved["proof"])


def _anchored_text(outcome: dict[str, Any]) -> str:
    if outcome["code"] == "none":
        return _proof_text(outcome["answer"])
    if outcome["code"] == "ANCHORING_DISABLED":
        return f"this service does not anchor: {outcome['status']} {outcome['code']}"
    return refusal_text(outcome)


def _proof_text(body: dict[str, Any]) -> str:
    size = len(body["proof"]["proof"])
    return f"proof {body['proofId']}, {size:,} characters, {anchor_text(body.get('anchor'))}"
