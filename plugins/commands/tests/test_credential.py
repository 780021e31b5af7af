"""identity credential: schemas, issuing, signing here and importing, status, checking with and without the service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Commands

ATTRIBUTES = [
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 150},
    {"name": "name", "type": "string"},
    {"name": "born", "type": "date"},
]
BLS = ("--key", "Bls12381G2Key2020", "assertionMethod")


@pytest.fixture
def schema(remote: Commands, here: Path) -> Path:
    """A file with a registered schema."""
    path = here / "schema.json"
    path.write_text(json.dumps({"attributes": ATTRIBUTES}))
    path.write_text(json.dumps(remote.json("credential", "schema", "create", path)))
    return path


@pytest.fixture
def issuer(remote: Commands, here: Path) -> Path:
    """The keys file of a DID that signs credentials here."""
    path = here / "ivo.json"
    remote.ok("did", "create", "--keys", path, *BLS)
    return path


def did_of(wallet: Path) -> str:
    return str(json.loads(wallet.read_text())["did"])


def signed(remote: Commands, issuer: Path, schema: Path, wallet: Path, *more: str) -> dict[str, Any]:
    """Return what `sign` prints for a credential of Hana."""
    values = ("--value", "age", "24", "--value", "name", "Hana", "--value", "born", "2001-04-01")
    said = remote.ok(
        "credential", "sign", "--keys", issuer, "--holder", did_of(wallet), "--schema", schema, *values, *more
    )
    body: dict[str, Any] = json.loads(said)
    return body


@pytest.fixture
def imported(remote: Commands, here: Path, issuer: Path, schema: Path, wallet: Path) -> dict[str, Any]:
    """The record of a credential that Ivo signed at this machine."""
    path = here / "signed.json"
    path.write_text(json.dumps(signed(remote, issuer, schema, wallet)))
    record: dict[str, Any] = remote.json("credential", "import", path, "--keys", issuer)
    return record


def test_a_schema_is_registered_got_and_listed(remote: Commands, schema: Path) -> None:
    made = json.loads(schema.read_text())
    assert made["id"].startswith("urn:uuid:")
    # Which key registered it is for administrators.
    shown = remote.json("credential", "schema", "get", made["id"])
    assert {**shown, "createdBy": None} == {**made, "createdBy": None}
    assert (shown["createdBy"], "fingerprint" in made["createdBy"]) == ({"kind": "apiKey"}, True)
    assert "age  integer  minimum 0  maximum 150" in remote.ok("credential", "schema", "get", made["id"])
    assert made["id"] in remote.ok("credential", "schema", "list", "--limit", "200")


def test_schema_errors_are_readable(remote: Commands, here: Path) -> None:
    (here / "wrong.json").write_text('{"attributes": [{"name": "age"}]}')
    said = remote.refused("credential", "schema", "create", here / "wrong.json")
    assert '/attributes/0, "type" is a required property' in said[1]
    assert "Correct each place" in said[2]


def test_a_schema_may_bring_its_id_and_its_registrant(remote: Commands, here: Path, wallet: Path, schema: Path) -> None:
    name = f"{did_of(wallet)}#{here.name}"
    made = remote.json("credential", "schema", "create", schema, "--id", name, "--keys", wallet)
    assert (made["id"], made["createdBy"]["did"]) == (name, did_of(wallet))
    assert "CONFLICT" in remote.refused("credential", "schema", "create", schema, "--id", name)[0]


def test_locally_signed_credential_is_imported(
    remote: Commands, here: Path, wallet: Path, imported: dict[str, Any]
) -> None:
    assert imported["status"] == "active"
    assert "proofValue" not in imported["credential"]["proof"]
    path = here / "credential.json"
    path.write_text(json.dumps(remote.json("credential", "show", imported["id"], "--keys", wallet)))
    assert "name = Hana" in remote.ok("credential", "show", imported["id"], "--keys", wallet)
    assert remote.ok("credential", "verify", path).startswith("verified")
    changed = json.loads(path.read_text())
    changed["credential"]["credentialSubject"]["age"] = 25
    path.write_text(json.dumps(changed))
    said = remote("credential", "verify", path)
    assert said.exit_code == 1
    assert "SIGNATURE_INVALID" in said.stdout


def test_a_credential_is_checked_without_the_service(
    identity: Commands, remote: Commands, here: Path, issuer: Path, wallet: Path, schema: Path, imported: dict[str, Any]
) -> None:
    path = here / "credential.json"
    held = remote.json("credential", "show", imported["id"], "--keys", wallet)["credential"]
    path.write_text(json.dumps(held))
    key = json.loads(issuer.read_text())["keys"]["assertionMethod"]["publicKey"]
    verdict = identity.json("credential", "verify", path, "--issuer-key", key, "--schema", schema)
    assert verdict["verified"] is True
    assert "holder" in verdict["unchecked"]
    path.write_text(json.dumps(held | {"extra": 1}))
    said = identity("credential", "verify", path, "--issuer-key", key, "--schema", schema)
    assert (said.exit_code, "CREDENTIAL_MALFORMED" in said.stdout) == (1, True)


def test_the_service_issues_with_a_key_that_it_holds(remote: Commands, here: Path, schema: Path, wallet: Path) -> None:
    ivo = remote.json("did", "create", "--store-secrets", "--keys", here / "ivo.json", *BLS)
    values = here / "values.json"
    values.write_text(json.dumps({"age": 24, "name": "Hana", "born": None}))
    said = ("--holder", did_of(wallet), "--schema", json.loads(schema.read_text())["id"], "--values", values)
    made = remote.json("credential", "issue", "--issuer", ivo["did"], *said, "--valid-until", "2999-01-01T00:00:00Z")
    assert (made["issuerDid"], made["validUntil"]) == (ivo["did"], "2999-01-01T00:00:00Z")
    assert made["id"] in remote.ok("credential", "list", "--keys", wallet)
    assert "  born = null" in remote.ok("credential", "show", made["id"], "--keys", wallet)
    assert made["id"] in remote.ok("credential", "list", "--holder", did_of(wallet), "--status", "active")
    refused = remote.refused("credential", "issue", *said, status=2)
    assert "--issuer" in refused[2]


def test_suspend_resume_and_revoke(remote: Commands, issuer: Path, wallet: Path, imported: dict[str, Any]) -> None:
    by_issuer = (imported["id"], "--keys", issuer)
    assert "suspended (lost)" in remote.ok("credential", "suspend", *by_issuer, "--reason", "lost")
    assert "active" in remote.ok("credential", "resume", *by_issuer)
    assert "FORBIDDEN" in remote.refused("credential", "revoke", imported["id"], "--keys", wallet)[0]
    assert "revoked" in remote.ok("credential", "revoke", *by_issuer)
    assert "CONFLICT" in remote.refused("credential", "suspend", *by_issuer)[0]


def test_signing_error_quotes_no_value(remote: Commands, issuer: Path, schema: Path, wallet: Path) -> None:
    said = remote.refused(
        "credential", "sign", "--keys", issuer, "--holder", did_of(wallet), "--schema", schema,
        "--value", "age", "24.5", "--value", "name", "topsecret", "--value", "born", "null",
    )  # fmt: skip
    assert "an integer up to 2^53" in said[0]
    assert "age" in said[1]
    assert "topsecret" not in " ".join(said)


def test_a_keys_file_without_such_a_key(remote: Commands, schema: Path, wallet: Path) -> None:
    said = remote.refused("credential", "sign", "--keys", wallet, "--holder", did_of(wallet), "--schema", schema)
    assert "Bls12381G2Key2020" in said[2]


def test_somebody_else_finds_no_credential(remote: Commands, here: Path, imported: dict[str, Any]) -> None:
    mallory = here / "mallory.json"
    remote.ok("did", "create", "--keys", mallory)
    assert "CREDENTIAL_NOT_FOUND" in remote.refused("credential", "show", imported["id"], "--keys", mallory)[0]


@pytest.mark.parametrize("data", [b"[]", b"{", b'{"a":1,"a":2}', b"\xff"])
def test_a_file_that_is_no_object(identity: Commands, here: Path, data: bytes) -> None:
    (here / "bad.json").write_bytes(data)
    identity.refused("credential", "verify", here / "bad.json", status=2)


def test_a_holder_resets_disclosures_by_her_signature(
    remote: Commands, wallet: Path, issuer: Path, imported: dict[str, Any]
) -> None:
    said = remote.json("credential", "reset-disclosures", imported["id"], "--keys", wallet)
    assert (said["credentialId"], said["holderDid"]) == (imported["id"], did_of(wallet))
    assert "begins anew at 20" in remote.ok("credential", "reset-disclosures", imported["id"], "--keys", wallet)
    assert "FORBIDDEN" in remote.refused("credential", "reset-disclosures", imported["id"], "--keys", issuer)[0]
    assert "AUTH_REQUIRED" in remote.refused("credential", "reset-disclosures", imported["id"])[0]


def test_a_holder_rotates_the_secret_that_the_service_keeps(
    remote: Commands, here: Path, schema: Path, wallet: Path
) -> None:
    ivo = remote.json("did", "create", "--store-secrets", "--keys", here / "ivo.json", *BLS)["did"]
    named = ("--holder", did_of(wallet), "--schema", json.loads(schema.read_text())["id"])
    values = ("--value", "age", "24", "--value", "name", "Hana", "--value", "born", "2001-04-01")
    record = remote.json("credential", "issue", "--keys", here / "ivo.json", *named, *values)
    assert record["suite"] == 2
    rotated = remote.ok("credential", "rotate-kept-secret", "--keys", wallet)
    assert f"  {record['id']}  of {ivo}, generation 1" in rotated.splitlines()
    forgotten = remote.json("credential", "rotate-kept-secret", "--forget", "--keys", wallet)
    assert [one["credentialId"] for one in forgotten["credentials"]] == [record["id"]]
    assert remote.ok("credential", "rotate-kept-secret", "--forget", "--keys", wallet).splitlines()[1:] == ["  nothing"]
    assert "AUTH_REQUIRED" in remote.refused("credential", "rotate-kept-secret")[0]
