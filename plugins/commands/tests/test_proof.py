"""``identity proof verify``: one file, one key, no service."""

import json
import os
import subprocess
import sys
from datetime import timedelta

import pytest
from click.testing import CliRunner
from identity_commands.proof_verify import verify_octets
from identity_commands.public_keys import key_of_option
from identity_kit.conformance.prover_cases import HANA, NOW, SCHEMA, BbsIssuer, context, statement
from identity_verification.domain.verification import Expectation

from identity_bbs.bls12381 import select
from identity_codec import multikey
from identity_codec.multibase import base64url_encode
from identity_core.cli import main
from identity_core.domain.credentials import credential_schema as schema_json
from identity_core.domain.credentials.credential_schema import CredentialSchema
from identity_core.errors import ProofInvalid
from tests.transparent_prover import TransparentProver

bbs = pytest.importorskip("identity_prover_bbs")

ISSUER = BbsIssuer()
KEY = multikey.encode_public(multikey.BLS12381G2, ISSUER.key.public_key)
NOTHING = Expectation()
AT = NOW.isoformat()
ISSUER_METHOD = ISSUER.key.verification_method


def test_a_key_of_the_command_line_is_of_one_issuer() -> None:
    find = key_of_option(KEY)
    assert find("did:ids:shop#one") == find("did:ids:shop#two")
    with pytest.raises(ValueError, match="one issuer"):
        find("did:ids:state#one")


def proved(prover):
    asked = statement(ISSUER.key, ("score", "gte", 100), ("birthDate", "lte", "2008-01-01"))
    return prover.prove(asked, ISSUER.credential(SCHEMA, HANA), context=context())


def as_json(proof):
    return {
        "proof": proof.proof,
        "publicSignals": list(proof.public_signals),
        "predicateType": proof.predicate_type,
        "proofId": proof.proof_id,
    }


@pytest.fixture(scope="module")
def proof():
    return proved(bbs.BbsProver(select(), os.urandom))


@pytest.mark.parametrize(
    "form", [lambda p: p, lambda p: {"proofId": "x", "proof": p, "anchor": None}, lambda p: {"proof": p["proof"]}]
)
def test_every_form_of_a_file(proof, form):
    prover = TransparentProver()
    data = json.dumps(form(as_json(proved(prover)))).encode()
    body = verify_octets(data, prover=prover, find_key=key_of_option(KEY), expectation=NOTHING, now=NOW)
    assert body["verified"] is True
    assert body["predicates"][0] == {"attributeName": "score", "type": "gte", "value": 100}
    assert "domain" in body["unchecked"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"{",
        b'{"proof":1}',
        b'{"proof":{}}',
        b'{"proof":"x","proof":"x"}',
        b"\xff",
        b"x" * (1 << 21),
        b'{"proof":"x","publicSignals":[1]}',
    ],
)
def test_malformed_proof_is_refused(data):
    with pytest.raises(ProofInvalid):
        verify_octets(data, prover=TransparentProver(), find_key=key_of_option(KEY), expectation=NOTHING, now=NOW)


def test_members_that_are_there_are_checked():
    prover = TransparentProver()
    whole = as_json(proved(prover))
    for change in ({"publicSignals": []}, {"predicateType": "gte"}, {"proofId": "proof-2"}, {"predicateType": ""}):
        data = json.dumps({**whole, **change}).encode()
        with pytest.raises(ProofInvalid):
            verify_octets(data, prover=prover, find_key=key_of_option(KEY), expectation=NOTHING, now=NOW)


def run(proof, *arguments, key=KEY, signature_only=True):
    text = json.dumps(proof if isinstance(proof, dict) else as_json(proof))
    less = ["--signature-only"] if signature_only else []
    words = ["proof", "verify", "-", "--issuer-key", key, "--at", AT, *less, *arguments]
    return CliRunner().invoke(main, words, input=text)


def test_the_command_accepts(proof):
    result = run(proof, *STRICT, "--json", signature_only=False)
    assert result.exit_code == 0, result.output
    body = json.loads(result.output)
    assert (body["verified"], body["verdict"], body["missing"]) == (True, "valid", [])
    assert run(proof, *STRICT, signature_only=False).output.splitlines()[0] == "valid"
    never = ["holder", "credentialValidity", "credentialStatus", "revocation"]
    assert body["unchecked"] == ["issuerDid", "schemaId", "maxAge", *never, "schemaHeader"]
    assert "credentialStatus" in run(proof).output
    # What a record claims of an anchor without its path is not checked.
    claimed = {"proof": as_json(proof), "anchor": {"status": "confirmed"}}
    assert "anchor" in json.loads(run(claimed, *STRICT, "--json").output)["unchecked"]


PARTS = {
    "--predicate": ("--predicate", "score", "gte", "100", "--predicate", "birthDate", "lte", "2008-01-01"),
    "--audience": ("--audience", context().audience),
    "--challenge": ("--nonce", base64url_encode(context().nonce)),
}
STRICT = [word for part in PARTS.values() for word in part]


@pytest.mark.parametrize("left_out", PARTS)
def test_verify_demands_what_binds_the_proof(proof, left_out):
    less = [word for name, part in PARTS.items() if name != left_out for word in part]
    result = run(proof, *less, signature_only=False)
    assert result.exit_code == 2
    assert f"say what you asked for with {left_out}, or give --signature-only" in result.stderr
    result = run(proof, *less)
    assert (result.exit_code, result.output.split(",")[0]) == (0, "genuine")


def test_genuine_proof_is_not_called_valid(proof):
    result = run(proof)
    assert result.exit_code == 0
    first = result.output.splitlines()[0]
    assert first == (
        "genuine, but not bound to your request: it could be a replay (not compared: predicate, challenge, domain)"
    )
    body = json.loads(run(proof, "--json").output)
    assert (body["verdict"], body["missing"]) == ("unbound", ["predicate", "challenge", "domain"])
    assert run(proof, *STRICT).output.splitlines()[0] == "genuine"


@pytest.mark.parametrize("issuer", [ISSUER_METHOD.partition("#")[0], ISSUER_METHOD])
def test_issuer_is_a_did_or_a_method(proof, issuer):
    assert run(proof, *STRICT, "--issuer", issuer, signature_only=False).exit_code == 0
    other = issuer.replace(ISSUER_METHOD.partition("#")[0], "did:example:eve")
    assert run(proof, *STRICT, "--issuer", other, signature_only=False).exit_code == 1


def test_how_old_a_proof_may_be(proof):
    made = context().issued_at
    for age, status in ((0, 0), (60, 0), (61, 1)):
        at = (made + timedelta(seconds=age)).isoformat()
        result = run(proof, "--at", at, "--max-age", "60")
        assert result.exit_code == status, result.output
    assert "age PROOF_TOO_OLD" in result.output


def test_a_proof_of_suite_1_is_by_no_status_list(proof):
    result = run(proof, "--status-max-age", "60")
    assert result.exit_code == 1
    assert "statusAge NOT_PROVEN" in result.output


def test_the_header_is_that_of_the_registered_schema(proof, tmp_path):
    registered, other = tmp_path / "schema.json", tmp_path / "other.json"
    written = {"id": SCHEMA.id, "attributes": schema_json.attributes_json(CredentialSchema(SCHEMA, {}))}
    registered.write_text(json.dumps(written))
    other.write_text(json.dumps({**written, "attributes": [*reversed(written["attributes"])]}))
    body = json.loads(run(proof, "--schema", str(registered), "--json").output)
    assert {"schemaId", "schemaHeader"}.isdisjoint(body["unchecked"])
    result = run(proof, "--schema", str(other))
    assert result.exit_code == 1
    assert "schemaHeader SCHEMA_MISMATCH" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("--predicate", "score", "gte", "100"),
        ("--predicate", "score", "gte", "101", "--predicate", "birthDate", "lte", "2008-01-01"),
        ("--audience", "https://other.example"),
        ("--nonce", "AAAAAAAAAAAAAAAAAAAAAA"),
        ("--issuer", "did:example:mallory#bbs"),
        ("--proof-id", "other"),
        ("--at", (NOW + timedelta(hours=1)).isoformat()),
    ],
)
def test_the_command_refuses(proof, arguments):
    result = run(proof, *arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: the proof is not valid: ")
    assert len(result.stderr.splitlines()) == 3


@pytest.mark.parametrize("key", ["", "z6Mk", multikey.encode_public(multikey.ED25519, bytes(32)), KEY[:-1]])
def test_a_wrong_key_is_the_callers_mistake(proof, key):
    assert run(proof, key=key).exit_code == 2


def test_another_issuers_key_is_refused(proof):
    other = multikey.encode_public(multikey.BLS12381G2, BbsIssuer("mallory").key.public_key)
    assert run(proof, key=other).exit_code == 1


def test_it_runs_in_a_process_of_its_own(proof, tmp_path):
    """No server, no database, no data directory: the package and a file."""
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(as_json(proof)))
    arguments = ["proof", "verify", str(path), "--issuer-key", KEY, "--at", AT, *STRICT]
    code = "import sys; from identity_core.cli import main; sys.exit(main())"
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("valid\nproves     score gte 100\n")
    assert [entry.name for entry in tmp_path.iterdir()] == ["proof.json"]
