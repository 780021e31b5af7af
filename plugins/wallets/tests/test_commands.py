"""An issuer offers a copy to a wallet, and a verifier asks that wallet, from the command line; the wallet is ``cryptography`` alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from identity_commands.local_server import LocalServer

from plugins.wallets.tests.test_http_presentations import FORM, Asked, bound, decoded
from plugins.wallets.tests.test_http_wallets import ATTRIBUTES, PRE_AUTHORIZED, Wallet
from tests.attack.conftest import Target
from tests.attack.stranger import Stranger, Wire
from tests.unit.cli.conftest import Commands

SCHEMA = "urn:schema:wallets-from-the-command-line"
KEYS = (
    "--key",
    "EcdsaSecp256r1VerificationKey2019",
    "assertionMethod",
    "--key",
    "Bls12381G2Key2020",
    "assertionMethod",
)


@pytest.fixture
def wallet(server: LocalServer) -> Wallet:
    wire = Wire(server.url)
    return Wallet(Target(wire, Stranger(wire, server.api_key), Path(), 1))


@pytest.fixture
def isa(remote: Commands, here: Path) -> Path:
    """The keys file of an issuer and verifier whose keys the service holds too."""
    remote.ok("did", "create", "--keys", here / "isa.json", "--store-secrets", *KEYS)
    return here / "isa.json"


def collected(identity: Commands, wallet: Wallet, credential: str, isa: Path) -> str:
    """Return what the wallet gets for an offer."""
    offer = identity.json("credential", "offer-copy", credential, "--keys", isa, "--transaction-code")
    (text,) = parse_qs(urlsplit(offer["uri"]).query)["credential_offer"]
    (issuer, grant) = json.loads(text)["credential_issuer"], json.loads(text)["grants"][PRE_AUTHORIZED]
    token = wallet.token(grant["pre-authorized_code"], tx_code=offer["transactionCode"]).json["access_token"]
    return str(wallet.credential(token, wallet.proof(issuer)).json["credentials"][0]["credential"])


def read(wallet: Wallet, uri: str) -> Asked:
    """Return what the wallet reads behind a link."""
    (place,) = parse_qs(urlsplit(uri).query)["request_uri"]
    said = json.loads(decoded(wallet.target.wire.call("GET", urlsplit(place).path).body.decode().split(".")[1]))
    return Asked(said["state"], said, urlsplit(said["response_uri"]).path)


def test_a_copy_is_offered_and_shown(
    server: LocalServer, remote: Commands, here: Path, isa: Path, wallet: Wallet
) -> None:
    identity = Commands({"IDENTITY_URL": server.url})
    schema = here / "schema.json"
    schema.write_text(json.dumps({"id": SCHEMA, "attributes": ATTRIBUTES}))
    remote.ok("credential", "schema", "create", schema)
    hana = remote.json("did", "create", "--keys", here / "hana.json")["did"]
    values = ("--value", "age", "34", "--value", "given_name", "Hana")
    issued = ("credential", "issue", "--keys", isa, "--holder", hana, "--schema", SCHEMA, *values)
    credential = identity.json(*issued)["id"]
    words = ("credential", "offer-copy", credential, "--keys", isa)
    assert re.fullmatch(r"openid-credential-offer://\S+\nuntil  \S+Z\n", identity.ok(*words))
    assert re.search(r"^code   [0-9]{6}$", identity.ok(*words, "--transaction-code"), re.MULTILINE)
    assert "FORBIDDEN" in identity.refused(*words[:-1], here / "hana.json")[0]
    copy = collected(identity, wallet, credential, isa)
    issuer = json.loads(isa.read_text())["did"]
    claims = ("--claim", "age_equal_or_over/18", "--claim", "given_name")
    asked = ("presentation", "request", "--keys", isa, "--schema", SCHEMA, "--issuer", issuer, *claims)
    uri, number, _ = identity.ok(*asked).splitlines()
    request_id = number.split()[1]
    shown = ("presentation", "show", request_id, "--keys", isa)
    assert identity.ok(*shown) == f"{request_id}  pending\n"
    seen = read(wallet, uri)
    assert [one["path"] for one in seen.said["dcql_query"]["credentials"][0]["claims"]] == [
        ["age_equal_or_over", "18"],
        ["given_name"],
    ]
    presented = {"credential": [bound(copy, wallet, seen, ("age_equal_or_over", "18", "given_name"))]}
    form = urlencode({"vp_token": json.dumps(presented), "state": seen.said["state"]}).encode()
    assert wallet.target.wire.call("POST", seen.path, form, FORM).status == 200
    told = identity.ok(*shown)
    assert told.startswith(f"{request_id}  presented at ")
    assert f"  issuer  {issuer}\n" in told
    assert '  age_equal_or_over = {"18":true}\n' in told
    assert "  given_name = Hana\n" in told
    assert "no caller is named" in identity.refused("presentation", "show", request_id, status=2)[0]


def test_wallet_request_is_specified_once(
    server: LocalServer, remote: Commands, here: Path, isa: Path, wallet: Wallet
) -> None:
    identity = Commands({"IDENTITY_URL": server.url})
    wanted = here / "wanted.json"
    credentials: list[dict[str, Any]] = [{"id": "one", "schemaId": "urn:one"}, {"id": "two", "schemaId": "urn:two"}]
    sets = [{"options": [["one"], ["two"]], "required": True}]
    wanted.write_text(json.dumps({"credentials": credentials, "credentialSets": sets}))
    words = ("presentation", "request", "--keys", isa)
    for wrong in ((), ("--schema", "urn:one", "--wanted", wanted), ("--wanted", wanted, "--claim", "age")):
        assert "what is the wallet asked for?" in identity.refused(*words, *wrong, status=2)[0]
    assert "who asks the wallet?" in remote.refused("presentation", "request", "--schema", "urn:one", status=2)[0]
    back = ("--redirect-uri", "https://shop.example/done")
    made = identity.json(*words, "--wanted", wanted, *back)
    assert [one["id"] for one in read(wallet, made["uri"]).said["dcql_query"]["credentials"]] == ["one", "two"]
    assert read(wallet, made["uri"]).said["dcql_query"]["credential_sets"] == sets
    assert read(wallet, made["uri"]).said["response_mode"] == "direct_post"
    made = identity.json(*words, "--schema", "urn:one", "--encrypted")
    assert read(wallet, made["uri"]).said["response_mode"] == "direct_post.jwt"
    # An operator asks in the name of who is named.
    verifier = json.loads(isa.read_text())["did"]
    made = remote.json("presentation", "request", "--verifier", verifier, "--schema", "urn:one")
    assert read(wallet, made["uri"]).said["client_id"] == f"decentralized_identifier:{verifier}"
    assert remote.json("presentation", "show", made["id"])["state"] == "pending"
