"""Helpers of stories about wallets: an issuer and a verifier, a wallet, and a good request for every operation."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from features.credentialing import BLS, P256, issued, schema
from features.document import Operation
from features.formats import base64url, from_base64url
from features.signing import call
from features.steps.answers import body_of
from features.verifying import SHOP
from features.world import DRAFTS, Draft, Person, World

PRE_AUTHORIZED = "urn:ietf:params:oauth:grant-type:pre-authorized_code"
FOR_WALLETS = [
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 150, "allowedThresholds": [18, 65]},
    {"name": "country", "type": "string"},
    {"name": "income", "type": "decimal", "scale": 2},
]


def offered(world: World) -> tuple[str, dict[str, Any]]:
    """The credential issuer and the grant of the link that the answer has."""
    (text,) = parse_qs(urlsplit(world.notes["offer"]["uri"]).query)["credential_offer"]
    offer = json.loads(text)
    return offer["credential_issuer"], offer["grants"][PRE_AUTHORIZED]


def redeem(world: World, **fields: str) -> Any:
    _, grant = offered(world)
    form = {"grant_type": PRE_AUTHORIZED, "pre-authorized_code": grant["pre-authorized_code"]} | fields
    return world.http().post("/oauth/token", data=form)


class Wallet:
    """A wallet with a new key on P-256."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())

    def sign(self, head: dict[str, Any], said: dict[str, Any]) -> str:
        """A compact JWS."""
        text = ".".join(base64url(json.dumps(part).encode()) for part in (head, said))
        r, s = decode_dss_signature(self._key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{text}.{base64url(r.to_bytes(32) + s.to_bytes(32))}"

    def proof(self, issuer: str, nonce: str) -> str:
        """Return the proof that the wallet has the key."""
        numbers = self._key.public_key().public_numbers()
        x, y = (base64url(one.to_bytes(32)) for one in (numbers.x, numbers.y))
        head = {"typ": "openid4vci-proof+jwt", "alg": "ES256", "jwk": {"kty": "EC", "crv": "P-256", "x": x, "y": y}}
        return self.sign(head, {"aud": issuer, "iat": int(time.time()), "nonce": nonce})


def wallet_issuer(world: World, name: str = "Ina") -> Person:
    """A person who signs credentials for wallets too, with a key on P-256."""
    if name not in world.people:
        world.new_person(name, {"additionalKeys": [BLS, P256], "storeSecrets": True})
    return world.people[name]


def has_issued(world: World, by: str, of: str) -> None:
    """A credential of a schema for wallets."""
    wallet_issuer(world, by)
    schema(world, FOR_WALLETS)
    issued(world, by, of)


def offer(world: World, by: str, body: dict[str, Any]) -> None:
    credential_id = world.notes["credential"]["id"]
    answer = call(world, by, "createCredentialOffer", "CreateCredentialOfferRequest", body, credential_id=credential_id)
    if answer.status_code == 201:
        world.notes["offer"] = answer.parsed.to_dict()


def collect(world: World) -> None:
    """With a new wallet, which the story keeps with what it got."""
    issuer, _ = offered(world)
    found = world.http().get(f"/.well-known/openid-credential-issuer{urlsplit(issuer).path}").json()
    assert found["credential_issuer"] == issuer
    code = world.notes["offer"].get("transactionCode")
    fields = {} if code is None else {"tx_code": code}
    token = redeem(world, **fields)
    assert token.status_code == 200, token.content
    again = redeem(world, **fields)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    nonce = world.http().post(urlsplit(found["nonce_endpoint"]).path).json()["c_nonce"]
    wallet = world.notes["wallet"] = Wallet()
    body = {"credential_configuration_id": "dc+sd-jwt", "proofs": {"jwt": [wallet.proof(issuer, nonce)]}}
    bearer = {"Authorization": f"Bearer {token.json()['access_token']}"}
    answer = world.http().post(urlsplit(found["credential_endpoint"]).path, json=body, headers=bearer)
    assert answer.status_code == 200, answer.content
    (one,) = answer.json()["credentials"]
    world.notes["collected"] = one["credential"]


def verifier(world: World, name: str = "Vic") -> Person:
    """A person in whose name the service signs what wallets are asked."""
    if name not in world.people:
        world.new_person(name, {"additionalKeys": [P256], "storeSecrets": True})
    return world.people[name]


def wish_of_wallet(world: World, **changed: Any) -> dict[str, Any]:
    """A request for a credential of the story's schema that states that its holder is 18."""
    one = {"id": "age", "schemaId": world.notes.get("schema", SHOP)}
    one["claims"] = [{"path": ["age_equal_or_over", "18"]}]
    return {"verifierDid": verifier(world).did, "credentials": [one]} | changed


def request_of_wallet(world: World) -> str:
    """The id of one that an operator has made."""
    body = world.model("RequestPresentationRequest", wish_of_wallet(world))
    made = world.call("requestPresentation", headers=world.key_header(), body=body)
    assert made.status_code == 201, made.content
    return str(made.parsed.id)


def ask(world: World, name: str, body: dict[str, Any]) -> None:
    answer = call(world, name, "requestPresentation", "RequestPresentationRequest", body)
    if answer.status_code == 201:
        world.notes["asked"] = body_of(answer)


def request_object(world: World) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and claims of the request object that the link leads to."""
    (place,) = parse_qs(urlsplit(world.notes["asked"]["uri"]).query)["request_uri"]
    answer = world.http().get(urlsplit(place).path)
    assert answer.status_code == 200, answer.content
    head, said, _ = answer.text.split(".")
    return json.loads(from_base64url(head)), json.loads(from_base64url(said))


def present_claims(world: World, said: dict[str, Any], wanted: set[str]) -> dict[str, list[str]]:
    """The presentation that discloses what has these names, for the last credential that was asked for."""
    *_, query = said["dcql_query"]["credentials"]
    jwt, *disclosures, _ = world.notes["collected"].split("~")
    kept = [one for one in disclosures if json.loads(from_base64url(one))[1] in wanted]
    base = "~".join((jwt, *kept, ""))
    digest = base64url(hashlib.sha256(base.encode()).digest())
    bound = {"iat": int(time.time()), "aud": said["client_id"], "nonce": said["nonce"], "sd_hash": digest}
    wallet: Wallet = world.notes["wallet"]
    return {query["id"]: [base + wallet.sign({"typ": "kb+jwt", "alg": "ES256"}, bound)]}


def send(world: World, said: dict[str, Any], form: dict[str, str]) -> None:
    answer = world.http().post(urlsplit(said["response_uri"]).path, data=form)
    assert answer.status_code == 200, answer.content


def _drafted(world: World, operation: Operation) -> Draft:
    """An operator asks."""
    path, body = operation.path, None
    if operation.operation_id == "createCredentialOffer":
        wallet_issuer(world)
        path, body = path.replace("{credentialId}", issued(world, "Ina")["id"]), {"transactionCode": False}
    elif operation.operation_id == "getPresentation":
        path = path.replace("{requestId}", request_of_wallet(world))
    else:
        body = wish_of_wallet(world)
    return Draft(operation, path, headers=world.key_header(), body=body)


for _name in ("createCredentialOffer", "requestPresentation", "getPresentation"):
    DRAFTS[_name] = _drafted
