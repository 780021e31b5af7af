"""Requests over HTTP by a stranger: ids that were guessed or cut, texts that deceive, and what is stored."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from tests.attack.delegated.scene import AGE, Scene, later
from tests.attack.stranger import LEAVE, PREFIX, Answer, Holder, at_once

SHOP = "https://shop.example"


def send_question(scene: Scene, **more: object) -> tuple[int, dict[str, str]]:
    body = {"domain": SHOP, "predicates": [AGE]} | more
    answer = scene.target.wire.call("POST", f"{PREFIX}/verifier-requests", body, scene.authorize(scene.agent))
    return answer.status, answer.json


@pytest.mark.parametrize(
    "name", ["", "A", "%00", "..%2f..%2fhealth", "'%20OR%201=1--", "x" * 128, "\u202e".encode().hex()]
)
def test_made_up_id_reads_no_request(scene: Scene, name: str) -> None:
    assert send_question(scene)[0] == 201
    for method, path, body in (
        ("GET", f"/verifier-requests/{name}", None),
        ("POST", f"/verifier-requests/{name}/proof", b'{"proof": "AAAA"}'),
        ("GET", f"/consents/{name}", None),
    ):
        answer = scene.target.wire.call(method, PREFIX + path, body, {})
        assert answer.status in (400, 401, 404, 405), (path, answer.body)


def test_stranger_finds_neither_reference_nor_result(scene: Scene) -> None:
    status, made = send_question(scene, reference="order 4711")
    assert (status, made["reference"]) == (201, "order 4711")
    path = f"{PREFIX}/verifier-requests/{made['id']}"
    for headers in ({}, scene.authorize(scene.holder)):
        read = scene.target.wire.call("GET", path, None, headers)
        assert (read.status, read.json["reference"], read.json["result"]) == (200, None, None)
    assert scene.target.wire.call("DELETE", path, None, {}).status == 401
    assert scene.target.wire.call("DELETE", path, None, scene.authorize(scene.holder)).status == 404


@pytest.mark.parametrize("proof", ["AAAA", "....", "\u0000", "e30"])
def test_text_that_is_no_proof_leaves_the_request_open(scene: Scene, proof: str) -> None:
    _, made = send_question(scene)
    path = f"{PREFIX}/verifier-requests/{made['id']}"
    answer = scene.target.wire.call("POST", f"{path}/proof", json.dumps({"proof": proof}).encode(), {})
    assert answer.status == 200, answer.body
    assert answer.json["verdict"] == "invalid"
    assert scene.target.wire.call("GET", path, None, {}).json["status"] == "waiting"


@pytest.mark.parametrize("member", ["challenge", "domain", "predicates", "issuerDid", "requires"])
def test_question_cannot_be_replaced_by_the_one_who_answers(scene: Scene, member: str) -> None:
    _, made = send_question(scene)
    body = json.dumps({"proof": "AAAA", member: made.get(member) or []}).encode()
    answer = scene.target.wire.call("POST", f"{PREFIX}/verifier-requests/{made['id']}/proof", body, {})
    assert answer.outcome == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("text", ["\u202ereversed", "two\nlines", "\u2066isolate"])
@pytest.mark.parametrize("member", ["purpose", "reference"])
def test_text_that_deceives_is_refused(scene: Scene, member: str, text: str) -> None:
    status, answer = send_question(scene, **{member: text})
    assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")  # type: ignore[index]


def test_page_of_a_request_shows_markup_as_text(scene: Scene) -> None:
    _, made = send_question(scene, purpose='"><script>alert(1)</script>', reference="<b>mine</b>")
    answer = scene.target.wire.call("GET", f"/ui/request/{made['id']}", None, {})
    assert answer.status == 200
    shown = answer.body.decode()
    assert "<script>alert" not in shown
    assert "mine" not in shown
    own = {"Content-Type": "application/x-www-form-urlencoded"}
    foreign = scene.target.wire.call(
        "POST", f"/ui/request/{made['id']}", b"proof=x", own | {"Sec-Fetch-Site": "cross-site"}
    )
    assert foreign.status == 403


def test_rows_show_neither_question_nor_reference(scene: Scene) -> None:
    assert send_question(scene, purpose="To sell wine", reference="order 4711")[0] == 201
    stored = b"".join(path.read_bytes() for path in scene.target.data_dir.glob("identity.sqlite*"))
    assert b"consents_requests" in stored
    for text in (b"To sell wine", b"order 4711"):
        assert text not in stored


VERIFY = "zkp:verify"


def by_key(scene: Scene, **rights: object) -> tuple[dict[str, str], str]:
    """Return the header and the path of a new API key."""
    wanted = {"name": "shop", "scopes": [VERIFY, "dids:operate"], "allowedTargets": None} | rights
    made = scene.people.operate("POST", "/admin/api-keys", wanted)
    return {"X-API-Key": made["apiKey"]}, f"/admin/api-keys/{made['record']['id']}"


def send_by(scene: Scene, headers: dict[str, str], **more: object) -> dict[str, str]:
    body = {"domain": SHOP, "predicates": [AGE], "issuerDid": scene.people.ivo.did} | more
    made = scene.target.wire.call("POST", f"{PREFIX}/verifier-requests", body, headers)
    assert made.status == 201, made.body
    return made.json  # type: ignore[no-any-return]


def prove(scene: Scene, made: dict[str, str]) -> dict[str, str]:
    answer = scene.ask(scene.body(challenge=made["challenge"], domain=made["domain"]))
    assert answer.status == 201, answer.body
    return answer.json["proof"]  # type: ignore[no-any-return]


def hand_in(scene: Scene, made: dict[str, str], proof: object) -> Answer:
    return scene.target.wire.call("POST", f"{PREFIX}/verifier-requests/{made['id']}/proof", proof, {})


def count_of(scene: Scene, table: str) -> int:
    with closing(sqlite3.connect(scene.target.data_dir / "identity.sqlite", timeout=60)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_one_of_many_parallel_proofs_is_the_answer(scene: Scene) -> None:
    made, other = send_by(scene, scene.authorize(scene.agent)), send_by(scene, scene.authorize(scene.agent))
    proof = prove(scene, made)
    assert hand_in(scene, other, proof).json["errors"] == ["CHALLENGE_MISMATCH"]
    answers = at_once(scene.target.wire, [lambda: hand_in(scene, made, proof)] * 4)
    assert [one.json.get("verdict") for one in answers].count("valid") == 1
    assert hand_in(scene, made, proof).outcome == (400, "INVALID_REQUEST")


def test_stranger_adds_nothing_to_the_history_of_a_verifier(scene: Scene) -> None:
    made, before = send_by(scene, scene.authorize(scene.agent)), count_of(scene, "verifications")
    for proof in ({"proof": "AAAA"}, prove(scene, send_by(scene, scene.authorize(scene.holder)))):
        answer = hand_in(scene, made, proof)
        assert (answer.status, answer.json["verdict"]) == (200, "invalid")
        assert "CHALLENGE_UNKNOWN" not in answer.json["errors"]
    assert count_of(scene, "verifications") == before
    assert hand_in(scene, made, prove(scene, made)).json["verdict"] == "valid"
    assert count_of(scene, "verifications") == before + 1


def test_token_without_the_scope_reads_no_result(scene: Scene) -> None:
    made = send_by(scene, scene.authorize(scene.agent), reference="order 4711")
    assert hand_in(scene, made, prove(scene, made)).json["verified"]
    answer = scene.act(scene.agent, "POST", "/auth/token", "token", {"scope": "credentials:read"})
    path, token = f"{PREFIX}/verifier-requests/{made['id']}", answer.json["access_token"]
    read = scene.target.wire.call("GET", path, None, {"Authorization": f"Bearer {token}"})
    assert (read.status, read.json["reference"], read.json["result"]) == (200, None, None)
    own = scene.target.wire.call("GET", path, None, scene.authorize(scene.agent)).json
    assert (own["reference"], own["result"]["verdict"]) == ("order 4711", "valid")


@pytest.mark.parametrize(
    ("change", "code"), [(None, (401, "AUTH_FAILED")), ({"scopes": ["audit:read"]}, (403, "FORBIDDEN"))]
)
def test_proof_for_a_key_without_the_right_is_no_answer(scene: Scene, change: object, code: tuple[int, str]) -> None:
    headers, path = by_key(scene)
    made = send_by(scene, headers)
    proof = prove(scene, made)
    scene.people.operate("DELETE" if change is None else "PATCH", path, change)
    assert hand_in(scene, made, proof).outcome == code


def test_proof_for_a_did_that_a_key_lost_is_no_answer(scene: Scene) -> None:
    headers, path = by_key(scene)
    token = scene.target.wire.call("POST", f"{PREFIX}/auth/token", {"subject": scene.agent.did}, headers)
    made = send_by(scene, {"Authorization": f"Bearer {token.json['access_token']}"})
    scene.people.operate("PATCH", path, {"allowedTargets": [scene.holder.did]})
    assert hand_in(scene, made, prove(scene, made)).outcome == (403, "FORBIDDEN")


def test_proof_for_a_deactivated_verifier_is_no_answer(scene: Scene) -> None:
    shop = scene.target.stranger.holder()
    made = send_by(scene, scene.authorize(shop))
    proof = prove(scene, made)
    assert shop.act("deactivate", LEAVE).status == 200
    assert hand_in(scene, made, proof).outcome == (401, "AUTH_FAILED")


@pytest.mark.parametrize(
    "change",
    [{"issuerDid": "Deutsche Bank"}, {"issuerDid": "did:web:bank\u202e.example"}, {"schemaId": "\u2066age"}],
)
def test_issuer_and_schema_that_deceive_are_refused(scene: Scene, change: dict[str, str]) -> None:
    status, answer = send_question(scene, **change)
    assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")  # type: ignore[index]


def test_agent_cannot_fill_a_list_by_its_own_delegations(scene: Scene) -> None:
    def send(agent: Holder) -> int:
        body = {"holderDid": scene.holder.did, "predicates": [AGE]}
        return scene.act(agent, "POST", "/consents", "prove", body).status

    agent, under = (scene.target.stranger.holder() for _ in range(2))
    parent = scene.people.delegate(scene.holder, agent, maxDepth=3, autonomyLevel=5)
    child = {"holderDid": scene.holder.did, "agentDid": under.did, "parentId": parent, "actions": ["zkp.prove.*.*"]}
    made = scene.act(agent, "POST", "/delegations", "delegate", child | {"autonomyLevel": 4, "expiresAt": later(60)})
    assert made.status == 201, made.body
    assert [send(agent), send(under)] == [201, 403]


def test_a_repeated_request_waits_once(scene: Scene) -> None:
    """A client that lost the answer sends the same request and ``Idempotency-Key`` again."""
    agent, key = scene.target.stranger.holder(), {"Idempotency-Key": "a-request-that-was-lost"}
    scene.people.delegate(scene.holder, agent)
    body = {"holderDid": scene.holder.did, "predicates": [AGE]}
    made = [scene.act(agent, "POST", "/consents", "prove", body, key) for _ in range(2)]
    assert [(one.status, one.json["id"]) for one in made] == [(201, made[0].json["id"])] * 2
    assert made[1].headers["idempotent-replayed"] == "true"
    asked = {"domain": SHOP, "predicates": [AGE]}
    twice = [
        scene.target.wire.call("POST", f"{PREFIX}/verifier-requests", asked, scene.authorize(agent) | key)
        for _ in range(2)
    ]
    assert [(one.status, one.json["id"]) for one in twice] == [(201, twice[0].json["id"])] * 2


@pytest.mark.nightly
def test_many_delegations_by_others_hide_none_of_hers(scene: Scene) -> None:
    """The list of one pair of DIDs has more pages than one."""
    helper, agent = (scene.target.stranger.holder() for _ in range(2))
    parent = scene.people.delegate(scene.holder, helper, maxDepth=3, autonomyLevel=5)
    scene.people.delegate(scene.holder, agent)
    child = {"holderDid": scene.holder.did, "agentDid": agent.did, "parentId": parent, "actions": ["zkp.prove.*.*"]}
    for _ in range(201):
        made = scene.act(
            helper, "POST", "/delegations", "delegate", child | {"autonomyLevel": 4, "expiresAt": later(60)}
        )
        assert made.status == 201, made.body
    body = {"holderDid": scene.holder.did, "predicates": [AGE]}
    assert scene.act(agent, "POST", "/consents", "prove", body).status == 201


def test_deactivated_holder_is_asked_nothing(scene: Scene) -> None:
    holder = scene.target.stranger.holder()
    scene.people.delegate(holder, scene.agent)
    body = {"holderDid": holder.did, "predicates": [AGE]}
    assert scene.act(scene.agent, "POST", "/consents", "prove", body).status == 201
    assert holder.act("deactivate", LEAVE).status == 200
    assert scene.act(scene.agent, "POST", "/consents", "prove", body).outcome == (410, "DID_DEACTIVATED")
