"""A wallet that we did not write collects a credential and presents it, as it comes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from identity_codec import multikey
from identity_codec.jose import JoseKey
from plugins.wallets.tests.test_http_copy_status import set_status
from plugins.wallets.tests.test_http_presentations import Story, collected
from plugins.wallets.tests.test_http_wallets import Issuer, Wallet, issuer_key
from tests.attack.conftest import Target
from tests.attack.stranger import GENEROUS, Stranger, Wire
from tests.made_once import once
from tests.servers import local_server

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def wallet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the script and ``node_modules``, as the lock file says."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        if os.environ.get("CI"):
            pytest.fail("node and npm are not installed")
        pytest.skip("node and npm are not installed")

    def install(folder: Path) -> None:
        for name in ("package.json", "package-lock.json", ".npmrc", "wallet.mjs", "status.mjs"):
            shutil.copy(HERE / name, folder)
        subprocess.run([npm, "ci"], cwd=folder, check=True, capture_output=True, timeout=300)

    return once(tmp_path_factory, "wallets", install)


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with local_server(environment=GENEROUS) as server:
        wire = Wire(server.url)
        yield Story.open(Target(wire, Stranger(wire, server.api_key), server.data_dir, 1))
        wire.close()


def do(wallet: Path, story: Story, asked: dict[str, Any], **said: Any) -> Any:
    """What the wallet collects for an offer, and what it says of the request."""
    kind, raw = multikey.decode_public(issuer_key(story.issuer)[1])
    methods = story.vera.resolve().json["didDocument"]["verificationMethod"]
    keys = {one["id"]: multikey.decode_public(one["publicKeyMultibase"]) for one in methods}
    jwks = {name: JoseKey(*key).jwk for name, key in keys.items() if key[0] in (multikey.P256, multikey.ED25519)}
    said |= {"issuerKey": JoseKey(kind, raw).jwk, "request": asked["uri"], "verifierKeys": jwks}
    return ran(wallet, "wallet.mjs", said)


def ran(wallet: Path, script: str, said: dict[str, Any]) -> Any:
    done = subprocess.run(
        ["node", script], cwd=wallet, input=json.dumps(said), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("with_code", [False, True], ids=["code", "code and transaction code"])
def test_it_collects_and_presents(wallet: Path, story: Story, with_code: bool) -> None:
    offer = story.issuer.offer(transactionCode=with_code).json
    asked = story.ask(redirectUri="https://shop.example/done").json
    code = {"transactionCode": offer["transactionCode"]} if with_code else {}
    found = do(wallet, story, asked, offer=offer["uri"], **code)
    assert found["claims"]["age_equal_or_over"] == {"18": True, "21": True, "65": False}
    assert found["claims"]["given_name"] == "Hana"
    assert (found["prefix"], found["verifier"]) == (
        "decentralized_identifier",
        f"decentralized_identifier:{story.vera.did}",
    )
    assert found["status"] == 200
    assert found["answer"].keys() == {"redirect_uri"}
    assert found["answer"]["redirect_uri"].startswith("https://shop.example/done?response_code=")
    presented = story.result(asked["id"]).json
    (one,) = presented["credentials"]
    assert (presented["state"], one["issuerDid"]) == ("presented", story.issuer.ivo.did)
    assert one["claims"]["age_equal_or_over"] == {"18": True}
    assert {"age", "given_name"}.isdisjoint(one["claims"])


def test_it_chooses_what_is_enough_and_encrypts_it(wallet: Path, story: Story) -> None:
    """It has no card, no holder of 65, and of the person the second of the combinations."""
    schema = story.issuer.schema_id
    claims = [
        {"id": "senior", "path": ["age_equal_or_over", "65"], "values": [True]},
        {"id": "adult", "path": ["age_equal_or_over", "18"], "values": [True]},
        {"id": "name", "path": ["given_name"], "values": ["Eve", "Hana"]},
    ]
    asked = story.ask(
        credentials=[
            {"id": "card", "schemaId": "urn:schema:membership"},
            {"id": "person", "schemaId": schema, "claims": claims, "claimSets": [["senior"], ["adult", "name"]]},
            {"id": "senior", "schemaId": schema, "claims": claims[:1]},
        ],
        credentialSets=[{"options": [["card"], ["person"]]}, {"options": [["senior"]], "required": False}],
        encrypted=True,
    ).json
    found = do(wallet, story, asked, offer=story.issuer.offer().json["uri"])
    assert (found["canBeSatisfied"], found["shown"], found["responseMode"]) == (True, ["person"], "direct_post.jwt")
    assert (found["status"], found["answer"]) == (200, {})
    presented = story.result(asked["id"]).json
    (one,) = presented["credentials"]
    assert (presented["state"], one["id"]) == ("presented", "person")
    assert one["claims"]["age_equal_or_over"] == {"18": True}
    assert (one["claims"]["given_name"], "age" in one["claims"]) == ("Hana", False)


def test_it_learns_that_a_copy_is_suspended_or_revoked(wallet: Path, story: Story) -> None:
    """What @sd-jwt/sd-jwt-vc finds out by itself, from the copy and the issuer's key alone."""
    issuer = Issuer.open(story.issuer.target)
    credential = collected(issuer, Wallet(story.issuer.target))
    kind, raw = multikey.decode_public(issuer_key(issuer)[1])

    def refused() -> str | None:
        found = ran(wallet, "status.mjs", {"credential": credential, "issuerKey": JoseKey(kind, raw).jwk})
        ((url, *answer),) = found["fetched"]
        assert url.startswith(f"{story.vera.wire.url}/openid/status/")
        assert answer == [200, "application/statuslist+jwt"]
        error: str | None = found["error"]
        return error

    assert refused() is None
    set_status(issuer, issuer.credential_id, "suspension", True)
    assert refused() == "Status is not valid"
    set_status(issuer, issuer.credential_id, "suspension", False)
    assert refused() is None
    set_status(issuer, issuer.credential_id, "revocation", True)
    assert refused() == "Status is not valid"
