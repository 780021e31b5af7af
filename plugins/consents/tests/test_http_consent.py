"""The page of consent, against an agent that writes into its request whatever it likes, and a page of another origin."""

from __future__ import annotations

import html
import json
from urllib.parse import urlencode

import pytest

from tests.attack.delegated.scene import AGE, VALUES, Scene
from tests.attack.page_requests import FORM, MARKUP, begin, cookie_of
from tests.attack.stranger import Answer


def consider(scene: Scene, value: object, **headers: str) -> Answer:
    text = value if isinstance(value, str) else json.dumps(value)
    cookie = {"Cookie": cookie_of(begin(scene.holder))}
    return scene.target.wire.call("POST", "/ui/consent", urlencode({"request": text}).encode(), FORM | cookie | headers)


def test_a_request_is_read_in_words_and_nothing_comes_of_it(scene: Scene) -> None:
    before = scene.people.operate("GET", f"/delegations?holderDid={scene.holder.did}&limit=200")["items"]
    asked = {"agentDid": scene.agent.did, "predicates": [AGE], "domain": "https://shop.example", "purpose": "to buy"}
    answer = consider(scene, asked)
    assert answer.status == 200
    text = answer.body.decode()
    for said in ("<bdi>age</bdi>", "is at least", "https://shop.example", "to buy", scene.agent.did):
        assert said in text
    assert scene.credential_id in text
    assert "zkp.prove.age.gte.18" in text
    # Her own values are none of what is shown.
    assert [one for one in (VALUES["income"], VALUES["country"], VALUES["birthDate"]) if str(one) in text] == []
    after = scene.people.operate("GET", f"/delegations?holderDid={scene.holder.did}&limit=200")["items"]
    assert [one["id"] for one in after] == [one["id"] for one in before]


def test_request_without_matching_credential_is_not_approvable(scene: Scene) -> None:
    asked = {"agentDid": scene.agent.did, "predicates": [AGE | {"attributeName": "shoeSize"}]}
    text = consider(scene, asked).body.decode()
    assert 'id="approve"' not in text
    assert "nothing to approve" in text


@pytest.mark.parametrize("text", [one for one in MARKUP if one.isprintable()])
def test_markup_in_a_request_stays_text(scene: Scene, text: str) -> None:
    predicate = {"attributeName": "country", "type": "eq", "value": text}
    asked = {"agentDid": scene.agent.did, "predicates": [predicate], "domain": text, "purpose": text}
    answer = consider(scene, asked)
    assert answer.status == 200
    shown = answer.body.decode()
    assert "<" not in text or text not in shown
    # What the script reads is what was asked, and ends where its attribute does.
    said = shown.partition('data-request="')[2].partition('"')[0]
    assert json.loads(html.unescape(said))["predicates"] == [predicate]
    broken = consider(scene, text)
    assert broken.status == 422
    assert "<" not in text or text not in broken.body.decode()


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_origin_has_nothing_read(scene: Scene, site: str) -> None:
    answer = consider(scene, {"agentDid": scene.agent.did, "predicates": [AGE]}, **{"Sec-Fetch-Site": site})
    assert answer.status == 403


def test_a_stranger_is_asked_to_sign_in(scene: Scene) -> None:
    answer = scene.target.wire.call("POST", "/ui/consent", urlencode({"request": "{}"}).encode(), FORM)
    assert (answer.status, answer.headers["location"]) == (303, "/ui/sign-in?to=consent")
