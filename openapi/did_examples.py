"""Hana's DID from its creation to its end: the examples of DIDs and events.

The service's own rules and renderers made them, from a fixed random source and a fixed clock, so they can be checked like any answer:
the log verifies.
"""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from typing import Any, Final

from identity_did_webvh import approvals as witness
from identity_did_webvh.approvals import Witnesses
from identity_transparency import wire
from identity_transparency.use_cases.approvals import waiting_version

from identity_client import possession
from identity_codec import ed25519, multibase, multikey
from identity_codec.structs import plain
from identity_codec.times import printed
from identity_core.api import dids
from identity_core.domain.dids import keys
from identity_core.domain.dids.changes import (
    AddService,
    Create,
    Deactivate,
    Expire,
    NewService,
    Recover,
    Rotate,
    Update,
)
from identity_core.domain.dids.logs import multihash
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.change import Recovered, Rotated
from identity_core.use_cases.dids.create import Created
from identity_core.use_cases.dids.read import HistoryPage
from openapi.resolution_examples import gone, resolutions
from openapi.story import START, Json, Story, dice

GRACE_END: Final = START + timedelta(days=9)
ED25519: Final = "Ed25519VerificationKey2020"
PRIMARY: Final = keys.default_purposes(ED25519, primary=True)


class Telling:
    """The chapters in their order; each records what happens and keeps the examples of its operation in ``shown``."""

    def __init__(self) -> None:
        self.story = Story(dice("hana"))
        self.primary = self.story.key(ED25519, *PRIMARY)
        self.agreement = self.story.key("X25519KeyAgreementKey2020", "keyAgreement")
        self.bls = self.story.key("Bls12381G2Key2020", "assertionMethod")
        self.recovery = self.story.key(ED25519, keys.RECOVERY)
        self.spare = self.story.key()
        self.successor = self.story.key(ED25519, "authentication", "assertionMethod")
        self.signing = self.story.key("Bls12381G2Key2020")
        self.shown: Json = {}
        self.identifiers: Json = {}

    def tell(self) -> Json:
        """operationId → examples."""
        first = self.create()
        updated = self.update()
        rotated = self.rotate()
        self.shown["listDids"] = {"200": {"onePage": plain(dids.listing([rotated], 50).body)}}
        self.shown["resolveDid"] = resolutions(rotated, updated, GRACE_END)
        self.rotated = rotated
        self.story.record(Expire(), GRACE_END)
        self.recover()
        last = self.deactivate()
        self.shown["resolveDid"]["410"] = gone(first, updated, last)
        self.look_back(last)
        return self.shown

    def create(self) -> IndexedVersion:
        """A primary key, one of each other type, a service, a recovery key."""
        story = self.story
        endpoint = {"type": "DIDCommMessaging", "serviceEndpoint": "https://agent.example/didcomm"}
        more = [
            {"type": "X25519KeyAgreementKey2020", "purpose": ["keyAgreement"]},
            {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]},
        ]
        named = {"id": "hub", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
        options = {"additionalKeys": more, "serviceEndpoints": [endpoint], "recoveryKey": True}
        made = (self.primary, self.agreement, self.bls)
        service = NewService(endpoint["type"], endpoint["serviceEndpoint"])
        first = story.record(Create(made, (story.log_key,), (service,), (), self.recovery.public), START)
        shown = (*made, self.recovery)
        own = {"type": ED25519, "publicKeyMultibase": self.primary.public, "purpose": ["authentication"]}
        several, two_keys = _two_authentication_keys()
        self.shown["createDid"] = {
            "request": {
                "keysMadeHere": {"method": "ids", "keyType": "Ed25519", "options": options},
                "ownKeys": {
                    "method": "ids",
                    "options": {"publicKeys": [own], "strictEvidence": True, "recoveryWindow": 604_800},
                },
                "keptByTheCustodian": several,
                "witnessed": {
                    "method": "webvh",
                    "options": {
                        "witness": {"threshold": 1, "witnesses": [{"id": f"did:key:{self.spare.public}"}]},
                    },
                },
                "namedService": {"method": "ids", "options": {"serviceEndpoints": [named]}},
                "smallest": {"method": "ids", "keyType": "Ed25519"},
            },
            "201": {"created": plain(dids.created(Created(first, shown)).body), "severalOfOnePurpose": two_keys},
        }
        return first

    def update(self) -> IndexedVersion:
        """A service is added."""
        at = START + timedelta(days=1)
        endpoint = {"id": "hub", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
        change: Json = {"operation": "addService", "service": endpoint}
        add_key = {
            "operation": "addVerificationMethod",
            "verificationMethod": {"type": ED25519, "publicKeyMultibase": self.spare.public},
            "relationships": ["authentication"],
        }
        add_signing_key = {
            "operation": "addVerificationMethod",
            "verificationMethod": {
                "type": self.signing.type,
                "publicKeyMultibase": self.signing.public,
                "proofOfPossession": self.possession(),
            },
            "relationships": ["assertionMethod"],
        }
        remove_key = {"operation": "removeVerificationMethod", "keyId": f"{self.story.did}#{self.agreement.public}"}
        remove_service = {"operation": "removeService", "serviceId": "hub"}
        rename = {"operation": "setAlsoKnownAs", "alsoKnownAs": ["https://hana.example/"]}
        move = {"operation": "updateService", "service": endpoint | {"serviceEndpoint": "https://hub.example/"}}
        added = AddService(NewService("LinkedDomains", "https://hana.example/", "hub"))
        updated = self.story.record(Update((added,), self.story.sign(self.primary, "update", change, at)), at)
        strict: dict[str, Any] = {"operation": "setStrictEvidence", "strictEvidence": True}
        self.shown["updateDid"] = {
            "request": {
                "addService": change,
                "addVerificationMethod": add_key,
                "addKeyThatSignsCredentials": add_signing_key,
                "removeVerificationMethod": remove_key,
                "updateService": move,
                "removeService": remove_service,
                "setAlsoKnownAs": rename,
                "setWitness": {
                    "operation": "setWitness",
                    "witness": {"threshold": 1, "witnesses": [{"id": f"did:key:{self.spare.public}"}]},
                },
                "setStrictEvidence": strict,
                "renamedStrictly": {"operations": [rename, strict]},
                "noWitness": {"operations": [{"operation": "setWitness", "witness": {}}, rename]},
                "several": {"operations": [move, add_key, remove_key, rename, remove_service | {"serviceId": "#old"}]},
            },
            "200": {"updated": plain(dids.updated(updated).body)},
        }
        return updated

    def possession(self) -> str:
        """What shows that Hana has the key that she adds."""
        proof = possession.prove_possession(str(self.story.did), self.signing.public, self.signing.secret_raw)
        return multibase.base64url_encode(proof)

    def rotate(self) -> IndexedVersion:
        """The primary key gets a successor and a week of grace."""
        at = START + timedelta(days=2)
        old = f"{self.story.did}#{self.primary.public}"
        wish: Json = {
            "oldKeyId": old,
            "newKeyType": "Ed25519",
            "purpose": [*self.successor.purposes],
            "revokeOldAfter": printed(GRACE_END),
        }
        signed = self.story.sign(self.primary, "rotate", wish, at)
        rotated = self.story.record(Rotate(old, self.successor, GRACE_END, signed), at)
        kept = {"newKeyType": "X25519KeyAgreementKey2020", "storeSecrets": True, "returnSecrets": False}
        self.shown["rotateDidKey"] = {
            "request": {
                "withGrace": wish,
                "ownKey": {"oldKeyId": old, "newKeyType": "Ed25519", "newPublicKeyMultibase": self.spare.public},
                "ownKeyThatSignsCredentials": {
                    "oldKeyId": f"#{self.bls.public}",
                    "newKeyType": self.signing.type,
                    "newPublicKeyMultibase": self.signing.public,
                    "proofOfPossession": self.possession(),
                },
                "keptByTheCustodian": {"oldKeyId": f"#{self.agreement.public}"} | kept,
            },
            "200": {"rotated": plain(dids.rotated(Rotated(rotated, self.successor, GRACE_END)).body)},
        }
        return rotated

    def recover(self) -> None:
        """Every key is lost but the recovery key."""
        at = START + timedelta(days=30)
        self.primary, spent = self.story.key(ED25519, *PRIMARY), self.recovery
        self.recovery = self.story.key(ED25519, keys.RECOVERY)
        wish: Json = {
            "newAuthenticationKey": {"type": ED25519, "publicKeyMultibase": self.primary.public},
            "revokeAllExistingKeys": True,
        }
        signed = self.story.sign(spent, "recover", wish, at, scheme="RecoveryKey")
        recovered = self.story.record(Recover(self.primary, True, self.recovery.public, signed), at)
        own = {"newRecoveryKey": {"type": ED25519, "publicKeyMultibase": self.recovery.public}}
        answer = dids.recovered(Recovered(recovered, self.recovery))
        self.shown["recoverDid"] = {
            "request": {
                "revokeAll": wish,
                "ownRecoveryKey": wish | own,
                "restoreVersion": wish | own | {"restoreVersion": 2},
            },
            "200": {"recovered": plain(answer.body)},
        }

    def deactivate(self) -> IndexedVersion:
        """The end."""
        at = START + timedelta(days=60)
        wish: Json = {"confirm": True, "reason": "The account was closed."}
        last = self.story.record(Deactivate(self.story.sign(self.primary, "deactivate", wish, at)), at)
        answer = dids.deactivated(last)
        self.shown["deactivateDid"] = {"request": {"confirmed": wish}, "200": {"deactivated": plain(answer.body)}}
        return last

    def look_back(self, last: IndexedVersion) -> None:
        """History and log."""
        did, versions = last.state.did, tuple(self.story.versions)
        newest = HistoryPage(len(versions), (last,), last.state.version_id)
        rotated = HistoryPage(len(versions), (versions[2],), versions[2].state.version_id)
        whole = HistoryPage(len(versions), versions, None)
        self.shown["listDidHistory"] = {
            "200": {
                "wholeLife": plain(dids.history_page(did, whole, f"history asc {did} ", include_document=False).body),
                "newestWithDocument": plain(
                    dids.history_page(did, newest, f"history desc {did} ", include_document=True).body
                ),
                "rotatedWithDocument": plain(
                    dids.history_page(did, rotated, f"history desc {did} ", include_document=True).body
                ),
            }
        }
        log = b"".join(line + b"\n" for line in self.story.lines[:2])
        forms = ("text/jsonl", "application/jsonl")
        self.shown["getDidLog"] = {f"200 {media}": {"twoEntries": log.decode()} for media in forms}

    def events(self) -> Json:
        """The first changes by sequence."""
        items = [
            {
                "sequence": version.receipt.sequence,
                "did": self.story.did,
                "versionId": version.state.version_id,
                "operation": version.state.operation,
                "timestamp": printed(version.receipt.recorded_at),
                "transactionHash": version.receipt.transaction_hash,
                "blockNumber": version.receipt.block_number,
            }
            for version in self.story.versions[:3]
            if version.receipt is not None
        ]
        page, nothing = {"items": items, "nextAfter": 3}, {"items": [], "nextAfter": 6}
        return {"listEvents": {"200": {"firstThree": page, "nothingNew": nothing}}}


def approvals() -> Json:
    """One of two witnesses approves of the second version of a did:webvh; both of them must."""
    pairs = [ed25519.generate(bytes([number]) * 32) for number in (1, 2)]
    names = [multikey.encode_public(multikey.ED25519, pair.public) for pair in pairs]
    scid, version_id = multihash(b"a first entry"), f"2-{multihash(b'a second entry')}"
    did = f"did:webvh:{scid}:id.example:dids:{scid}"
    (item,) = json.loads(witness.approve(None, version_id, pairs[0], printed(START)))
    listed = Witnesses(2, frozenset(names))
    waiting = (waiting_version(version_id, listed, names[:1]),)
    made = partial(wire.DidApprovals, did=did, versions=2, version_id=version_id)
    one, none = made(published_versions=1, waiting=waiting), made(published_versions=2, waiting=())
    shown = {"oneMore": plain(one), "published": plain(none)}
    request = {"approval": {"versionId": version_id, "proof": item["proof"][0]}}
    return {"getDidApprovals": {"200": shown}, "approveDidVersion": {"request": request, "200": shown}}


def _two_authentication_keys() -> tuple[Json, Any]:
    """Request and answer of Aki's creation."""
    more = [{"type": "Ed25519", "purpose": ["authentication"]}]
    options = {"additionalKeys": more, "storeSecrets": True, "returnSecrets": True}
    options["alsoKnownAs"] = ["https://aki.example/"]
    story = Story(dice("aki"))
    made = story.key(ED25519, *PRIMARY), story.key(ED25519, "authentication")
    version = story.record(Create(made, (story.log_key,), (), ("https://aki.example/",)), START)
    answer = dids.created(Created(version, made))
    return {"method": "ids", "keyType": "Ed25519", "options": options}, plain(answer.body)
