"""Steps of the features of the specification. They use ``plain_client`` and nothing of the project.

Words that begin with ``$`` in paths, bodies and values stand for what the scenario knows: ``$did``, ``$tomorrow``, what was saved.
"""

from __future__ import annotations

import json
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any
from urllib.parse import quote

import pytest
from nacl.signing import SigningKey
from pytest_bdd import given, parsers, then, when

from features.specification import plain_client
from features.specification.plain_client import Case, Controller, Reply, Service, timestamp

URL, KEY = "IDENTITY_CONFORMANCE_URL", "IDENTITY_CONFORMANCE_API_KEY"
"""Environment variables that name another server."""


class Scenario:
    """State of one scenario."""

    def __init__(self, service: Service, known: dict[str, Any]) -> None:
        self.service, self.known = service, known
        self.controller: Controller | None = None
        self.case: Case | None = None
        self.reply: Reply | None = None
        self.replies: list[Reply] = []
        self.values: dict[str, Any] = {
            "tomorrow": timestamp(days=1),
            "yesterday": timestamp(days=-1),
            "twoDaysAgo": timestamp(days=-2),
            "newKey": plain_client.new_public_key(),
            "x25519Key": plain_client.new_public_key("X25519"),
        }

    @property
    def signer(self) -> Controller:
        assert self.controller is not None, "the scenario has no DID"
        return self.controller

    @property
    def answer(self) -> Reply:
        assert self.reply is not None, "nothing was sent"
        return self.reply

    def control(self, controller: Controller) -> None:
        self.controller = controller
        keys = controller.created["keys"]
        self.values |= {"did": controller.did, "keyId": keys["authentication"]["keyId"]}

    def filled(self, value: Any) -> Any:
        """Return ``value`` with each ``$word`` replaced."""
        if isinstance(value, dict):
            return {name: self.filled(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.filled(one) for one in value]
        if not isinstance(value, str):
            return value
        if value.startswith("$") and value[1:] in self.values:
            return self.values[value[1:]]
        return re.sub(r"\$(\w+)", lambda match: str(self.values.get(match[1], match[0])), value)

    def path(self, text: str) -> str:
        return re.sub(r"\$(\w+)", lambda match: quote(str(self.values[match[1]]), safe=""), text)

    def headers(self, who: str) -> dict[str, str]:
        """Return the credential headers of ``who``."""
        key = self.service.api_key
        forms = {
            "nobody": {},
            "the operator": self.service.operator,
            "the operator with Bearer": {"Authorization": f"Bearer {key}"},
            "the operator with ApiKey": {"Authorization": f"ApiKey {key}"},
            "the operator with two forms": {"Authorization": f"ApiKey {key}", "X-API-Key": key},
            "two different API keys": {"Authorization": f"ApiKey {key}", "X-API-Key": "another"},
            "an unknown API key": {"X-API-Key": "another"},
            "nonsense": {"Authorization": "DIDAuth nonsense"},
            "an unknown scheme": {"Authorization": "Negotiate abc"},
        }
        if who in forms:
            return forms[who]
        return self.signed(who)

    def signed(self, who: str) -> dict[str, str]:
        if who == "the controller":
            return self.signer.signed()
        if who == "the controller without padding":
            return self.signer.signed(padded=False)
        if who == "the controller through a gateway":
            return self.signer.signed() | self.service.operator
        if who == "the recovery key":
            return self.signer.signed("RecoveryKey")
        if who == "the recovery key as DIDAuth":
            return self.signer.signed(key=self.signer.key("recovery"))
        if who == "the controller as RecoveryKey":
            return self.signer.signed("RecoveryKey", key=self.signer.key())
        if who == "another key":
            return self.signer.signed(key=SigningKey.generate())
        if who == "the new key":
            return self.signer.signed(key=plain_client.signing_key(self.values["newPrivateKey"]))
        if who == "the agent":
            assert self.case is not None
            return self.case.agent.signed()
        assert who == "a stranger", who
        return self.service.new_controller().signed()


@pytest.fixture(scope="session")
def specified_service(request: pytest.FixtureRequest) -> Service:
    """The server that ``IDENTITY_CONFORMANCE_URL`` names, else one with default settings."""
    if URL in os.environ:
        return Service(os.environ[URL].rstrip("/"), os.environ[KEY])
    server = request.getfixturevalue("servers")["default"]
    return Service(server.url, server.api_key)


@pytest.fixture(scope="session")
def known_people() -> dict[str, Any]:
    """People and schema that all scenarios share."""
    return {}


@pytest.fixture
def scenario(specified_service: Service, known_people: dict[str, Any]) -> Scenario:
    """State of one scenario."""
    return Scenario(specified_service, known_people)


# Given


@given("a new DID")
def new_did(scenario: Scenario) -> None:
    scenario.control(scenario.service.new_controller())


@given(parsers.parse("a new DID with {options}"))
def new_did_with(scenario: Scenario, options: str) -> None:
    scenario.control(scenario.service.new_controller(**json.loads(options)))


@given("a credential and a delegation")
def proof_case(scenario: Scenario) -> None:
    scenario.case = case = Case.prepare(scenario.service, scenario.known)
    scenario.values |= {"holder": case.holder.did, "agent": case.agent.did, "delegation": case.delegation}
    scenario.values["credential"] = case.credential


@given(parsers.parse("a delegation with {terms}"))
def proof_case_with(scenario: Scenario, terms: str) -> None:
    scenario.case = Case.prepare(scenario.service, scenario.known, **json.loads(terms))


# When


@when(
    parsers.re(
        r"(?P<method>GET|POST|PATCH|DELETE) (?P<path>\S+) is sent by (?P<who>[\w ]+?)(?: with (?P<body>\{.*\}))?$"
    )
)
@given(
    parsers.re(
        r"(?P<method>GET|POST|PATCH|DELETE) (?P<path>\S+) was sent by (?P<who>[\w ]+?)(?: with (?P<body>\{.*\}))?$"
    )
)
def send(scenario: Scenario, method: str, path: str, who: str, body: str | None) -> None:
    sent = None if body is None else scenario.filled(json.loads(body))
    scenario.reply = scenario.service.call(method, scenario.path(path), sent, scenario.headers(who))


@when(parsers.parse("GET {path} is sent with Accept {accepted}"))
def send_accept(scenario: Scenario, path: str, accepted: str) -> None:
    scenario.reply = scenario.service.call("GET", scenario.path(path), headers={"Accept": accepted})


@when(parsers.parse("{path} receives the body {body} of the type {media_type}"))
def send_octets(scenario: Scenario, path: str, body: str, media_type: str) -> None:
    headers = scenario.service.operator | {"Content-Type": media_type}
    scenario.reply = scenario.service.call("POST", path, body.encode(), headers)


@when("the same signature is sent twice")
def send_twice(scenario: Scenario) -> None:
    headers = scenario.signer.signed()
    for name in ("first", "second"):
        body = {
            "operation": "addService",
            "service": {"id": name, "type": "T", "serviceEndpoint": "https://a.example/"},
        }
        scenario.reply = scenario.service.call("PATCH", scenario.signer.path, body, headers)
        scenario.replies.append(scenario.reply)


@when("challenges are fetched as fast as possible")
def flood(scenario: Scenario) -> None:
    for _ in range(1_000):
        scenario.reply = scenario.service.call(
            "GET", "/auth/challenge", query={"did": scenario.signer.did}, waits=False
        )
        if scenario.reply.status == 429:
            break


@when(parsers.parse("{number:d} challenges are fetched and all are signed and sent at once"))
def send_many(scenario: Scenario, number: int) -> None:
    challenges = [scenario.signer.challenge() for _ in range(number)]
    scenario.values["challenges"] = challenges
    headers = [scenario.signer.signed(challenge=one) for one in challenges]
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(scenario.service.call, "POST", "/auth/token", {}, one) for one in headers]
        scenario.replies = [one.result() for one in calls]


@when(parsers.re(r"a proof of (?P<predicate>\{.*?\}) is requested(?: by (?P<who>[\w ]+))?$"))
@given(parsers.re(r"a proof of (?P<predicate>\{.*?\}) was requested(?: by (?P<who>[\w ]+))?$"))
def prove(scenario: Scenario, predicate: str, who: str | None) -> None:
    assert scenario.case is not None
    body = scenario.case.request(json.loads(predicate))
    scenario.reply = scenario.case.prove(body, None if who is None else scenario.headers(who))


@when(parsers.re(r"the proof request has (?P<changes>\{.*\})$"))
def prove_changed(scenario: Scenario, changes: str) -> None:
    """Null leaves a member out."""
    assert scenario.case is not None
    changed = scenario.filled(json.loads(changes))
    predicate = changed.pop("predicate", {"attributeName": "age", "type": "gte", "value": 18})
    body = scenario.case.request(predicate or {}, **changed)
    if predicate is None:
        body.pop("predicate")
    scenario.reply = scenario.case.prove(body)


@when(parsers.re(r"the IBCT has (?P<changes>\{.*\})$"))
def prove_with_token(scenario: Scenario, changes: str) -> None:
    """Null leaves a member out."""
    assert scenario.case is not None
    predicate = {"attributeName": "age", "type": "gte", "value": 18}
    scenario.reply = scenario.case.prove(scenario.case.request(predicate, ibct=scenario.filled(json.loads(changes))))


@when("the IBCT is signed by another key")
def prove_with_foreign_signature(scenario: Scenario) -> None:
    assert scenario.case is not None
    predicate = {"attributeName": "age", "type": "gte", "value": 18}
    other = SigningKey.generate()
    scenario.reply = scenario.case.prove(scenario.case.request(predicate, ibct={"key": other}))


@when("the IBCT is revoked and then used")
def prove_with_revoked_token(scenario: Scenario) -> None:
    assert scenario.case is not None
    body = scenario.case.request({"attributeName": "age", "type": "gte", "value": 18})
    revocation = {"invoker": scenario.case.holder.did, "id": body["ibct"]["id"]}
    revoked = scenario.service.call("POST", "/ibcts/revoke", revocation, scenario.service.operator)
    assert revoked.status < 300, revoked.body
    scenario.reply = scenario.case.prove(body)


@given(parsers.parse('"{name}" is the answer\'s "{member}"'))
@when(parsers.parse('"{name}" is the answer\'s "{member}"'))
def save(scenario: Scenario, name: str, member: str) -> None:
    scenario.values[name] = found(scenario, member)


# Then


@then(parsers.parse("the response status is {status:d}"))
def has_status(scenario: Scenario, status: int) -> None:
    assert scenario.answer.status == status, scenario.answer.body


@then(parsers.parse("the refusal is {status:d} {code}"))
def has_refusal(scenario: Scenario, status: int, code: str) -> None:
    assert scenario.answer.outcome == (status, code), scenario.answer.body
    is_error(scenario)


@then(parsers.parse("the refusal is {status:d}"))
def has_refusal_status(scenario: Scenario, status: int) -> None:
    assert scenario.answer.status == status, scenario.answer.body
    is_error(scenario)


def is_error(scenario: Scenario) -> None:
    """Check the Error shape."""
    error = scenario.answer.json["error"]
    assert scenario.answer.headers["content-type"].startswith("application/json")
    assert {name: type(value) for name, value in error.items() if name in ("code", "message")} == {
        "code": str,
        "message": str,
    }
    assert isinstance(error.get("details", {}), dict)


@then("the error names the DID in its details")
def error_names_did(scenario: Scenario) -> None:
    assert scenario.answer.json["error"]["details"]["did"] == scenario.values["did"]


@then(parsers.parse('the error\'s reason contains "{text}"'))
def error_has_reason(scenario: Scenario, text: str) -> None:
    assert text in scenario.answer.json["error"]["details"]["reason"]


@then(parsers.parse("the answer has the members {names}"))
def has_members(scenario: Scenario, names: str) -> None:
    assert set(names.split(", ")) <= scenario.answer.json.keys()


@then(parsers.parse("the answer has exactly the members {names}"))
def has_exact_members(scenario: Scenario, names: str) -> None:
    assert set(names.split(", ")) == scenario.answer.json.keys()


def found(scenario: Scenario, path: str) -> Any:
    """Return the value at ``a.b.0.c`` of the answer. Raises ``KeyError``."""
    value = scenario.answer.json
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


@then(parsers.re(r'"(?P<path>[^"]+)" is (?P<expected>[\[{"\d-].*|true|false|null|\$\w+)$'))
def is_value(scenario: Scenario, path: str, expected: str) -> None:
    wanted = expected if expected.startswith("$") else json.loads(expected)
    value = found(scenario, path)
    assert (value, type(value)) == ((filled := scenario.filled(wanted)), type(filled))


KINDS: dict[str, Any] = {
    "string": lambda value: isinstance(value, str) and value != "",
    "integer": lambda value: type(value) is int,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "array of strings": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "timestamp": lambda value: datetime.fromisoformat(value.replace("Z", "+00:00")).tzinfo is not None,
    "multibase key": lambda value: len(plain_client.from_base58(value[1:])) > 32 and value.startswith("z"),
}


@then(parsers.re(r'"(?P<path>[^"]+)" is an? (?P<kind>[a-z ]+)$'))
def is_kind(scenario: Scenario, path: str, kind: str) -> None:
    assert KINDS[kind](found(scenario, path)), found(scenario, path)


@then(parsers.parse('"{path}" is one of {names}'))
def is_one_of(scenario: Scenario, path: str, names: str) -> None:
    assert found(scenario, path) in names.split(", ")


@then(parsers.parse('"{path}" starts with "{text}"'))
def starts_with(scenario: Scenario, path: str, text: str) -> None:
    assert found(scenario, path).startswith(scenario.filled(text))


@then(parsers.parse('"{path}" is absent or null'))
def is_absent(scenario: Scenario, path: str) -> None:
    assert scenario.answer.json.get(path) is None


@then(parsers.parse('the key "{name}" has an id of the DID, a public and a private key'))
def is_key(scenario: Scenario, name: str) -> None:
    key = found(scenario, name)
    assert {"keyId", "publicKey", "privateKey"} <= key.keys()
    did = scenario.answer.json.get("did", scenario.values.get("did"))
    assert key["keyId"].startswith(f"{did}#")
    assert KINDS["multibase key"](key["publicKey"])


@then("a number of seconds in Retry-After is answered")
def has_retry_after(scenario: Scenario) -> None:
    assert int(scenario.answer.headers["retry-after"]) >= 1


@then(parsers.parse("the header {name} is {value}"))
def has_header(scenario: Scenario, name: str, value: str) -> None:
    assert scenario.answer.headers[name.lower()].partition(";")[0] == value


@then(parsers.parse("the document has {number:d} {member}"))
def document_has(scenario: Scenario, number: int, member: str) -> None:
    document = scenario.service.call("GET", scenario.signer.path).json["didDocument"]
    assert len(document.get(member, [])) == number


@then(parsers.parse("the answers are {outcomes}"))
def have_outcomes(scenario: Scenario, outcomes: str) -> None:
    assert [one.status for one in scenario.replies] == [int(one) for one in outcomes.split(", ")], [
        one.body for one in scenario.replies
    ]


@then("all challenges are different and all answers are 200")
def all_work(scenario: Scenario) -> None:
    assert len(set(scenario.values["challenges"])) == len(scenario.replies)
    assert {one.status for one in scenario.replies} == {200}


@then("the transaction of the answer is on the ledger")
def is_on_ledger(scenario: Scenario) -> None:
    name = scenario.answer.json["transactionHash"]
    reply = scenario.service.call("GET", f"/ledger/transactions/{quote(name, safe='')}")
    assert reply.status == 200, reply.body


@then(parsers.parse("the served document is of version {version}"))
def document_version(scenario: Scenario, version: str) -> None:
    document = scenario.service.call("GET", "/openapi.json").json
    assert document["info"]["version"] == version
    assert document["servers"][0]["url"].endswith("/api/v1")


@then(parsers.parse("{first} and {second} show the anchor of the proof"))
def lists_show_anchor(scenario: Scenario, first: str, second: str) -> None:
    for path in (first, second):
        items = scenario.service.call("GET", path, headers=scenario.service.operator).json["items"]
        rows = [one for one in items if one.get("proofId") == scenario.values["proof"] and one.get("anchor")]
        assert {one["anchor"]["status"] for one in rows} == {"confirmed"}, path
        assert all(isinstance(one["anchor"]["blockNumber"], int) for one in rows)


@then("the anchor of the proof becomes revoked, with its block")
def anchor_is_revoked(scenario: Scenario) -> None:
    path = f"/zkp/proofs/{quote(scenario.values['proof'], safe='')}"
    for _ in range(100):
        anchor = scenario.service.call("GET", path, headers=scenario.service.operator).json["anchor"]
        if anchor["status"] == "revoked" and anchor["revokedBlock"] is not None:
            break
        time.sleep(0.1)
    assert anchor["status"] == "revoked"
    assert isinstance(anchor["revokedBlock"], int)


@then(parsers.parse("every later request for the DID is refused with {status:d} {code}"))
def all_refused(scenario: Scenario, status: int, code: str) -> None:
    """The challenge comes first, so a signature can no longer be made; any other stands in its place."""
    signer, old = scenario.signer, scenario.values["oldAuthorization"]
    service = {"id": "late", "type": "T", "serviceEndpoint": "https://a.example/"}
    requests: list[tuple[str, str, Any]] = [
        ("GET", "", None),
        ("GET", "?versionId=1", None),
        ("GET", "/history", None),
        ("PATCH", "", {"operation": "addService", "service": service}),
        ("DELETE", "", {"confirm": True, "reason": "again"}),
        ("POST", "/keys/rotate", {"oldKeyId": scenario.values["keyId"], "newKeyType": "Ed25519"}),
        (
            "POST",
            "/recover",
            {"newAuthenticationKey": {"type": "Ed25519", "publicKeyMultibase": scenario.values["newKey"]}},
        ),
    ]
    outcomes = {
        f"{method} {tail}": signer.service.call(method, signer.path + tail, body, old).outcome
        for method, tail, body in requests
    }
    outcomes["challenge"] = signer.service.call("GET", "/auth/challenge", query={"did": signer.did}).outcome
    assert {name: one for name, one in outcomes.items() if one != (status, code)} == {}


@given("a header that the controller signed before")
def old_header(scenario: Scenario) -> None:
    scenario.values["oldAuthorization"] = scenario.signer.signed()
