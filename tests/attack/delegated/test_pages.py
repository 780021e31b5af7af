"""A real proof on the pages: what a holder and a verifier see of it, and a stranger does not."""

from __future__ import annotations

import json
import re
import time
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from identity_ui.consent import CREDENTIALS

from tests.attack.delegated.scene import AGE, VALUES, Scene, later
from tests.attack.page_requests import FORM, begin, cookie_of, page
from tests.attack.stranger import PREFIX


def without_templates(page: str) -> str:
    """Return what a reader of the page sees; a script fills the templates."""
    return re.sub(r"<template.*?</template>", "", page, flags=re.DOTALL)


def test_a_pasted_proof_holds_and_a_changed_one_does_not(scene: Scene) -> None:
    made = scene.ask().json
    for pasted, holds in (
        (made, True),
        (made["proof"], True),
        ({**made["proof"], "proof": made["proof"]["proof"][:-8] + "AAAAAAAA"}, False),
    ):
        sent = urlencode({"proof": json.dumps(pasted)}).encode()
        answer = scene.target.wire.call("POST", "/ui/verify", sent, FORM)
        assert answer.status == 200
        shown = without_templates(answer.body.decode())
        assert ("Genuine, but nothing ties it to you" in shown) is holds
        assert ("It says: <b><bdi>age</bdi> is at least" in shown) is holds
    wrong = urlencode({"proof": json.dumps(made), "issuer": scene.agent.did}).encode()
    answer = scene.target.wire.call("POST", "/ui/verify", wrong, FORM)
    assert "Do not rely on it." in without_templates(answer.body.decode())


def test_proof_is_shown_to_holder_and_agent_only(scene: Scene) -> None:
    made = scene.ask().json
    path = f"/ui/proof/{quote(made['proofId'], safe=':')}"
    shown = page(scene.target, path, cookie_of(begin(scene.holder)))
    assert shown.status == 200
    assert "<b><bdi>age</bdi> is at least" in shown.body.decode()
    home = page(scene.target, "/ui/home", cookie_of(begin(scene.holder))).body.decode()
    assert " proved " in home
    assert path in home
    credentials = page(scene.target, "/ui/credentials", cookie_of(begin(scene.holder))).body.decode()
    assert scene.credential_id in credentials
    mallory = scene.target.stranger.holder()
    assert page(scene.target, path).status == 303
    refused = page(scene.target, path, cookie_of(begin(mallory)))
    assert refused.status == 404
    assert refused.body.count(b"PROOF_NOT_FOUND") == 1
    assert scene.delegation_id not in page(scene.target, "/ui/agents", cookie_of(begin(mallory))).body.decode()


@pytest.mark.nightly
def test_many_other_credentials_hide_none_of_hers(scene: Scene) -> None:
    """Any issuer adds to her list. Expired ones are not offered."""
    hana = scene.target.stranger.holder()
    own, cookie = scene.people.issue(hana), cookie_of(begin(hana))
    issuer = scene.people.ivo.did
    scene.people.operate(
        "POST", "/credential-schemas", {"id": f"{issuer}#junk", "attributes": [{"name": "junk", "type": "string"}]}
    )
    claims = {"issuerDid": issuer, "holderDid": hana.did, "suite": 1}
    for _ in range(CREDENTIALS + 1):
        junk = claims | {"schemaId": f"{issuer}#junk", "attributes": {"junk": "x"}}
        scene.people.operate("POST", "/credentials", junk)
    ending = claims | {"schemaId": scene.people.schema_id, "attributes": VALUES, "validUntil": later(1)}
    ended = scene.people.operate("POST", "/credentials", ending)["id"]
    time.sleep(2.1)
    asked = {"agentDid": scene.agent.did, "predicates": [AGE]}
    sent = urlencode({"request": json.dumps(asked)}).encode()
    shown = scene.target.wire.call("POST", "/ui/consent", sent, FORM | {"Cookie": cookie}).body.decode()
    assert own in shown
    assert ended not in shown


@pytest.mark.nightly
def test_permissions_of_agents_hide_none_of_hers(scene: Scene) -> None:
    """An agent passes on its permission again and again, and takes it back."""
    hana, helper, other = (scene.target.stranger.holder() for _ in range(3))
    given = scene.people.delegate(hana, helper, maxDepth=3, autonomyLevel=5)
    child = {"holderDid": hana.did, "agentDid": other.did, "parentId": given, "actions": ["zkp.prove.*.*"]}
    child |= {"autonomyLevel": 4, "expiresAt": later(600)}
    for _ in range(201):
        made = scene.act(helper, "POST", "/delegations", "delegate", child)
        assert made.status == 201, made.body
        assert scene.act(helper, "POST", f"/delegations/{made.json['id']}/revoke", "delegate", {}).status == 200
    cookie = cookie_of(begin(hana))
    assert "One agent may act for you" in page(scene.target, "/ui/home", cookie).body.decode()
    agents = page(scene.target, "/ui/agents", cookie).body.decode()
    assert given in agents
    assert "Stop all agents" in agents


def test_a_session_stops_its_own_agents_and_changes_nothing_else(scene: Scene) -> None:
    """A stolen cookie can stop agents of this holder, and the audit log names the session."""
    wire, hana = scene.target.wire, cookie_of(begin(scene.holder))
    mallory = cookie_of(begin(scene.target.stranger.holder()))
    form = urlencode({"id": scene.delegation_id}).encode()
    refused = wire.call("POST", "/ui/agents/stop", form, FORM | {"Cookie": mallory})
    assert refused.status == 404
    assert wire.call("POST", "/ui/agents/stop", form, FORM).headers["location"].startswith("/ui/sign-in")
    assert (
        wire.call("POST", "/ui/agents/stop", form, FORM | {"Cookie": hana, "Sec-Fetch-Site": "cross-site"}).status
        == 403
    )
    assert scene.ask().status == 201
    stopped = wire.call("POST", "/ui/agents/stop", form, FORM | {"Cookie": hana})
    assert (stopped.status, stopped.headers["location"]) == (303, "/ui/agents")
    assert scene.ask().outcome == (403, "DELEGATION_NOT_ACTIVE")
    for path in ("resume", "revoke"):
        address = f"{PREFIX}/delegations/{scene.delegation_id}/{path}"
        assert wire.call("POST", address, None, {"Cookie": hana}).status == 401
    key = {"X-API-Key": scene.target.stranger.api_key}
    lines: list[dict[str, Any]] = []
    while found := wire.call("GET", f"{PREFIX}/audit?limit=1000&after={len(lines)}", None, key).json["items"]:
        lines += [json.loads(one["line"]) for one in found]
    (line,) = [one for one in lines if one["operation"] == "stopAgents" and one["target"] == scene.holder.did]
    assert line["details"]["delegations"] == [scene.delegation_id]
    assert len(line["details"]["session"]) > 16
