"""The pages of operators against a client without an administrator's key, a client with another operator's cookie, and injected text."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from urllib.parse import quote, urlencode

import pytest

from tests.attack.conftest import Target
from tests.attack.delegated.scene import VALUES, Scene
from tests.attack.page_requests import FORM, MARKUP, begin, cookie_of, page
from tests.attack.stranger import PREFIX, Answer

HOME = "/ui/operator"
PAGES = ("", "/dids", "/ledger", "/verifications", "/api-keys", "/plugins", "/audit", "/settings", "/doctor")


def sign_in(target: Target, key: str, **headers: str) -> Answer:
    return target.wire.call("POST", f"{HOME}/session", urlencode({"key": key}).encode(), FORM | headers)


def cookie(answer: Answer) -> str:
    assert (answer.status, answer.headers["location"]) == (303, HOME), answer.body
    return answer.headers["set-cookie"].partition(";")[0]


def minted(target: Target, **wish: object) -> tuple[str, str]:
    """The text and the id of a new key."""
    answer = target.wire.call(
        "POST", f"{PREFIX}/admin/api-keys", {"name": "n", **wish}, {"X-API-Key": target.stranger.api_key}
    )
    assert answer.status == 201, answer.body
    return answer.json["apiKey"], answer.json["record"]["id"]


def is_signed_in(target: Target, value: str) -> bool:
    answer = page(target, HOME, value)
    assert answer.status in (200, 303), answer.body
    return answer.status == 200


def test_operator_sees_everything_and_no_attribute_and_no_secret(scene: Scene) -> None:
    target, key = scene.target, scene.target.stranger.api_key
    proof = scene.ask().json["proof"]
    assert target.wire.call("POST", f"{PREFIX}/zkp/proofs/verify", proof, {"X-API-Key": key}).json["verified"]
    value = cookie(sign_in(target, key))
    values = {json.dumps(one).strip('"') for name, one in VALUES.items() if name not in ("member", "age")}
    for path in PAGES:
        answer = page(target, HOME + path, value)
        assert answer.status == 200, (path, answer.body)
        text = answer.body.decode()
        assert key not in text
        assert hashlib.sha256(key.encode()).hexdigest() not in text
        assert [one for one in values if one in text] == [], path
        # An operator does not see which attribute was requested.
        assert "birthDate" not in text
        assert ">age<" not in text
        assert answer.headers["cache-control"] == "no-store"
        assert len(answer.body) < 100_000
    assert scene.people.ivo.did in page(target, f"{HOME}/verifications", value).body.decode()
    assert "lines were checked by this process" in page(target, f"{HOME}/audit", value).body.decode()


@pytest.mark.parametrize(
    "wish",
    [
        {"scopes": ["audit:read", "service:read", "dids:list"]},
        {"admin": True, "allowedTargets": []},
        {"scopes": []},
    ],
    ids=["scopes", "allowlist", "none"],
)
def test_a_key_of_less_than_an_administrator_signs_nobody_in(target: Target, wish: dict[str, object]) -> None:
    text, _ = minted(target, **wish)
    answer = sign_in(target, text)
    assert answer.status == 403
    assert "set-cookie" not in answer.headers
    assert text not in answer.body.decode()


@pytest.mark.parametrize("key", ["", "wrong", "x" * 5_000, "\u202e", MARKUP[0]])
def test_invalid_key_is_refused_and_not_shown_again(target: Target, key: str) -> None:
    answer = sign_in(target, key)
    assert answer.status == 401
    assert "set-cookie" not in answer.headers
    assert not key or key not in answer.body.decode()


def test_a_session_ends_with_its_key_and_when_it_is_ended(either: Target) -> None:
    text, key_id = minted(either, admin=True)
    first, second = cookie(sign_in(either, text)), cookie(sign_in(either, text))
    out = either.wire.call("POST", f"{HOME}/sign-out", b"", FORM | {"Cookie": first})
    assert (out.status, "Max-Age=0" in out.headers["set-cookie"]) == (303, True)
    for _ in range(4):
        assert either.wire.call("GET", HOME, None, {"Cookie": first}, fresh=True).status == 303
    assert is_signed_in(either, second)
    answer = either.wire.call(
        "DELETE", f"{PREFIX}/admin/api-keys/{key_id}", None, {"X-API-Key": either.stranger.api_key}
    )
    assert answer.status == 200
    if either.processes == 1:
        assert not is_signed_in(either, second)


def test_cookie_is_for_these_pages_alone(target: Target) -> None:
    key = target.stranger.api_key
    value = cookie(sign_in(target, key))
    name, _, text = value.partition("=")
    said = base64.urlsafe_b64decode(text.partition(".")[0] + "==")
    digest = hashlib.sha256(key.encode()).digest()
    for secret in (key.encode(), digest, digest.hex().encode(), base64.urlsafe_b64encode(digest).rstrip(b"=")):
        assert secret not in said
    for path in ("/admin/api-keys", "/audit", "/dids", "/delegations"):
        assert target.wire.call("GET", PREFIX + path, None, {"Cookie": value}).status == 401
    # A holder's cookie is not an operator's, and an operator's no holder's, whatever its name.
    holder_name, _, holder_text = cookie_of(begin(target.stranger.holder())).partition("=")
    assert not is_signed_in(target, f"{name}={holder_text}")
    assert page(target, "/ui/home", f"{holder_name}={text}").status == 303
    assert not is_signed_in(target, f"{name}={text[:-2]}AA")
    assert is_signed_in(target, f"{name}=junk; {value}")


@pytest.mark.parametrize("path", ["/session", "/sign-out"])
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_forms_of_other_origins_do_nothing(target: Target, path: str, site: str) -> None:
    key = target.stranger.api_key
    value = cookie(sign_in(target, key))
    sent = {"Cookie": value, "Sec-Fetch-Site": site}
    answer = target.wire.call("POST", HOME + path, urlencode({"key": key}).encode(), FORM | sent)
    assert answer.status == 403
    assert "set-cookie" not in answer.headers
    assert is_signed_in(target, value)


def test_every_page_sends_a_stranger_to_sign_in(target: Target) -> None:
    for path in PAGES:
        answer = page(target, HOME + path)
        assert (answer.status, answer.headers["location"]) == (303, f"{HOME}/sign-in")


@pytest.mark.parametrize("text", [one for one in MARKUP if "<" in one])
def test_markup_in_names_and_queries_stays_text(target: Target, text: str) -> None:
    minted(target, name=text, scopes=["audit:read"])
    value = cookie(sign_in(target, target.stranger.api_key))
    shown, cursor = "", ""
    while text not in html.unescape(shown):
        answer = page(target, f"{HOME}/api-keys{cursor}", value)
        shown = answer.body.decode()
        assert text not in shown
        found = shown.partition('<p><a href="?cursor=')[2].partition('"')[0]
        assert found or text in html.unescape(shown)
        cursor = f"?cursor={found}"
    for path in ("/audit?before=", "/dids?before=", "/api-keys?cursor=", "/verifications?cursor="):
        answer = page(target, f"{HOME}{path}{quote(text, safe='')}", value)
        assert answer.status == 400
        assert text not in answer.body.decode()
