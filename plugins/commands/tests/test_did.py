"""identity did and identity auth against a running service."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from identity_commands.local_server import LocalServer
from identity_commands.wallet import Wallet, make_key
from identity_did_jwk.method import DidJwk
from identity_did_key.method import DidKey

from identity_client import Session
from tests.unit.cli.conftest import Commands

BLS = "Bls12381G2Key2020"
Held = Callable[[], dict[str, Any]]


def test_create_keeps_the_keys_in_the_file(remote: Commands, here: Path) -> None:
    path = here / "hana.json"
    keys = ("--key", "X25519KeyAgreementKey2020", "keyAgreement", "--key", "Bls12381G2Key2020", "assertionMethod")
    said = remote.ok("did", "create", "--keys", path, *keys, "--service", "LinkedDomains", "https://hana.example/")
    held = json.loads(path.read_text())
    assert held["did"] in said
    assert set(held["keys"]) == {"authentication", "keyAgreement", "assertionMethod", "recovery"}
    assert all(key["keyId"] == f"{held['did']}#{key['publicKey']}" for key in held["keys"].values())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not [key["privateKey"] for key in held["keys"].values() if key["privateKey"] in said]
    assert list(here.iterdir()) == [path]
    document = remote.json("did", "resolve", held["did"])["didDocument"]
    shown = {method["publicKeyMultibase"] for method in document["verificationMethod"]}
    assert shown == {key["publicKey"] for name, key in held["keys"].items() if name != "recovery"}
    assert document["service"][0]["serviceEndpoint"] == "https://hana.example/"


def test_a_key_that_signs_credentials_joins_in_a_second_version(remote: Commands, here: Path) -> None:
    path = here / "ivo.json"
    more = ("--key", BLS, "assertionMethod", "--key", BLS, "assertionMethod")
    made = remote.json("did", "create", "--keys", path, *more)
    assert "privateKey" not in json.dumps(made)
    held = json.loads(path.read_text())
    joined = [held["keys"]["assertionMethod"], *held["keys"]["additional"]]
    assert made["didDocument"]["assertionMethod"][-2:] == [key["keyId"] for key in joined]
    lines = remote.ok("did", "log", "get", held["did"]).splitlines()
    assert set(json.loads(lines[1])["proof"][0]["possession"]) == {key["publicKey"] for key in joined}
    assert "--keys" in remote.refused("did", "create", "--show-secrets", *more, status=2)[2]


def test_a_second_version_that_is_refused_leaves_the_did(
    remote: Commands, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = here / "ivo.json"
    with monkeypatch.context() as patched:
        patched.setattr("identity_commands.did_update.proof_of_possession", lambda did, secret: "A" * 107)
        said = remote.refused("did", "create", "--keys", path, "--key", BLS, "assertionMethod")
    assert "INVALID_DOCUMENT" in said[0]
    held = json.loads(path.read_text())
    assert held["did"] in said[1]
    assert "--new-key" in said[2]
    assert "pending" not in held
    assert [key["type"] for key in held["keys"]["retired"]] == [BLS]
    shown = remote.json("did", "update", "--keys", path, "--new-key", BLS, "assertionMethod")
    filed = json.loads(path.read_text())["keys"]["assertionMethod"]
    assert shown["didDocument"]["assertionMethod"][-1] == filed["keyId"]
    remote.ok("did", "rotate", "--keys", path, "--old-key", filed["keyId"])
    assert json.loads(path.read_text())["keys"]["assertionMethod"]["type"] == BLS


def test_a_key_from_elsewhere_brings_its_proof(remote: Commands, here: Path, wallet: Path, read_wallet: Held) -> None:
    key = make_key(BLS)
    secret = here / "secret"
    secret.write_text(key["privateKey"] + "\n")
    proof = remote.ok("did", "possession", read_wallet()["did"], secret).strip()
    added = ("--add-key", BLS, key["publicKey"], "assertionMethod")
    assert "proofOfPossession" in "".join(remote.refused("did", "update", "--keys", wallet, *added))
    other = remote.ok("did", "possession", "did:ids:other", secret).strip()
    wrong = remote.refused("did", "update", "--keys", wallet, *added, "--possession", key["publicKey"], other)
    assert "INVALID_DOCUMENT" in wrong[0]
    shown = remote.json("did", "update", "--keys", wallet, *added, "--possession", key["publicKey"], proof)
    assert shown["didDocument"]["assertionMethod"][-1].endswith(key["publicKey"])
    given = ("--also-known-as", "https://hana.example/")
    stray = remote.refused("did", "update", "--keys", wallet, *given, "--possession", key["publicKey"], proof, status=2)
    assert "--add-key" in stray[2]
    secret.write_text(make_key("Ed25519")["privateKey"])
    assert BLS in remote.refused("did", "possession", read_wallet()["did"], secret)[0]


def test_create_prints_secrets_only_when_asked(remote: Commands, here: Path) -> None:
    assert "z3u2" not in remote.ok("did", "create", "--keys", here / "a.json", "--json")
    body = json.loads(remote.ok("did", "create", "--show-secrets"))
    assert body["keys"]["authentication"]["privateKey"].startswith("z3u2")
    assert body["keys"]["recovery"]["keyId"].startswith(body["did"])


def test_create_with_a_key_from_elsewhere(remote: Commands) -> None:
    key = make_key("Ed25519")
    given = ("--public-key", "Ed25519VerificationKey2020", key["publicKey"], "authentication")
    body = remote.json("did", "create", *given)
    assert body["didDocument"]["authentication"] == [f"{body['did']}#{key['publicKey']}"]


def test_keys_that_the_service_makes_and_keeps(remote: Commands, here: Path) -> None:
    path = here / "ivo.json"
    more = ("--key", "Bls12381G2Key2020", "assertionMethod", "--key", "Bls12381G2Key2020", "assertionMethod")
    said = remote.ok("did", "create", "--store-secrets", "--keys", path, *more, "--json")
    held = json.loads(path.read_text())
    assert "privateKey" not in said
    assert set(held["keys"]) == {"authentication", "assertionMethod", "additional", "recovery"}
    assert held["keys"]["assertionMethod"] == make_key("Bls12381G2Key2020") | held["keys"]["assertionMethod"]
    assert "pending" not in held
    remote.ok("did", "update", "--keys", path, "--also-known-as", "https://ivo.example/")
    shown = json.loads(remote.ok("did", "create", "--store-secrets", "--show-secrets", "--no-recovery-key"))
    assert list(shown["keys"]) == ["authentication"]
    assert shown["keys"]["authentication"]["privateKey"].startswith("z3u2")


def test_a_key_from_elsewhere_is_not_kept_by_the_service(remote: Commands) -> None:
    given = ("--public-key", "Ed25519VerificationKey2020", make_key("Ed25519")["publicKey"], "authentication")
    assert "--store-secrets" in remote.refused("did", "create", "--store-secrets", *given, status=2)[1]


def test_create_of_another_method(remote: Commands, here: Path) -> None:
    remote.ok("did", "create", "--method", "key", "--keys", here / "key.json")
    assert json.loads((here / "key.json").read_text())["did"].startswith("did:key:z6Mk")


def test_create_overwrites_no_keys(remote: Commands, wallet: Path) -> None:
    before = wallet.read_bytes()
    assert "exists" in remote.refused("did", "create", "--keys", wallet)[0]
    assert wallet.read_bytes() == before


def test_a_refused_creation_leaves_no_file(server: LocalServer, here: Path) -> None:
    lines = Commands({"IDENTITY_URL": server.url}).refused("did", "create", "--keys", here / "hana.json")
    assert "AUTH_REQUIRED" in lines[0]
    assert "--api-key" in lines[2]
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("more", [(), ("--store-secrets",)])
def test_a_creation_that_was_broken_off_is_finished(
    remote: Commands, server: LocalServer, here: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    path = here / "hana.json"
    with monkeypatch.context() as patched:
        save, saves = Wallet.save, []

        def dies_the_second_time(self: Wallet, *, new: bool = False) -> None:
            saves.append(new)
            if len(saves) == 2:
                raise OSError(28, "No space left on device")
            save(self, new=new)

        patched.setattr(Wallet, "save", dies_the_second_time)
        remote.refused("did", "create", "--keys", path, *more)
    half = json.loads(path.read_text())
    assert half["did"] is None
    remote.refused("did", "rotate", "--keys", path)
    made = owned(server)
    remote.ok("did", "create", "--keys", path)
    whole = json.loads(path.read_text())
    # The DID that the service had made already, not a second one.
    assert whole["did"] in made
    assert owned(server) == made
    assert "pending" not in whole
    remote.ok("did", "update", "--keys", path, "--also-known-as", "https://hana.example/")


def owned(server: LocalServer) -> set[str]:
    answer = httpx.get(f"{server.url}/api/v1/dids?limit=200", headers={"X-API-Key": server.api_key})
    return {item["did"] for item in answer.json()["items"]}


def test_update_in_one_version(remote: Commands, wallet: Path, read_wallet: Held) -> None:
    one, other = ("LinkedDomains", "https://one.example/"), ("LinkedDomains", "https://other.example/")
    key = make_key("X25519KeyAgreementKey2020")["publicKey"]
    added = ("--add-key", "X25519KeyAgreementKey2020", key, "keyAgreement")
    said = remote.ok("did", "update", "--keys", wallet, "--add-service", "files", *one, *added)
    assert "version 2\n" in said
    body = remote.json("did", "update", "--keys", wallet, "--update-service", "files", *other)
    assert body["versionId"] == 3
    assert body["didDocument"]["service"][0]["serviceEndpoint"] == other[1]
    key_id = f"{read_wallet()['did']}#{key}"
    gone = remote.json("did", "update", "--keys", wallet, "--remove-service", "files", "--remove-key", key_id)
    assert "service" not in gone["didDocument"]


def test_witnesses_are_some_or_none(remote: Commands, wallet: Path) -> None:
    name = ("--witness", "did:key:" + make_key("Ed25519")["publicKey"])
    assert remote.refused("did", "update", "--keys", wallet, "--no-witness", *name, status=2)[0]
    # The DID is a did:ids: its entries have no place for them.
    for words in (name, ("--no-witness",), (*name, "--witness-threshold", "1")):
        assert "INVALID_DOCUMENT" in remote.refused("did", "update", "--keys", wallet, *words)[0]


def test_a_verifier_demands_place_and_time(remote: Commands, read_wallet: Held) -> None:
    did = read_wallet()["did"]
    shown = remote.json("did", "resolve", did, "--require-position", "--version-id", "1")
    assert shown["didDocumentMetadata"]["ledger"]["index"] >= 0
    # This service has no witnesses.
    assert "no quorum of witnesses" in remote.refused("did", "resolve", did, "--cosigned-within", "600")[0]


def test_rotate_files_the_new_key(remote: Commands, wallet: Path, read_wallet: Held) -> None:
    old = read_wallet()["keys"]["authentication"]
    said = remote.ok("did", "rotate", "--keys", wallet, "--grace-hours", "24")
    now = read_wallet()["keys"]
    assert now["authentication"]["keyId"] in said
    assert now["retired"] == [old]
    assert "privateKey" not in json.dumps(remote.json("did", "rotate", "--keys", wallet))
    assert len(read_wallet()["keys"]["retired"]) == 2
    assert "pending" not in read_wallet()
    remote.ok("did", "update", "--keys", wallet, "--also-known-as", "https://hana.example/")


def test_rotate_of_another_key(remote: Commands, here: Path) -> None:
    path = here / "hana.json"
    remote.ok("did", "create", "--keys", path, "--key", "X25519KeyAgreementKey2020", "keyAgreement")
    old = json.loads(path.read_text())["keys"]["keyAgreement"]
    remote.ok("did", "rotate", "--keys", path, "--old-key", f"#{old['publicKey']}")
    filed = json.loads(path.read_text())["keys"]
    assert filed["keyAgreement"]["type"] == "X25519KeyAgreementKey2020"
    assert filed["keyAgreement"] != old
    assert filed["retired"] == [old]


def test_a_refused_rotation_changes_nothing_and_loses_nothing(
    remote: Commands, wallet: Path, read_wallet: Held
) -> None:
    before = read_wallet()["keys"]
    unknown = ("--old-key", "#z6MkjXRqfv2JsNWMeoQuZ9m8uWzyt6GoLQgeYLVyj7UJuiBi", "--key-type", "Ed25519")
    assert "INVALID_DOCUMENT" in remote.refused("did", "rotate", "--keys", wallet, *unknown)[0]
    after = read_wallet()["keys"]
    assert len(after.pop("retired")) == 1
    assert after == before


def test_recover_spends_and_replaces_the_recovery_key(remote: Commands, wallet: Path, read_wallet: Held) -> None:
    before = read_wallet()["keys"]
    said = remote.ok("did", "recover", "--keys", wallet)
    assert "version 2\n" in said
    after = read_wallet()["keys"]
    assert after["retired"] == [before["authentication"], before["recovery"]]
    assert remote.json("did", "recover", "--keys", wallet)["versionId"] == 3
    remote.ok("did", "update", "--keys", wallet, "--also-known-as", "https://hana.example/")


def test_recover_may_keep_the_other_keys(remote: Commands, wallet: Path, read_wallet: Held) -> None:
    before = read_wallet()["keys"]["authentication"]
    body = remote.json("did", "recover", "--keys", wallet, "--keep-keys")
    assert before["publicKey"] in json.dumps(body["didDocument"])


def test_recover_undoes_what_happened_since_a_version(remote: Commands, wallet: Path, read_wallet: Held) -> None:
    remote.ok("did", "update", "--keys", wallet, "--also-known-as", "https://thief.example/")
    body = remote.json("did", "recover", "--keys", wallet, "--keep-keys", "--restore-version", "1")
    assert "thief" not in json.dumps(body["didDocument"])
    assert read_wallet()["keys"]["authentication"]["publicKey"] in json.dumps(body["didDocument"])
    assert "versionRestored 1" in remote.ok("did", "history", body["did"])
    assert "no such version" in remote.refused("did", "recover", "--keys", wallet, "--restore-version", "9")[0]
    remote.ok("did", "update", "--keys", wallet, "--also-known-as", "https://hana.example/")


@pytest.mark.parametrize("operation", ["rotate", "recover"])
@pytest.mark.parametrize("sent", [True, False], ids=["sent", "not_sent"])
def test_an_operation_that_was_broken_off_is_settled(
    remote: Commands, wallet: Path, read_wallet: Held, monkeypatch: pytest.MonkeyPatch, operation: str, sent: bool
) -> None:
    """The process dies between the answer and the file, or before the request."""

    def dies(self: Wallet | Session, *_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    before = read_wallet()["keys"]["authentication"]
    with monkeypatch.context() as patched:
        patched.setattr(*((Wallet, "finish", dies) if sent else (Session, operation, dies)))
        remote.refused("did", operation, "--keys", wallet)
    pending = read_wallet()["pending"]["keys"]
    fresh = (pending.get("new") or pending["authentication"])["publicKey"]
    remote.ok("did", "update", "--keys", wallet, "--also-known-as", "https://hana.example/")
    after = read_wallet()
    assert "pending" not in after
    assert (after["keys"]["authentication"]["publicKey"] == fresh) is sent
    assert (after["keys"]["authentication"] == before) is not sent
    # Nothing is thrown away, whichever way it went.
    assert fresh in json.dumps(after)
    assert before["privateKey"] in json.dumps(after)


def test_deactivate_resolve_and_history(remote: Commands, wallet: Path, read_wallet: Held) -> None:
    did = read_wallet()["did"]
    assert "final" in remote.refused("did", "deactivate", "--keys", wallet, status=2)[0]
    assert "is deactivated" in remote.ok("did", "deactivate", "--keys", wallet, "--confirm", "--reason", "done")
    lines = remote.refused("did", "resolve", did)
    assert "DID_DEACTIVATED" in lines[0]
    assert "request " in lines[1]
    # "later requests for the DID give 410 DID_DEACTIVATED" (specification, "States and transitions").
    lines = remote.refused("did", "history", did)
    assert "DID_DEACTIVATED" in lines[0]
    assert "identity did log get" in "".join(lines)
    assert '"deactivated":true' in remote.ok("did", "log", "get", did)


def test_history_page_by_page(remote: Commands, wallet: Path, read_wallet: Held) -> None:
    did = read_wallet()["did"]
    remote.ok("did", "rotate", "--keys", wallet)
    assert [item["operation"] for item in remote.json("did", "history", did)["items"]] == ["create", "keyRotated"]
    page = remote.ok("did", "history", did, "--limit", "1")
    cursor = page.splitlines()[-1].removeprefix("more: --cursor ")
    assert "keyRotated" in remote.ok("did", "history", did, "--limit", "1", "--cursor", cursor)


def test_the_log_is_checked_without_the_service(
    remote: Commands, identity: Commands, wallet: Path, read_wallet: Held
) -> None:
    did = read_wallet()["did"]
    remote.ok("did", "rotate", "--keys", wallet)
    text = remote.ok("did", "log", "get", did)
    assert len(remote.json("did", "log", "get", did)) == 2
    assert identity.ok("did", "log", "verify", "-", input=text).startswith(f"{did}\nvalid, 2 versions")
    assert identity.json("did", "log", "verify", "-", input=text)["versions"] == 2
    first = text.splitlines()[0]
    assert identity.ok("did", "log", "verify", "-", input=first).startswith(f"{did}\nvalid, 1 version,")
    forged = text.replace('"updateKeys"', '"updatekeys"', 1)
    assert "not valid" in identity.refused("did", "log", "verify", "-", input=forged)[0]


def test_auth_sign_serves_once_for_what_it_was_bound_to(
    remote: Commands, server: LocalServer, wallet: Path, read_wallet: Held, here: Path
) -> None:
    body = {"operation": "setAlsoKnownAs", "alsoKnownAs": ["https://hana.example/"]}
    (here / "body.json").write_text(json.dumps(body))
    header = remote.ok("auth", "sign", "--keys", wallet, "--purpose", "update", "--body", "body.json").strip()
    url = f"{server.url}/api/v1/dids/{read_wallet()['did']}"
    headers = {"Authorization": header}
    assert httpx.patch(url, json=body | {"alsoKnownAs": []}, headers=headers).status_code == 401
    assert httpx.patch(url, json=body, headers=headers).status_code == 200
    assert httpx.patch(url, json=body, headers=headers).status_code == 401


def test_auth_sign_signs_nothing_else(remote: Commands, wallet: Path, read_wallet: Held, here: Path) -> None:
    said = remote.json("auth", "sign", "--keys", wallet, "--purpose", "read")
    again = ("auth", "sign", "--keys", wallet, "--purpose", "read", "--challenge")
    assert remote.ok(*again, said["challenge"]).strip() == said["authorization"]
    for text in ("", "hello", '{"did": "x"}', said["challenge"] + " ", said["challenge"].replace("did:ids", "did:web")):
        lines = remote.refused(*again, text)
        assert "z3u2" not in "".join(lines)
    assert "something else" in remote.refused(*again, said["challenge"].replace(" read ", " token "))[0]
    (here / "body.json").write_text("{")
    assert "not JSON" in remote.refused("auth", "sign", "--keys", wallet, "--purpose", "read", "--body", "body.json")[0]


def test_auth_sign_refuses_a_challenge_for_any_change(remote: Commands, wallet: Path, read_wallet: Held) -> None:
    """In the log of a DID without ``strictEvidence`` its signature serves for every change."""
    read_wallet()
    asked = ("auth", "sign", "--keys", wallet, "--purpose")
    assert "not bound to a purpose and a body" in remote.refused(*asked, "update")[0]
    bound = str(remote.json(*asked, "read")["challenge"])
    unbound = bound.replace(" read ", " - ")
    assert "not bound to a purpose and a body" in remote.refused(*asked, "read", "--challenge", unbound)[0]
    remote.refused("auth", "sign", "--keys", wallet, status=2)


def test_create_asks_for_strict_evidence(remote: Commands, read_wallet: Held, here: Path) -> None:
    first = remote.json("did", "log", "get", read_wallet()["did"])[0]
    assert first["parameters"]["change"]["strictEvidence"] is True
    plain = remote.json("did", "create", "--keys", here / "plain.json", "--no-strict-evidence")["did"]
    assert "strictEvidence" not in remote.json("did", "log", "get", plain)[0]["parameters"]["change"]
    # The entries of this method hold no evidence.
    assert remote.json("did", "create", "--method", "key", "--keys", here / "key.json")["did"].startswith("did:key:")


def test_a_did_key_is_not_distrusted_for_its_log(remote: Commands, identity: Commands, here: Path) -> None:
    """Its one recorded entry is not a log of a chain, and its document needs none."""
    did = remote.json("did", "create", "--method", "key", "--keys", here / "key.json")["did"]
    text, key = remote.ok("did", "log", "get", did), remote.ok("ledger", "key").strip()
    (here / "log").write_text(text)
    (here / "proof").write_text(remote.ok("ledger", "prove", did))
    remote.ok("ledger", "verify", did, "--key", key, "--save", here / "kept")
    placed = ("--key", key, "--service-history", here / "kept", "--proof", here / "proof")
    for more in ((), ("--did", did), placed):
        what, _, remedy = identity.refused("did", "log", "verify", here / "log", *more)
        assert "trust" not in what + remedy
        assert "of this method cannot be checked alone" in what
        assert "identity ledger verify DID" in remedy
    given = ("--log", here / "log", "--proof", here / "proof", "--key", key)
    what, _, remedy = identity.refused("ledger", "verify", *given)
    assert "of this method cannot be checked alone" in what
    assert "give the DID too" in remedy


def test_a_did_without_entries_says_that_it_has_no_log(remote: Commands) -> None:
    for method in (DidJwk, DidKey):
        (did,) = method.test_identifiers
        remote.ok("did", "resolve", did)
        assert "no log of the DID" in remote.refused("did", "log", "get", did)[0]


def test_strict_evidence_begins_later(remote: Commands, identity: Commands, here: Path) -> None:
    """The changes before stay counted: the log key alone could have recorded them with a signature for something else."""
    keys = here / "plain.json"
    did = remote.json("did", "create", "--keys", keys, "--no-strict-evidence")["did"]
    service = ("did", "update", "--keys", keys, "--add-service", "files", "LinkedDomains", "https://hana.example/")
    remote.ok(*service)
    assert remote.json("did", "update", "--keys", keys, "--strict-evidence")["versionId"] == 3
    assert "already" in remote.refused("did", "update", "--keys", keys, "--strict-evidence")[0]
    remote.ok("did", "rotate", "--keys", keys)
    text = remote.ok("did", "log", "get", did)
    assert "unbound: 1 change" in identity.ok("did", "log", "verify", "-", input=text)
    assert identity.json("did", "log", "verify", "-", input=text)["unboundChanges"] == 1
    assert remote.json("did", "resolve", did)["didDocumentMetadata"]["unboundChanges"] == 1


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"did": 1, "keys": {}}', '{"did": "x", "keys": []}', '{"keys": {}}'])
def test_a_file_that_holds_no_keys(identity: Commands, here: Path, text: str) -> None:
    (here / "hana.json").write_text(text)
    identity.refused("did", "rotate", "--keys", "hana.json")


def test_a_file_without_the_private_key(remote: Commands, wallet: Path, read_wallet: Held) -> None:
    value = read_wallet()
    del value["keys"]["recovery"]["privateKey"]
    wallet.write_text(json.dumps(value))
    assert "no private recovery key" in remote.refused("did", "recover", "--keys", wallet)[0]
