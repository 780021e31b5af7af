"""``/1.0/create``, ``update`` and ``deactivate`` by raw JSON: nothing of updateDid's and deactivateDid's checks can be got past by a job.

https://identity.foundation/did-registration/
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from nacl.signing import SigningKey

from tests.attack.conftest import Target
from tests.attack.stranger import PREFIX, Answer, Holder, base64url, body_hash, public, service

OWN = {"clientSecretMode": True}
ED25519 = "Ed25519VerificationKey2020"
SECRET = "z3u2en7t5LR2WtQH5PfFqMqwVHgeXouLzo6haApm8XHqvjxq"


@pytest.fixture(scope="module")
def hana(targets: Callable[[int], Target]) -> Holder:
    return targets(1).stranger.holder(strictEvidence=True)


@pytest.fixture(scope="module")
def mallory(targets: Callable[[int], Target]) -> Holder:
    return targets(1).stranger.holder()


def post(target: Target, path: str, body: Any, **headers: str) -> Answer:
    return target.wire.call("POST", f"/1.0/{path}", body, headers)


def creation(target: Target, body: Any, query: str = "?method=ids") -> Answer:
    return post(target, f"create{query}", body, **{"X-API-Key": target.stranger.api_key})


def added(name: str) -> dict[str, Any]:
    """The change that adds a service."""
    one = {"id": f"#{name}", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
    return {"didDocumentOperation": ["addToDidDocument"], "didDocument": [{"service": [one]}]}


def begin(target: Target, holder: Holder, name: str) -> dict[str, Any]:
    answer = post(target, "update", {"did": holder.did, "options": OWN, **added(name)})
    assert answer.status == 200, answer.body
    state: dict[str, Any] = answer.json
    return state


def signing_input(state: dict[str, Any]) -> bytes:
    return base64.b64decode(state["didState"]["signingRequest"]["signingRequest0"]["serializedPayload"], validate=True)


def second(holder: Holder, job: str, signature: bytes | str, **more: Any) -> dict[str, Any]:
    text = signature if isinstance(signature, str) else base64.b64encode(signature).decode()
    response = {"signingRequest0": {"signature": text}}
    return {"did": holder.did, "options": OWN, "jobId": job, "secret": {"signingResponse": response}, **more}


def signed(state: dict[str, Any], holder: Holder, key: SigningKey | None = None) -> dict[str, Any]:
    return second(holder, state["jobId"], (key or holder.key).sign(signing_input(state)).signature)


def decode_job(job: str) -> dict[str, Any]:
    members: dict[str, Any] = json.loads(base64.urlsafe_b64decode(job + "=" * (-len(job) % 4)))
    return members


def closed(members: Any) -> str:
    return base64url(json.dumps(members, separators=(",", ":")).encode())


def refusal(answer: Answer) -> tuple[int, str | None]:
    """Status and code. Every refusal is a state that has failed, too."""
    body = answer.json
    assert set(body) == {"error", "jobId", "didState", "didRegistrationMetadata", "didDocumentMetadata"}
    assert (body["jobId"], body["didState"]["state"], body["didDocumentMetadata"]) == (None, "failed", {})
    assert body["didState"]["reason"] == body["error"]["message"]
    assert body["didRegistrationMetadata"]["code"] == body["error"]["code"]
    return answer.outcome


def version(holder: Holder) -> int:
    return int(holder.resolve().json["didDocumentMetadata"]["versionId"])


def test_signed_challenge_names_exactly_this_change(target: Target, hana: Holder) -> None:
    state = begin(target, hana, "exactly")
    label, origin, did, purpose, digest, _, _ = signing_input(state).decode().split(" ")
    assert (label, did, purpose) == ("didauth:v1", hana.did, "update")
    assert origin == target.wire.url
    body = decode_job(state["jobId"])["body"]
    wanted = service(f"{hana.did}#exactly")
    assert body == {"operations": [wanted]}
    assert digest == body_hash(body)


@pytest.mark.parametrize("alphabet", ["standard", "unpadded", "url", "unpadded url"])
def test_a_signature_in_any_base64(target: Target, hana: Holder, alphabet: str) -> None:
    state = begin(target, hana, alphabet.replace(" ", "-"))
    raw = hana.key.sign(signing_input(state)).signature
    text = (base64.urlsafe_b64encode if "url" in alphabet else base64.b64encode)(raw).decode()
    answer = post(target, "update", second(hana, state["jobId"], text.rstrip("=") if "unpadded" in alphabet else text))
    assert (answer.status, answer.json["didState"]["state"]) == (200, "finished")


def test_a_job_works_once(target: Target, hana: Holder) -> None:
    body = signed(begin(target, hana, "once"), hana)
    assert post(target, "update", body).status == 200
    before = version(hana)
    assert refusal(post(target, "update", body)) == (401, "AUTH_FAILED")
    assert version(hana) == before


def test_job_that_another_process_began_is_finished_by_this_one(targets: Callable[[int], Target]) -> None:
    target = targets(2)
    holder = target.stranger.holder()
    for name in ("first", "second", "third", "fourth"):
        state = begin(target, holder, name)
        target.wire.close()
        assert post(target, "update", signed(state, holder)).status == 200


def test_audit_log_names_the_operation(target: Target, hana: Holder) -> None:
    state = begin(target, hana, "audited")
    assert post(target, "update", signed(state, hana)).status == 200
    lines: list[dict[str, Any]] = []
    items, after = [None], 0
    while items:
        asked = f"{PREFIX}/audit?limit=200&after={after}"
        page = target.wire.call("GET", asked, headers={"X-API-Key": target.stranger.api_key}).json
        items, after = page["items"], page["nextAfter"]
        lines += [json.loads(item["line"]) for item in items]
    assert any(line["operation"] == "updateDid" and hana.did in json.dumps(line) for line in lines)


def test_the_signature_of_another_key_or_of_another_did(target: Target, hana: Holder, mallory: Holder) -> None:
    before = version(hana)
    state = begin(target, hana, "stolen")
    assert refusal(post(target, "update", signed(state, hana, SigningKey.generate()))) == (401, "AUTH_FAILED")
    assert refusal(post(target, "update", signed(state, hana, mallory.key))) == (401, "AUTH_FAILED")
    assert hana.recovery is not None
    assert refusal(post(target, "update", signed(state, hana, hana.recovery))) == (401, "AUTH_FAILED")
    # Her own job, for another DID.
    own = begin(target, mallory, "stolen")
    aimed = signed(own, mallory) | {"did": hana.did}
    assert refusal(post(target, "update", aimed)) == (401, "AUTH_FAILED")
    assert version(hana) == before
    # Nothing of it was spent.
    assert post(target, "update", signed(state, hana)).status == 200


@pytest.mark.parametrize("bound", [True, False])
def test_the_body_in_a_job_is_what_was_signed(target: Target, hana: Holder, bound: bool) -> None:
    before = version(hana)
    state = begin(target, hana, "signed")
    members = decode_job(state["jobId"])
    members["body"] = {"operation": "setAlsoKnownAs", "alsoKnownAs": ["https://mallory.example/"]}
    if not bound:
        # A challenge for anything at all, which the DID's strict evidence refuses in updateDid as well.
        members["challenge"] = hana.challenge()
    signature = hana.key.sign(str(members["challenge"]).encode()).signature
    assert refusal(post(target, "update", second(hana, closed(members), signature))) == (401, "AUTH_FAILED")
    assert version(hana) == before


def test_a_job_of_the_other_operation(target: Target, hana: Holder) -> None:
    before = version(hana)
    state = begin(target, hana, "other")
    assert refusal(post(target, "deactivate", signed(state, hana))) == (401, "AUTH_FAILED")
    ending = post(target, "deactivate", {"did": hana.did, "options": OWN})
    assert refusal(post(target, "update", signed(ending.json, hana))) == (401, "AUTH_FAILED")
    wanted = post(target, "create", {"options": OWN}, **{"X-API-Key": target.stranger.api_key}).json["jobId"]
    assert refusal(post(target, "update", second(hana, wanted, bytes(64)))) == (400, "INVALID_REQUEST")
    assert version(hana) == before


@pytest.mark.parametrize(
    "challenge",
    [
        "",
        "didauth:v1",
        "didauth:v1 {origin} {did} update - {nonce} 2999-01-01T00:00:00Z",
        "didauth:v1 {origin} {did} - - {nonce} 2020-01-01T00:00:00Z",
        "\u00fc" * 40,
        "x" * 40_000,
    ],
)
def test_a_challenge_that_is_not_ours(target: Target, hana: Holder, challenge: str) -> None:
    """Also one that has expired: its end is in it, so that a client that moves it has another text."""
    members = decode_job(begin(target, hana, "forged")["jobId"])
    text = challenge.format(origin=target.wire.url, did=hana.did, nonce=base64url(bytes(32)))
    members["challenge"] = text
    job = second(hana, closed(members), hana.key.sign(text.encode()).signature)
    assert refusal(post(target, "update", job)) == (401, "AUTH_FAILED")


def test_the_end_of_a_challenge_cannot_be_moved(target: Target, hana: Holder) -> None:
    members = decode_job(begin(target, hana, "later")["jobId"])
    text = members["challenge"][:-20] + "2999-01-01T00:00:00Z"
    members["challenge"] = text
    job = second(hana, closed(members), hana.key.sign(text.encode()).signature)
    assert refusal(post(target, "update", job)) == (401, "AUTH_FAILED")


@pytest.mark.parametrize(
    "job",
    [
        "",
        "=",
        "not base64 at all",
        closed([]),
        closed({}),
        closed({"body": {}, "challenge": None, "digest": 1}),
        closed({"body": [], "challenge": "x", "digest": ""}),
        closed({"body": {}, "challenge": 7, "digest": ""}),
        closed({"body": {}, "challenge": "x", "digest": "", "more": 1}),
        base64url(b'{"body":{},"body":{},"challenge":"x","digest":""}'),
        base64url(b'{"body":{},"challenge":"\xff","digest":""}'),
        base64url(b"[" * 5_000),
    ],
)
def test_malformed_job_is_refused(target: Target, hana: Holder, job: str) -> None:
    for path in ("update", "deactivate"):
        assert refusal(post(target, path, second(hana, job, bytes(64)))) == (400, "INVALID_REQUEST")
    key = {"type": ED25519, "publicKeyMultibase": public(SigningKey.generate())}
    begun = {"jobId": job, "options": OWN, "secret": {"verificationMethod": [key]}}
    assert refusal(creation(target, begun)) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("body", [{}, {"method": 7}, {"method": "ids", "options": []}, {"method": "ids", "x": 1}])
def test_a_job_that_leads_to_no_creation(target: Target, body: Any) -> None:
    key = {"type": ED25519, "publicKeyMultibase": public(SigningKey.generate())}
    job = closed({"body": body, "challenge": None, "digest": ""})
    answer = creation(target, {"jobId": job, "options": OWN, "secret": {"verificationMethod": [key]}})
    assert refusal(answer) == (422, "INVALID_DOCUMENT")


def test_the_document_may_be_left_out_and_not_changed(target: Target, hana: Holder) -> None:
    state = begin(target, hana, "kept")
    job = signed(state, hana)
    assert refusal(post(target, "update", job | added("changed"))) == (400, "INVALID_REQUEST")
    assert post(target, "update", job | added("kept")).status == 200


@pytest.mark.parametrize(
    "signature", ["", "AA", "A" * 86 + "=", "A" * 85 + "B==", "A" * 87, "A" * 88, "A" * 84 + " A==", "\u0391" * 86]
)
def test_malformed_signature_is_refused(target: Target, hana: Holder, signature: str) -> None:
    job = begin(target, hana, "unsigned")["jobId"]
    assert refusal(post(target, "update", second(hana, job, signature))) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize(
    "more",
    [
        {"options": {}},
        {"options": {"clientSecretMode": False}},
        {"secret": {}},
        {"secret": {"signingResponse": {}}},
        {"secret": {"signingResponse": None}},
        {"secret": {"signingResponse": {"signingRequest0": None}}},
        {"secret": {"signingResponse": {"signingRequest1": {"signature": "A" * 86}}}},
        {"jobId": None},
        {"secret": {"verificationMethod": [{"type": ED25519, "privateKeyMultibase": SECRET}]}},
    ],
)
def test_a_request_that_leaves_something_out(target: Target, hana: Holder, more: dict[str, Any]) -> None:
    job = second(hana, begin(target, hana, "half")["jobId"], bytes(64))
    answer = post(target, "update", job | more)
    assert refusal(answer) == (400, "INVALID_REQUEST")
    assert SECRET.encode() not in answer.body


@pytest.mark.parametrize(
    "body",
    [
        {"secret": {"verificationMethod": [{"type": ED25519, "privateKeyMultibase": SECRET}]}},
        {"options": OWN, "secret": {"verificationMethod": [{"type": ED25519, "publicKeyMultibase": SECRET}]}},
        {"options": OWN, "didDocument": {"verificationMethod": [{"id": SECRET, "type": SECRET}]}},
        {"options": OWN, "didDocument": {"authentication": [SECRET]}},
        {"jobId": SECRET},
        {"options": {"seed": SECRET}},
        {"options": OWN, "secret": {"signingResponse": None, "seed": SECRET}},
    ],
)
def test_a_private_key_is_neither_taken_nor_repeated(target: Target, body: Any) -> None:
    answer = creation(target, body)
    assert refusal(answer)[0] in (400, 422)
    assert SECRET.encode() not in answer.body


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"options": {"clientSecretMode": True, "storeSecrets": True}}, 400),
        ({"options": {"returnSecrets": False}}, 400),
        ({"secret": {"verificationMethod": [{"type": ED25519, "publicKeyMultibase": "z6Mk"}]}}, 400),
        ({"didDocument": {"id": "did:ids:x"}}, 422),
        ({"didDocument": {"service": {}}}, 422),
        ({"didDocument": {"service": [7]}}, 422),
        ({"didDocument": {"service": [{"type": "x"}]}}, 422),
        ({"didDocument": {"service": [{"id": ["#a"], "type": "x", "serviceEndpoint": "https://h.example/"}]}}, 422),
        ({"didDocument": {"service": [{"id": "#a b", "type": "x", "serviceEndpoint": "https://h.example/"}]}}, 422),
        ({"didDocument": {"alsoKnownAs": [7]}}, 422),
        ({"didDocument": {"authentication": [{}]}}, 422),
        ({"options": OWN, "didDocument": {"authentication": ["#nothing"]}}, 422),
        ({"options": {"requestVerificationMethod": [{"type": "Ed25519", "purpose": ["recovery"]}] * 2}}, 400),
        ({"options": {"requestVerificationMethod": [{"type": "unknown", "purpose": ["authentication"]}]}}, 422),
        ([], 400),
        (b'{"options":{},"options":{}}', 400),
        (b'{"didDocument":{"alsoKnownAs":9007199254740993}}', 422),
    ],
)
def test_a_creation_that_is_none(target: Target, body: Any, status: int) -> None:
    assert refusal(creation(target, body))[0] == status


def test_creation_needs_an_api_key(target: Target, hana: Holder) -> None:
    assert refusal(post(target, "create?method=ids", {})) == (401, "AUTH_REQUIRED")
    bearer = hana.wire.call("POST", f"{PREFIX}/auth/token", {}, {"Authorization": hana.signed("token", {})})
    token = f"Bearer {bearer.json['access_token']}"
    assert refusal(post(target, "create?method=ids", {}, Authorization=token)) == (403, "FORBIDDEN")


def test_credentials_beside_a_job_count_for_nothing(target: Target, hana: Holder) -> None:
    """Neither an operator's key nor the controller's own signature of something else stands in for the signature of the job."""
    before = version(hana)
    state = begin(target, hana, "beside")
    job = second(hana, state["jobId"], bytes(64))
    other = service("elsewhere")
    for name, value in (("X-API-Key", target.stranger.api_key), ("Authorization", hana.signed("update", other))):
        assert refusal(post(target, "update", job, **{name: value})) == (401, "AUTH_FAILED")
    assert version(hana) == before


def test_the_end_is_signed_too(target: Target) -> None:
    holder = target.stranger.holder()
    state = post(target, "deactivate", {"did": holder.did, "options": OWN}).json
    assert refusal(post(target, "deactivate", signed(state, holder, SigningKey.generate()))) == (401, "AUTH_FAILED")
    assert holder.resolve().status == 200
    answer = post(target, "deactivate", signed(state, holder))
    assert (answer.status, answer.json["didDocumentMetadata"]) == (200, {"deactivated": True})
    assert holder.resolve().status == 410
    assert refusal(post(target, "deactivate", signed(state, holder))) == (410, "DID_DEACTIVATED")


@pytest.mark.parametrize("response", [None, {"signingRequest0": None}, []])
def test_signing_response_without_signatures_is_refused(target: Target, hana: Holder, response: Any) -> None:
    """In every request of a job, also in the first and where no signature belongs."""
    secret = {"secret": {"signingResponse": response}}
    assert refusal(creation(target, {"options": OWN} | secret)) == (400, "INVALID_REQUEST")
    assert refusal(creation(target, secret)) == (400, "INVALID_REQUEST")
    for path in ("update", "deactivate"):
        first = {"did": hana.did, "options": OWN, **(added("null") if path == "update" else {})}
        assert refusal(post(target, path, first | secret)) == (400, "INVALID_REQUEST")
