"""A whole service on a token: log key, answers key and token keys lie on it, and nothing else holds a private key."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from identity_commands.verify_log import verify
from identity_custodian_pkcs11.module import loaded
from pkcs11 import Attribute, ObjectClass

from identity_codec.jose import CompactJws, JoseKey
from tests import servers
from tests.attack.stranger import PREFIX, Answer, Holder
from tests.fault.service_process import API_KEY, STARTED, Running, eventually, service
from tests.softhsm import PIN, SoftHsm

NAMES = {"log", "answers", "token-1"}


@pytest.fixture(scope="module")
def token(softhsm: SoftHsm) -> str:
    return softhsm.new_token()


@pytest.fixture(scope="module")
def environment(softhsm: SoftHsm, token: str, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    pin = tmp_path_factory.mktemp("secrets") / "pin"
    pin.write_text(f"{PIN}\n")
    return {
        "IDENTITY_CUSTODIAN_BACKEND": "pkcs11",
        "IDENTITY_PLUGINS_PKCS11_MODULE": str(softhsm.module),
        "IDENTITY_PLUGINS_PKCS11_TOKEN": token,
        "IDENTITY_PLUGINS_PKCS11_PIN_FILE": str(pin),
        # A plugin that raises is answered each time, and not shut off in the middle of a test.
        "IDENTITY_PLUGINS_FAILURES_TO_OPEN": "1000",
        "IDENTITY_EXTENSIONS_ENABLED": "wallets",
    }


@pytest.fixture(scope="module")
def running(environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with service(tmp_path_factory.mktemp("served") / "data", environment=environment) as running:
        yield running


def log_keys(holder: Holder) -> list[str]:
    """The update keys of a log that verifies without the service."""
    verify(holder.log())
    keys: list[str] = json.loads(holder.log().splitlines()[0])["parameters"]["updateKeys"]
    return keys


def access_token(running: Running) -> Answer:
    body = {"grant_type": "client_credentials"}
    return running.wire.call("POST", f"{PREFIX}/auth/token", body, {"X-API-Key": API_KEY})


def names_on(softhsm: SoftHsm, token: str) -> set[str]:
    """The labels of the private keys."""
    module = loaded(softhsm.module)
    # This process may have started its library before the token was made.
    module.restart()
    (found,) = module.tokens(token)
    session = found.open(user_pin=PIN)
    names = {key[Attribute.LABEL] for key in session.get_objects({Attribute.CLASS: ObjectClass.PRIVATE_KEY})}
    session.close()
    return names


def identity(environment: Mapping[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    return servers.run(*map(str, arguments), environment={**inherited, **environment})


def test_a_service_runs_on_a_token(
    environment: Mapping[str, str], tmp_path: Path, softhsm: SoftHsm, token: str
) -> None:
    with service(tmp_path / "data", environment=environment) as running:
        holder = running.stranger.holder()
        keys = log_keys(holder)
        said = access_token(running)
        assert said.status == 200, said.body
        bearer = {"Authorization": f"Bearer {said.json['access_token']}"}
        assert running.wire.call("GET", f"{PREFIX}/dids", None, bearer).status == 200
        published = running.wire.call("GET", "/.well-known/jwks.json").json
    with service(tmp_path / "data", environment=environment) as again:
        assert log_keys(again.stranger.holder()) == keys, "the log key is another one after a restart"
        assert again.wire.call("GET", "/.well-known/jwks.json").json == published
    assert names_on(softhsm, token) >= NAMES
    assert not (tmp_path / "data" / "custodian.sqlite").exists()
    assert not (tmp_path / "data" / "custodian.key").exists()
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or PIN.encode() not in path.read_bytes(), f"the PIN is in {path}"


def test_several_workers_share_the_keys(environment: Mapping[str, str], tmp_path: Path) -> None:
    # A library of PKCS#11 that a process has opened is of no use to a copy of it.
    with service(tmp_path / "data", "--workers", "2", environment=environment, before=STARTED) as running:
        answers = [running.wire.call("GET", "/.well-known/jwks.json", fresh=True).json for _ in range(8)]
        assert all(answer == answers[0] for answer in answers)
        logs = []
        for _ in range(6):
            running.wire.close()
            logs.append(log_keys(running.stranger.holder()))
        assert all(keys == logs[0] for keys in logs)


def test_callers_keys_token_knows_are_kept_and_others_refused(running: Running) -> None:
    def body(kind: str, **more: object) -> dict[str, object]:
        return {"method": "ids", "keyType": kind, "options": {"storeSecrets": True} | more}

    kept = running.stranger.create(body("Ed25519", returnSecrets=False, recoveryKey=True))
    assert kept.status == 201, kept.body
    assert "privateKey" not in kept.body.decode()
    issuer = {"additionalKeys": [{"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}]}
    refused = running.stranger.create(body("Ed25519", **issuer))
    assert refused.outcome == (422, "INVALID_DOCUMENT")
    details = refused.json["error"]["details"]
    assert details["types"] == ["Bls12381G2Key2020"]
    assert details["supported"] == ["EcdsaSecp256r1VerificationKey2019", "Ed25519VerificationKey2020"]
    assert "storeSecrets" in refused.json["error"]["message"]


def test_a_verifiers_requests_to_wallets_are_signed_on_the_token(running: Running) -> None:
    on_p256 = {"type": "EcdsaSecp256r1VerificationKey2019", "purpose": ["assertionMethod"]}
    vera = running.stranger.holder(additionalKeys=[on_p256], storeSecrets=True)
    body = {"verifierDid": vera.did, "credentials": [{"id": "person", "schemaId": "urn:schema:person"}]}
    headers = {"X-API-Key": API_KEY}
    asked = running.wire.call("POST", f"{PREFIX}/presentation-requests", body, headers)
    assert asked.status == 201, asked.body
    answer = running.wire.call("GET", f"/openid/requests/{asked.json['id']}")
    jws = CompactJws.open(answer.body.decode(), longest=10_000)
    (method,) = [
        one for one in vera.resolve().json["didDocument"]["verificationMethod"] if one["type"] == on_p256["type"]
    ]
    assert jws.header["kid"] == method["id"]
    JoseKey.of_multikey(method["publicKeyMultibase"]).verify(jws)


def test_a_token_that_is_taken_out_costs_writes_only(running: Running, softhsm: SoftHsm, token: str) -> None:
    holder = running.stranger.holder()
    softhsm.take_out(token)
    body = {"method": "ids", "keyType": "Ed25519"}
    for _ in range(3):
        assert running.stranger.create(body).outcome == (503, "PLUGIN_UNAVAILABLE")
    assert access_token(running).outcome == (503, "PLUGIN_UNAVAILABLE")
    assert holder.resolve().status == 200
    eventually(lambda: running.wire.call("GET", "/ready").status == 503, "the service is not ready")
    softhsm.put_back(token)
    until = time.monotonic() + 60
    while (answer := running.stranger.create(body)).status != 201:
        assert time.monotonic() < until, answer.body
        time.sleep(0.1)
    assert log_keys(running.stranger.holder()) == log_keys(holder)
    said = running.log.read_text()
    assert "no token has the label" in said
    assert "is back" in said


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"IDENTITY_PLUGINS_PKCS11_PIN_FILE": ""}, "pin in [plugins.pkcs11] not set"),
        ({"IDENTITY_PLUGINS_PKCS11_TOKEN": "other"}, "no token has the label 'other'"),
        ({"IDENTITY_PLUGINS_PKCS11_MODULE": "/nowhere.so"}, "there is no PKCS#11 library /nowhere.so"),
        ({"IDENTITY_PLUGINS_PKCS11_CURVE": "P-256"}, "plugins.pkcs11.curve must be"),
        ({"IDENTITY_PLUGINS_PKCS11_PIN_FILE": "", "IDENTITY_PLUGINS_PKCS11_PIN": "wrong-pin"}, "the PIN is wrong"),
    ],
)
def test_errors_have_three_lines(
    environment: Mapping[str, str], tmp_path: Path, changed: Mapping[str, str], reason: str
) -> None:
    settings = {name: value for name, value in {**environment, **changed}.items() if value}
    done = identity(settings, "serve", "--port", "0", "--data-dir", tmp_path / "data")
    assert done.returncode != 0
    lines = done.stderr.strip().splitlines()[-3:]
    assert reason in lines[0]
    assert [line[:5] for line in lines] == ["error", "  at:", "  do:"]
    assert "wrong-pin" not in done.stderr


def test_keys_of_the_service_are_replaced_on_the_token(
    environment: Mapping[str, str], tmp_path: Path, softhsm: SoftHsm
) -> None:
    environment = {**environment, "IDENTITY_PLUGINS_PKCS11_TOKEN": softhsm.new_token()}
    label = environment["IDENTITY_PLUGINS_PKCS11_TOKEN"]
    with service(tmp_path / "data", "--workers", "2", environment=environment, before=STARTED) as running:
        holder, old = running.stranger.holder(), access_token(running).json["access_token"]
        for key in ("token", "log"):
            # The rotation waits for what is on its way to the ledger: twice this deadline.
            quick = {**environment, "IDENTITY_LEDGER_DEADLINE_SECONDS": "2"}
            done = identity(quick, "keys", "rotate", key, "--compromised", "--json", "--data-dir", tmp_path / "data")
            assert done.returncode == 0, done.stderr
        rotated = json.loads(done.stdout)
        assert log_keys(running.stranger.holder()) == [rotated["multikey"]]
        assert rotated["retired"] == log_keys(holder)
        fresh = access_token(running)
        assert fresh.status == 200, fresh.body
        for token, status in ((old, 401), (fresh.json["access_token"], 200)):
            bearer = {"Authorization": f"Bearer {token}"}
            assert running.wire.call("GET", f"{PREFIX}/dids", None, bearer).status == status
        names = names_on(softhsm, label)
        assert names >= {"log/2", "log/3", "service", "token-2", "token-3"}
        assert names.isdisjoint({"log", "token-1"}), "what was stolen is on the token still"
        update = {
            "operation": "addService",
            "service": {"id": "a", "type": "A", "serviceEndpoint": "https://a.example/"},
        }
        assert holder.act("update", update).status == 200
        assert verify(holder.log()).versions == 2


def test_an_installation_without_its_settings_does_without_it(tmp_path: Path) -> None:
    done = identity({"IDENTITY_DATA_DIR": str(tmp_path)}, "plugins", "list")
    assert done.returncode == 0
    assert ["pkcs11", "custodian", "available"] in [line.split()[:3] for line in done.stdout.splitlines()]
