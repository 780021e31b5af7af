"""``identity proof`` with a running service: resolve the issuer, get, revoke."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from identity_commands.local_server import LocalServer

from identity_client import Session, Signer, ibct
from tests.unit.cli.conftest import Commands

pytest.importorskip("identity_prover_bbs")


@dataclass
class Made:
    """A proof of Hana's, and the files of whom it concerns."""

    file: Path
    proof_id: str
    issuer: str
    hana: Path
    mallory: Path


def new_did(session: Session, path: Path | None = None, **options: Any) -> dict[str, Any]:
    created: dict[str, Any] = session.create({"method": "ids", "options": options})
    if path is not None:
        path.touch(mode=0o600)
        path.write_text(json.dumps({"did": created["did"], "keys": created["keys"]}))
        path.chmod(0o600)
    return created


@pytest.fixture
def stored_proof(server: LocalServer, here: Path) -> Made:
    with Session(server.url, api_key=server.api_key) as session:
        key = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
        ivo = new_did(session, storeSecrets=True, additionalKeys=[key])
        hana, aki = new_did(session, here / "hana.json"), new_did(session)
        new_did(session, here / "mallory.json")
        schema = {"id": f"urn:uuid:{uuid.uuid4()}", "attributes": [{"name": "age", "type": "integer"}]}
        session.call("POST", "/credential-schemas", body=schema)
        wish = {"issuerDid": ivo["did"], "holderDid": hana["did"], "schemaId": schema["id"], "attributes": {"age": 37}}
        credential = session.call("POST", "/credentials", body=wish)
        ends = ibct.build(
            "did:x", ibct.IbctTemplate("did:x:a", "zkp.prove.age.gte", "d", timedelta(1)), now=now(), id="i", nonce="n"
        )
        terms = {
            "holderDid": hana["did"],
            "agentDid": aki["did"],
            "actions": ["zkp.prove.age.gte"],
            "autonomyLevel": 4,
            "expiresAt": ends["expiresAt"],
        }
        delegation = session.call("POST", "/delegations", body=terms)
        wanted = ibct.IbctTemplate(aki["did"], "zkp.prove.age.gte", delegation["id"], timedelta(hours=1))
        token = ibct.sign_token(Signer(hana["did"], hana["keys"]["authentication"]["privateKey"]), wanted)
        body = ibct.proof_request(token, credential["id"], value=18, domain="https://shop.example", challenge="c" * 16)
        answer = session.call("POST", "/zkp/delegated-proofs", body=body)
    path = here / "proof.json"
    path.write_text(json.dumps(answer))
    return Made(path, answer["proofId"], ivo["did"], here / "hana.json", here / "mallory.json")


def now() -> Any:
    from datetime import UTC, datetime

    return datetime.now(UTC)


LESS = ("--signature-only",)


def test_the_issuers_key_from_wherever(remote: Commands, server: LocalServer, here: Path, stored_proof: Made) -> None:
    document, log = here / "ivo.json", here / "ivo.jsonl"
    document.write_text(remote.ok("did", "resolve", stored_proof.issuer, "--json"))
    log.write_text(remote.ok("did", "log", "get", stored_proof.issuer))
    asked = ("--predicate", "age", "gte", "18", "--audience", "https://shop.example", "--challenge", "c" * 16)
    for source in (("--resolve", server.url), ("--issuer-document", document), ("--issuer-log", log)):
        body = remote.json("proof", "verify", stored_proof.file, *source, *asked, "--issuer", stored_proof.issuer)
        assert body["verified"] is True
        assert body["verificationMethod"].startswith(stored_proof.issuer + "#")
        assert (body["verdict"], body["missing"]) == ("valid", [])
        unchecked = ["schemaId", "maxAge", "holder", "credentialValidity", "credentialStatus", "revocation"]
        # A log is verified alone, without the service's own log, which names retired keys.
        from_log = ["retiredKeys"] if source[0] == "--issuer-log" else []
        assert body["unchecked"] == [*unchecked, "schemaHeader", *from_log]
        wrong = remote.refused("proof", "verify", stored_proof.file, *source, "--challenge", "d" * 16, *LESS)
        assert "CHALLENGE_MISMATCH" in wrong[0]
    # Another document does not speak for the key, and an edited log for nothing.
    document.write_text(remote.ok("did", "resolve", json.loads(stored_proof.hana.read_text())["did"], "--json"))
    assert (
        "does not assert"
        in remote.refused("proof", "verify", stored_proof.file, "--issuer-document", document, *LESS)[0]
    )
    log.write_text(log.read_text().replace('"versionTime":"2', '"versionTime":"3'))
    assert (
        "log is not valid"
        in remote.refused("proof", "verify", stored_proof.file, "--issuer-log", log, *LESS, status=2)[0]
    )


def test_unchecked_part_is_not_reported_as_wrong(remote: Commands, stored_proof: Made) -> None:
    unreachable = remote.refused(
        "proof", "verify", stored_proof.file, "--resolve", "http://127.0.0.1:1", *LESS, status=2
    )
    assert "could not be checked" in unreachable[0]
    for sources in ((), ("--resolve", "http://127.0.0.1:1", "--issuer-key", "z")):
        assert "give one of" in remote.refused("proof", "verify", stored_proof.file, *sources, status=2)[0]
    both = ("--issuer-document", stored_proof.file, "--challenge", "c", "--nonce", "AA")
    assert "say the same thing" in remote.refused("proof", "verify", stored_proof.file, *both, status=2)[0]


def test_get_and_revoke(remote: Commands, stored_proof: Made) -> None:
    shown = remote.json("proof", "get", stored_proof.proof_id, "--keys", stored_proof.hana)
    assert shown["proof"] == json.loads(stored_proof.file.read_text())["proof"]
    assert "in force" in remote.ok("proof", "get", stored_proof.proof_id)
    assert "PROOF_NOT_FOUND" in remote.refused("proof", "get", stored_proof.proof_id, "--keys", stored_proof.mallory)[0]
    assert (
        "PROOF_NOT_FOUND" in remote.refused("proof", "revoke", stored_proof.proof_id, "--keys", stored_proof.mallory)[0]
    )
    said = remote.ok("proof", "revoke", stored_proof.proof_id, "--keys", stored_proof.hana, "--reason", "lost")
    assert "revoked" in said
    assert "reason     lost" in said
    # The caller of the answer is `did:` and its DID.
    assert f" by {json.loads(stored_proof.hana.read_text())['did']}\n" in said
    again = remote.json("proof", "revoke", stored_proof.proof_id, "--reason", "another")
    assert again["revocationReason"] == "lost"


def test_somebody_must_ask(identity: Commands) -> None:
    for verb in ("get", "revoke"):
        assert "no caller is named" in identity.refused("proof", verb, "p", status=2)[0]
