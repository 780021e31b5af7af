"""A real proof on the pages: what a holder and a verifier see of it, and a stranger does not."""

from __future__ import annotations

import json
from urllib.parse import quote, urlencode

from tests.attack.delegated.scene import Scene
from tests.attack.page_requests import FORM, begin, cookie_of, page


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
        assert ("Genuine, but not bound to your request" in answer.body.decode()) is holds
        assert ("is at least" in answer.body.decode()) is holds
    wrong = urlencode({"proof": json.dumps(made), "issuer": scene.agent.did}).encode()
    answer = scene.target.wire.call("POST", "/ui/verify", wrong, FORM)
    assert "Invalid: do not rely on this proof" in answer.body.decode()


def test_a_proof_is_shown_to_its_holder_and_agent_alone_without_any_value(scene: Scene) -> None:
    made = scene.ask().json
    path = f"/ui/proof/{quote(made['proofId'], safe=':')}"
    shown = page(scene.target, path, cookie_of(begin(scene.holder)))
    assert shown.status == 200
    assert "<strong>age</strong>" in shown.body.decode()
    home = page(scene.target, "/ui/home", cookie_of(begin(scene.holder))).body.decode()
    assert "An agent obtained a proof about you." in home
    assert path in home
    credentials = page(scene.target, "/ui/credentials", cookie_of(begin(scene.holder))).body.decode()
    assert scene.credential_id in credentials
    mallory = scene.target.stranger.holder()
    assert page(scene.target, path).status == 303
    refused = page(scene.target, path, cookie_of(begin(mallory)))
    assert refused.status == 404
    assert refused.body.count(b"PROOF_NOT_FOUND") == 1
    assert scene.delegation_id not in page(scene.target, "/ui/delegations", cookie_of(begin(mallory))).body.decode()
