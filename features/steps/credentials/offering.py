"""Issuers offer credentials to wallets, which collect them as OpenID4VCI 1.0 says."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from pytest_bdd import given, parsers, then, when

from features.credentialing import issued, schema, wallet_issuer
from features.formats import base64url, from_base64url, printed
from features.signing import call
from features.world import World

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
        """That it has the key."""
        numbers = self._key.public_key().public_numbers()
        x, y = (base64url(one.to_bytes(32)) for one in (numbers.x, numbers.y))
        head = {"typ": "openid4vci-proof+jwt", "alg": "ES256", "jwk": {"kty": "EC", "crv": "P-256", "x": x, "y": y}}
        return self.sign(head, {"aud": issuer, "iat": int(time.time()), "nonce": nonce})


# Given


@given(parsers.parse("{by:w} has issued a credential for wallets to {of:w}"))
def has_issued_for_wallets(world: World, by: str, of: str) -> None:
    wallet_issuer(world, by)
    schema(world, FOR_WALLETS)
    issued(world, by, of)


@given(parsers.parse("{by:w} has issued a credential for wallets to {of:w} that is valid from tomorrow on"))
def has_issued_for_later(world: World, by: str, of: str) -> None:
    wallet_issuer(world, by)
    issued(world, by, of, suite=1, validFrom=printed(datetime.now(UTC) + timedelta(days=1)))


# When


@when(parsers.parse("{by:w} offers it to a wallet"))
def offers(world: World, by: str) -> None:
    offer(world, by, {})


@when(parsers.parse("{by:w} offers it to a wallet with a transaction code"))
def offers_with_code(world: World, by: str) -> None:
    offer(world, by, {"transactionCode": True})


def offer(world: World, by: str, body: dict[str, Any]) -> None:
    credential_id = world.notes["credential"]["id"]
    answer = call(world, by, "createCredentialOffer", "CreateCredentialOfferRequest", body, credential_id=credential_id)
    if answer.status_code == 201:
        world.notes["offer"] = answer.parsed.to_dict()


# Then


@then("the wallet gets nothing without the transaction code")
def nothing_without_code(world: World) -> None:
    _, grant = offered(world)
    assert grant["tx_code"] == {"input_mode": "numeric", "length": 6}
    refused = redeem(world)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")


@then("the wallet collects it once")
def collects(world: World) -> None:
    collect(world)


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


@then(parsers.parse("the wallet can show that the age is at least {least:d} and not what it is"))
def shows_a_boolean(world: World, least: int) -> None:
    jwt, *disclosures, _ = world.notes["collected"].split("~")
    assert "age" not in json.loads(from_base64url(jwt.split(".")[1]))
    known = [json.loads(from_base64url(one)) for one in disclosures]
    (shown,) = (value for _, name, value in known if name == str(least))
    assert shown is True
