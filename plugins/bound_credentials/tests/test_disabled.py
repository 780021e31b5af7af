"""A service without the extension: suite 1 works, and what needs suite 2 is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from identity_commands.local_server import LocalServer
from identity_verification.domain.received import ReceivedProof
from identity_verification.domain.verification import Expectation
from identity_verification.suites import SuiteOneChecks
from identity_verification.use_cases.check import CheckProof, IssuerKeys

from identity_client.action import pin_of
from identity_core.domain.credentials import verifiable_credential
from identity_core.errors import InvalidCredential, PredicateUnsupported
from identity_core.use_cases.proofs.suite_1 import NoSuite
from tests.attack.stranger import GENEROUS, PREFIX, Wire
from tests.credentials import VALUES
from tests.proving import Proving, run
from tests.servers import local_server

PATHS = ("/status-gaps/list/1", "/status-gaps/list/shards/x", "/status-gaps/list/proofs/x")
OFF = GENEROUS | {"IDENTITY_EXTENSIONS_ENABLED": "", "IDENTITY_EXTENSIONS_DISABLED": "bound_credentials"}


@pytest.fixture(scope="module")
def running() -> Iterator[LocalServer]:
    with local_server(environment=OFF) as server:
        yield server


@pytest.fixture(scope="module")
def wire(running: LocalServer) -> Iterator[Wire]:
    wire = Wire(running.url)
    yield wire
    wire.close()


@pytest.mark.parametrize("path", PATHS)
def test_path_is_unknown_and_names_the_extension(wire: Wire, path: str) -> None:
    answer = wire.call("GET", f"{PREFIX}{path}")
    assert (answer.status, answer.json["error"]["code"]) == (404, "NOT_FOUND")
    assert answer.json["error"]["details"]["extension"] == "bound_credentials"


def test_credentials_are_of_suite_1(wire: Wire, running: LocalServer) -> None:
    def call(method: str, path: str, body: Any) -> Any:
        return wire.call(method, f"{PREFIX}{path}", body, {"X-API-Key": running.api_key})

    key = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
    options = {"storeSecrets": True, "additionalKeys": [key]}
    made = [call("POST", "/dids", {"method": "ids", "options": options}).json["did"] for _ in range(2)]
    attributes = [{"name": "age", "type": "integer"}]
    schema = call("POST", "/credential-schemas", {"attributes": attributes}).json["id"]
    asked = {"issuerDid": made[0], "holderDid": made[1], "schemaId": schema, "attributes": {"age": 24}}
    issued = call("POST", "/credentials", asked)
    assert (issued.status, issued.json["suite"]) == (201, 1)
    refused = call("POST", "/credentials", asked | {"suite": 2})
    assert (refused.status, refused.json["error"]["code"]) == (422, "INVALID_CREDENTIAL")
    assert "bound credentials" in refused.json["error"]["details"]["reason"]


def remove_suite_2(rooms: Proving) -> None:
    rooms.suites[2] = NoSuite()  # type: ignore[index]


def test_questions_of_several_credentials_are_refused(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        remove_suite_2(rooms)
        proven = await rooms.proven()
        assert proven.proof.predicate_type == "gte"
        body = rooms.body()
        del body["credentialId"], body["predicate"]
        body["credentials"] = [{"credentialId": rooms.credential.id}]
        rooms.delegation = await rooms.delegate("zkp.credential")
        body["ibct"] = rooms.token(action=f"zkp.credential.{pin_of(rooms.credential.id)}")
        with pytest.raises(PredicateUnsupported) as refused:
            await rooms.ask(body)
        assert "bound credentials" in refused.value.details["reason"]

    run(tmp_path, story)


def test_proofs_of_suite_1_are_verified(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        remove_suite_2(rooms)
        schemas = rooms.store.credential_schemas
        check = CheckProof(rooms.workers, (SuiteOneChecks(),), IssuerKeys(rooms.reader), schemas)  # type: ignore[arg-type]
        received = ReceivedProof.from_proof((await rooms.proven()).proof)
        verdict = await check(received, Expectation(), rooms.clock.now())
        assert verdict.presented is not None
        verdict = await check(ReceivedProof("e30"), Expectation(), rooms.clock.now())
        assert verdict.presented is None

    run(tmp_path, story)


def test_credential_of_suite_2_is_not_read() -> None:
    proof = {
        "type": "DataIntegrityProof",
        "proofPurpose": "assertionMethod",
        "cryptosuite": "identity-bbs-credential-2",
    }
    value = {
        "@context": list(verifiable_credential.CONTEXTS),
        "id": "urn:x",
        "type": list(verifiable_credential.TYPES),
        "issuer": "did:x:ivo",
        "validFrom": "2026-01-01T00:00:00Z",
        "credentialSchema": {"id": "s", "type": verifiable_credential.SCHEMA_TYPE},
        "credentialSubject": {"id": "did:x:hana", **VALUES},
        "proof": proof,
    }
    with pytest.raises(InvalidCredential) as refused:
        verifiable_credential.parse(value)
    assert "bound credentials" in refused.value.details["reason"]
