"""A client that a holder has let in goes further than she said: it takes what proves without her, reads what others told her, ends what is
hers, and uses up what she needs to end anything herself.

RFC 6749 §10.3, RFC 8693 §4.1; ``Caller.client``.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plugins.oauth.tests.code_flow import CALLBACK, Flow, registers
from plugins.oauth.tests.test_http_code_flow import GRANT, audited
from plugins.oauth.tests.test_http_oauth import refusal
from tests.attack.conftest import Target
from tests.attack.stranger import GENEROUS, PREFIX, Answer, Holder
from tests.attack.test_http_issuing import ABSENT, P256, Office, signed
from tests.fault import service_process

FULL = (429, "QUOTA_EXCEEDED")
SMALL = GENEROUS | {
    "IDENTITY_QUOTA_DAY_RECORDS": "8",
    "IDENTITY_THROTTLE_DID_BURST": "40",
    "IDENTITY_THROTTLE_DID_PER_SECOND": "0.01",
}


@pytest.fixture(scope="module")
def shop(targets: Callable[[int], Target]) -> Holder:
    return registers(targets(1).stranger.holder(), "OAuthRedirect", CALLBACK)


def let_in(client: Holder, holder: Holder, scope: str) -> Callable[..., Answer]:
    """Return the answer of the service to the client with the token of the holder."""
    flow = Flow(client, scope=scope)
    bearer = {"Authorization": f"Bearer {flow.redeemed(flow.code(holder)).json['access_token']}"}

    def ask(method: str, path: str, body: Any = None) -> Answer:
        return client.wire.call(method, PREFIX + path, body, bearer)

    return ask


def test_a_client_reads_a_credential_without_what_proves_with_it(target: Target, shop: Holder) -> None:
    office = Office.open(target.wire, target.stranger)
    path = f"/credentials/{office.issued()['id']}"
    by_client = let_in(shop, office.hana, "credentials:read")("GET", path).json["credential"]
    by_holder = target.wire.call("GET", PREFIX + path, None, signed(office.hana, "read")).json["credential"]
    assert by_client["credentialSubject"] == by_holder["credentialSubject"]
    assert "proofValue" in by_holder["proof"]
    assert "proofValue" not in by_client["proof"]


def test_a_client_takes_no_proof_back(target: Target, shop: Holder) -> None:
    hana = target.stranger.holder()
    ask = let_in(shop, hana, "zkp:prove zkp:verify")
    path = f"/zkp/proofs/{ABSENT.removeprefix('urn:uuid:')}"
    assert ask("GET", path).outcome == (404, "PROOF_NOT_FOUND")
    assert ask("POST", f"{path}/revoke", {}).outcome == (403, "FORBIDDEN")


def test_client_cannot_read_answers_to_verifiers(target: Target, shop: Holder) -> None:
    vera = target.stranger.holder(additionalKeys=[P256], storeSecrets=True)
    ask = let_in(shop, vera, "zkp:verify")
    wanted = {"id": "age", "schemaId": "urn:example:adult", "claims": [{"path": ["age"]}]}
    body = {"verifierDid": vera.did, "credentials": [wanted]}
    path = "/presentation-requests"
    own = vera.wire.call("POST", PREFIX + path, body, signed(vera, "read", body))
    asked = ask("POST", path, body)
    assert (own.status, asked.status) == (201, 201), (own.body, asked.body)
    assert ask("GET", f"{path}/{own.json['id']}").outcome == (404, "PRESENTATION_NOT_FOUND")
    assert ask("GET", f"{path}/{asked.json['id']}").status == 200


def test_client_consumes_no_quota_of_holder(tmp_path: Path) -> None:
    """Neither what she may ask nor what she may write; each decision leaves a line in the audit log."""
    with service_process.service(tmp_path / "data", environment=SMALL) as running:
        hana, client = running.stranger.holder(), registers(running.stranger.holder(), "OAuthRedirect", CALLBACK)
        ask = let_in(client, hana, "delegations:read")
        revoked = f"/delegations/{ABSENT.removeprefix('urn:uuid:')}/revoke"
        outcomes = [ask("POST", revoked, {}).outcome for _ in range(60)]
        assert outcomes[0] == (403, "FORBIDDEN")
        assert FULL in outcomes
        assert outcomes[-1] == (429, "RATE_LIMITED")
        answer = hana.wire.call("POST", PREFIX + revoked, {}, signed(hana, "delegate", {}))
        assert answer.outcome == (404, "DELEGATION_NOT_FOUND")
        decided = [Flow(client).decided(hana).outcome for _ in range(9)]
        assert (decided[0], decided[-1]) == ((200, None), FULL)


def test_refusal_without_key_writes_no_line(target: Target) -> None:
    """A code for an application without a key opens for ever, also when it has expired."""
    app = registers(target.stranger.holder(), "OAuthNativeRedirect", CALLBACK)
    flow = Flow(app)
    code = flow.code(target.stranger.holder())
    before = sum(1 for _ in audited(target))
    for _ in range(3):
        wrong = flow.redeemed(code, client_assertion=None, client_assertion_type=None, code_verifier="x" * 43)
        assert refusal(wrong) == GRANT
    assert sum(1 for _ in audited(target)) == before


@pytest.mark.parametrize(
    "place",
    [
        "https://bank.example%40thief.example/",
        "https://bank.example%2fthief.example/",
        "https://bank.example%E3%80%82thief.example/",
        "https://bank.example;.thief.example/",
        "https://thief.example#bank.example",
    ],
)
def test_a_reader_is_shown_where_a_browser_goes(shop: Holder, place: str) -> None:
    """A client may write all of them into its document."""
    added = {"id": f"odd-{uuid.uuid4()}", "type": "OAuthRedirect", "serviceEndpoint": place}
    assert shop.act("update", {"operation": "addService", "service": added}).status == 200
    assert Flow(shop, place).page().status == 400
