"""The examples of the tag ``registration``: Rea's DID, as a client of the Universal Registrar makes, changes and ends it."""

from __future__ import annotations

import base64
from datetime import datetime, timedelta
from typing import Any, Final

from identity_universal import registration_handlers
from identity_universal.registration import ChangeToSign, KeysWanted
from identity_universal.registration_create import create_body
from identity_universal.registration_jobs import SIGNING_REQUEST, RegistrationJob, digest
from identity_universal.registration_update import ADD, update_body

from identity_client.challenge import Challenge
from identity_codec import ed25519, multibase, multikey
from identity_codec.structs import convert, plain
from identity_codec.times import printed
from identity_core import wire
from identity_core.api import dids
from identity_core.api.request import Answer
from identity_core.domain.dids import keys
from identity_core.domain.dids.changes import AddService, Create, Deactivate, NewService, Update
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.keys import Key
from identity_core.use_cases.dids.create import Created
from openapi.story import START, Json, Story, dice

OWN: Final = {"clientSecretMode": True}
SERVICE: Final = {"id": "#hub", "type": "LinkedDomains", "serviceEndpoint": "https://rea.example/"}


def registrations() -> Json:
    """operationId → examples."""
    story = Story(dice("rea"))
    key = story.key("Ed25519", *keys.default_purposes(keys.ED25519.name, primary=True))
    first = story.record(Create((key,), (story.log_key,), (), ()), START)
    return {
        "registerDid": _create(key, Created(first, (key,))),
        "registerDidUpdate": _update(story, key, first.state.document, START + timedelta(days=1)),
        "registerDidDeactivation": _deactivate(story, key, START + timedelta(days=2)),
    }


def _create(key: Key, created: Created) -> Json:
    template = {"type": keys.ED25519.name, "purpose": ["authentication"], "controller": ""}
    named = {"didDocument": {"alsoKnownAs": ["https://rea.example/"], "service": [SERVICE]}}
    wanted = RegistrationJob(create_body("ids", {}, ()), None, digest({}))
    public = {"id": "#key-1", "controller": "", "purpose": ["authentication"], "publicKeyMultibase": key.public}
    brought = {"verificationMethod": [{"type": keys.ED25519.name, **public}]}
    x = multibase.base64url_encode(multikey.decode_public(key.public)[1])
    jwk: Json = {"id": "#key-1", "type": "JsonWebKey2020", "purpose": ["authentication"], "controller": ""}
    jwk["publicKeyJwk"] = {"kty": "OKP", "crv": "Ed25519", "x": x}
    made_here = {"storeSecrets": False, "returnSecrets": True, "requestVerificationMethod": [template]}
    return {
        "request": {
            "keysMadeHere": {"jobId": None, "options": made_here, "secret": {}, **named},
            "ownKeys": {"options": OWN},
            "ownKeysBrought": {"jobId": wanted.job_id, "options": OWN, "secret": brought},
            "ownKeysAsJwk": {"jobId": wanted.job_id, "options": OWN, "secret": {"verificationMethod": [jwk]}},
        },
        "200": {"keysWanted": _body(registration_handlers.keys_wanted(KeysWanted(wanted)))},
        "201": {"created": _body(registration_handlers.registered(created))},
    }


def _update(story: Story, key: Key, document: DidDocument, at: datetime) -> Json:
    wished: Json = {"didDocumentOperation": [ADD], "didDocument": [{"service": [SERVICE]}]}
    body = update_body(document, wished["didDocumentOperation"], wished["didDocument"])
    shown = _signed_job(
        story, key, ChangeToSign(story.versions[0].state.did, key_id(story, key), body, digest(wished)), "update", at
    )
    added = AddService(NewService("LinkedDomains", "https://rea.example/", "hub"))
    version = story.record(Update((added,), story.sign(key, "update", body, at)), at)
    done = convert(plain(dids.updated(version).body), wire.UpdatedDid)
    shown["request"]["toBegin"] |= wished
    shown["200"]["finished"] = _body(registration_handlers.updated(done))
    return shown


def _deactivate(story: Story, key: Key, at: datetime) -> Json:
    body = {"confirm": True}
    change = ChangeToSign(story.versions[-1].state.did, key_id(story, key), body, digest({}))
    shown = _signed_job(story, key, change, "deactivate", at)
    version = story.record(Deactivate(story.sign(key, "deactivate", body, at)), at)
    done = convert(plain(dids.deactivated(version).body), wire.DeactivatedDid)
    shown["200"]["finished"] = _body(registration_handlers.deactivated(done))
    return shown


def key_id(story: Story, key: Key) -> str:
    """The key's id in the document."""
    return f"{story.did}#{key.public}"


def _signed_job(story: Story, key: Key, change: ChangeToSign, purpose: str, at: datetime) -> Json:
    text = story.offer(purpose, dict(change.body), at)
    expiry = printed(Challenge.parse(text).expires_at)
    asked = _body(
        registration_handlers.to_sign(change, wire.Challenge(challenge=text, did=story.did, expires_at=expiry))
    )
    signature = base64.b64encode(ed25519.sign(key.secret_raw, text.encode())).decode()
    response = {"signature": signature, "kid": change.key_id, "alg": "EdDSA", "purpose": "authentication"}
    begun: Json = {"jobId": None, "did": story.did, "options": OWN}
    signed = {"jobId": asked["jobId"], "secret": {"signingResponse": {SIGNING_REQUEST: response}}}
    return {"request": {"toBegin": begun, "signed": begun | signed}, "200": {"toSign": asked}}


def _body(answer: Answer) -> Any:
    return plain(answer.body)
