"""Libraries that others wrote, on what the service answers, as they come: pydid, aries-askar, PyJWT, and ``jose`` (npm)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jwt
import pydid
import pytest
from aries_askar import Key, KeyAlg
from pydid.verification_method import Ed25519VerificationKey2020

from tests.attack.stranger import (
    PREFIX,
    Holder,
    Stranger,
    base64url,
    body_hash,
    from_base58,
    header,
    multikey,
    rotation,
    service,
)
from tests.client.resolvers.conftest import with_service
from tests.fault.service_process import API_KEY, Running

UNREGISTERED = "did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"
DOCUMENT = {"Accept": "application/did+ld+json"}


def looked_up(running: Running, identifier: str, headers: dict[str, str]) -> Any:
    answer = running.wire.call("GET", f"/1.0/identifiers/{quote(identifier, safe='')}", None, headers)
    assert answer.status == 200, answer.body
    return answer.json


@pytest.mark.parametrize("method", ["ids", "webvh", "key"])
def test_pydid_reads_the_documents(running: Running, method: str) -> None:
    did = UNREGISTERED if method == "key" else with_service(running, method).did
    value = looked_up(running, did, DOCUMENT)
    document = pydid.deserialize_document(value, strict=True)
    assert isinstance(document, pydid.DIDDocument)
    assert document.id == did
    key = document.dereference(document.authentication[0])  # type: ignore[index]
    assert isinstance(key, Ed25519VerificationKey2020)
    assert document.serialize()["verificationMethod"] == value["verificationMethod"]
    if method != "key":
        files = document.dereference(f"{did}#files")
        assert str(files.service_endpoint) == "https://hana.example/files"  # type: ignore[union-attr]


def test_askar_verifies_with_key_by_fragment(running: Running) -> None:
    hana = with_service(running, "ids")
    method = looked_up(running, hana.key_id, {"Accept": "application/did"})
    raw = from_base58(method["publicKeyMultibase"][1:])[2:]
    message = b"a message of Hana"
    signature = hana.key.sign(message).signature
    key = Key.from_public_bytes(KeyAlg.ED25519, raw)
    assert key.verify_signature(message, signature)
    assert not key.verify_signature(message + b"!", signature)


def test_askar_holds_the_key_of_a_did_and_changes_it(running: Running) -> None:
    """The private key never leaves the wallet; the service makes none."""
    wallet, following = Key.generate(KeyAlg.ED25519), Key.generate(KeyAlg.ED25519)
    public = multikey(wallet.get_public_bytes())
    own = {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": public, "purpose": ["authentication"]}
    made = Stranger(running.wire, API_KEY).create({"method": "ids", "options": {"publicKeys": [own]}})
    assert made.status == 201, made.body
    did = made.json["did"]
    hana = Holder(running.wire, did, None, None, made.json)  # type: ignore[arg-type]

    def signed(act: str, body: Any, key: Key) -> str:
        return header(did, key.sign_message(hana.challenge(act, body_hash(body)).encode()))

    body = service("files")
    assert hana.send("update", body, signed("update", body, following)).status == 401
    assert hana.send("update", body, signed("update", body, wallet)).status == 200
    turn = rotation(f"{did}#{public}", multikey(following.get_public_bytes()))
    assert hana.send("rotate", turn, signed("rotate", turn, wallet)).status == 200
    body = service("more")
    assert hana.send("update", body, signed("update", body, wallet)).status == 401
    assert hana.send("update", body, signed("update", body, following)).status == 200


def tokens(running: Running) -> tuple[str, dict[str, str]]:
    """Return the issuer from its metadata, and tokens of a DID: a valid one and modified ones."""
    issuer = running.wire.call("GET", "/.well-known/oauth-authorization-server").json["issuer"]
    hana = with_service(running, "ids")
    body: dict[str, Any] = {}
    answer = running.wire.call("POST", f"{PREFIX}/auth/token", body, {"Authorization": hana.signed("token", body)})
    assert answer.status == 200, answer.body
    good = answer.json["access_token"]
    head, payload, signature = good.split(".")
    claims = json.loads(jwt.utils.base64url_decode(payload))
    assert claims["sub"] == hana.did
    other = base64url(json.dumps(claims | {"sub": UNREGISTERED}).encode())
    none = base64url(json.dumps({"alg": "none", "typ": "at+jwt"}).encode())
    return issuer, {"good": good, "another": f"{head}.{other}.{signature}", "unsigned": f"{none}.{payload}."}


def test_pyjwt_verifies_a_token_with_the_published_keys(running: Running) -> None:
    issuer, given = tokens(running)
    keys = jwt.PyJWKClient(f"{running.wire.url}/.well-known/jwks.json")

    def verified(token: str) -> Any:
        key = keys.get_signing_key_from_jwt(given["good"])
        return jwt.decode(token, key, algorithms=["EdDSA"], audience=issuer, issuer=issuer)

    assert verified(given["good"])["sub"].startswith("did:ids:")
    for name in ("another", "unsigned"):
        with pytest.raises(jwt.InvalidTokenError):
            verified(given[name])


def test_jose_verifies_a_token_with_the_published_keys(packages: Path, running: Running) -> None:
    issuer, given = tokens(running)
    asked = {"url": f"{running.wire.url}/.well-known/jwks.json", "issuer": issuer, "tokens": given}
    done = subprocess.run(
        ["node", "verify_token.mjs"],
        cwd=packages,
        input=json.dumps(asked),
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    found = json.loads(done.stdout)
    assert found["good"]["payload"]["sub"].startswith("did:ids:")
    assert found["another"]["error"] == "ERR_JWS_SIGNATURE_VERIFICATION_FAILED"
    assert "error" in found["unsigned"]
