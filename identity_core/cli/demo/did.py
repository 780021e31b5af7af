"""Chapter 1: Hana's DID is created, changed, rotated and recovered."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from identity_core.cli.demo.cast import Cast, Person
from identity_core.cli.demo.telling import Story
from identity_core.client import Signer
from identity_core.domain import keys
from identity_core.domain.times import printed

_WISH: Final = {
    "method": "ids",
    "keyType": "Ed25519",
    "options": {
        "additionalKeys": [{"type": "X25519KeyAgreementKey2020", "purpose": ["keyAgreement"]}],
        "serviceEndpoints": [{"type": "DIDCommMessaging", "serviceEndpoint": "https://agent.example/didcomm"}],
        "recoveryKey": True,
    },
}


def tell(story: Story, cast: Cast) -> None:
    """Leaves Hana with the key that she recovered by."""
    session = cast.session
    created = story.tell(
        "Hana creates a DID with two keys, a service and a recovery key",
        lambda: session.create(_WISH),
        lambda body: f"{body['did']}, block {body['blockNumber']}",
    )
    did, hana = created["did"], cast.person(created).signer
    story.tell("Anybody resolves it", lambda: session.resolve(did), version_text)
    _change_and_replay(story, cast, hana)
    hana = _rotate(story, cast, hana, created)
    story.tell("Version 1 is still there", lambda: session.resolve(did, versionId=1), version_text)
    recovery = Signer(did, created["keys"]["recovery"]["privateKey"])
    cast.hana = Person(session, _recover(story, cast, recovery))


def version_text(body: dict[str, Any]) -> str:
    """A resolution in words."""
    document = body["didDocument"]
    version = body["didDocumentMetadata"]["versionId"]
    services = ", ".join(service["type"] for service in document.get("service", []))
    return f"version {version}: {len(document['verificationMethod'])} keys, {services or 'no service'}"


def _change_and_replay(story: Story, cast: Cast, hana: Signer) -> None:
    session, path = cast.session, f"/dids/{quote(hana.did, safe='')}"
    service = {"id": "files", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
    story.tell(
        "Hana adds a service; her signature is bound to exactly this body",
        lambda: session.update(hana.did, {"operation": "addService", "service": service}, hana),
        lambda body: f"version {body['versionId']}, transaction {body['transactionHash'][:16]}…",
    )
    # A challenge that is bound to nothing is the worst case: whoever sees the header could use it for any change.
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


def _rotate(story: Story, cast: Cast, hana: Signer, created: dict[str, Any]) -> Signer:
    end = printed(datetime.now(UTC) + timedelta(days=7))
    old = created["keys"]["authentication"]["keyId"]
    rotated = story.tell(
        "Hana rotates her key; the old one stays for a week of grace",
        lambda: cast.session.rotate(hana.did, {"oldKeyId": old, "newKeyType": "Ed25519", "revokeOldAfter": end}, hana),
        lambda body: f"old key valid until {body['gracePeriodEnd']}",
    )
    story.refused(
        "The old key may not end the DID any more",
        lambda: cast.session.deactivate(hana.did, {"confirm": True, "reason": "stolen"}, hana),
        "FORBIDDEN",
    )
    return Signer(hana.did, rotated["newKey"]["privateKey"])


def _recover(story: Story, cast: Cast, recovery: Signer) -> Signer:
    pair = keys.generate("Ed25519", os.urandom)
    body = {
        "newAuthenticationKey": {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": pair.public},
        "revokeAllExistingKeys": True,
    }
    story.tell(
        "Her laptop is stolen: the recovery key brings the DID back and drops every other key",
        lambda: cast.session.recover(recovery.did, body, recovery),
        lambda answer: f"version {answer['versionId']}, a new recovery key was issued",
    )
    return Signer(recovery.did, pair.secret)
