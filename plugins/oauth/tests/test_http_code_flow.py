"""The authorization code flow by raw bytes: no code without the holder's signature over that very request, no token without the client,
redirection URI, verifier and resource of the code, and no redirect without a request.

RFC 6749 §4.1 and §10, RFC 7636, RFC 8252 §7.3, RFC 8707, RFC 9207, RFC 9700.
"""

from __future__ import annotations

import html
import json
import os
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from nacl.signing import SigningKey

from plugins.oauth.tests.code_flow import CALLBACK, Flow, decision, registers
from plugins.oauth.tests.test_http_oauth import FORM, assertion, claims_of, refusal
from tests.attack.conftest import Target
from tests.attack.stranger import PREFIX, Holder, at_once, base64url, header, multikey, rotation

GRANT = (400, "invalid_grant")


@pytest.fixture(scope="module")
def hana(targets: Callable[[int], Target]) -> Holder:
    return targets(1).stranger.holder()


@pytest.fixture(scope="module")
def shop(targets: Callable[[int], Target]) -> Holder:
    """A client that has a key."""
    uris = (CALLBACK, f"{CALLBACK}?tenant=1", "http://127.0.0.1:4000/callback", "http://shop.example/callback")
    return registers(targets(1).stranger.holder(), "OAuthRedirect", *uris)


@pytest.fixture(scope="module")
def app(targets: Callable[[int], Target]) -> Holder:
    """A client that has none."""
    return registers(targets(1).stranger.holder(), "OAuthNativeRedirect", "http://[::1]/callback")


@pytest.fixture(scope="module")
def thief(targets: Callable[[int], Target]) -> Holder:
    """Another client of the service."""
    return registers(targets(1).stranger.holder(), "OAuthRedirect", "https://thief.example/", CALLBACK)


def statuses(holder: Holder, token: str) -> list[int]:
    """Return the status of each request with the token: delegations, credentials, and a change."""
    bearer = {"Authorization": f"Bearer {token}"}
    asked = [("GET", f"{PREFIX}/delegations", None), ("GET", f"{PREFIX}/credentials", None)]
    return [
        holder.wire.call(method, path, body, bearer).status
        for method, path, body in [*asked, ("POST", f"{PREFIX}/delegations/{uuid.uuid4()}/revoke", {})]
    ]


def audited(target: Target) -> Iterator[Any]:
    """The lines of the audit log."""
    after, admin = 0, {"X-API-Key": target.stranger.api_key}
    while found := target.wire.call("GET", f"{PREFIX}/audit?limit=1000&after={after}", None, admin).json["items"]:
        yield from (json.loads(item["line"]) for item in found)
        after = found[-1]["sequence"]


def test_a_client_gets_what_the_holder_gave_and_no_more(target: Target, hana: Holder, shop: Holder) -> None:
    flow = Flow(shop, scope="delegations:read records:erase", resource=target.wire.url + PREFIX)
    shown = flow.page()
    assert shown.status == 200
    assert shop.did in shown.body.decode()
    assert "records:erase" not in shown.body.decode().split("data-request")[0]
    went = urlsplit(flow.decided(hana).json["redirect_to"])
    answer = {name: one for name, (one,) in parse_qs(went.query).items()}
    assert f"{went.scheme}://{went.netloc}{went.path}" == CALLBACK
    assert (answer["state"], answer["iss"]) == (flow.asked["state"], target.wire.url)
    given = flow.redeemed(answer["code"])
    assert given.status == 200, given.body
    assert (given.headers["cache-control"], given.headers["pragma"]) == ("no-store", "no-cache")
    assert (given.json["scope"], set(given.json)) == (
        "delegations:read",
        {"access_token", "token_type", "expires_in", "scope"},
    )
    said = claims_of(given.json["access_token"])
    assert (said["sub"], said["client_id"], said["act"]) == (hana.did, shop.did, {"sub": shop.did})
    assert said["aud"] == target.wire.url + PREFIX
    assert statuses(hana, given.json["access_token"]) == [200, 403, 403]
    told = {
        (line["operation"], line["caller"]) for line in audited(target) if line["details"].get("jti") == said["jti"]
    }
    assert told == {("authorizeClient", f"did:{hana.did}"), ("issueToken", f"did:{shop.did}")}
    # She sees it herself too.
    own = {"Authorization": header(hana.did, hana.key.sign(hana.challenge("read").encode()).signature)}
    (newest, *_) = target.wire.call("GET", f"{PREFIX}/dashboard/timeline?kind=client", None, own).json["items"]
    assert (newest["kind"], newest["agentDid"]) == ("client.authorized", shop.did)


@pytest.mark.parametrize(
    "change",
    [
        {"client_id": None},
        {"client_id": "shop"},
        {"client_id": "did:ids:zQmNobody"},
        {"redirect_uri": None},
        {"redirect_uri": "https://shop.example/callback/"},
        {"redirect_uri": "https://shop.example/callback?"},
        {"redirect_uri": "https://shop.example/callback?tenant=2"},
        {"redirect_uri": "https://shop.example/callback#x"},
        {"redirect_uri": "https://SHOP.example/callback"},
        {"redirect_uri": "https://shop.example:443/callback"},
        {"redirect_uri": "https://shop.example/./callback"},
        {"redirect_uri": "https://shop.example@thief.example/callback"},
        {"redirect_uri": "https://shop.example.thief.example/callback"},
        {"redirect_uri": "https://thief.example/"},
        {"redirect_uri": "javascript:alert(1)"},
        {"redirect_uri": "http://shop.example/callback"},
        {"redirect_uri": "http://127.0.0.1:4000/other"},
        {"redirect_uri": "http://127.0.0.1:4000@thief.example/callback"},
        {"redirect_uri": "http://127.0.0.1.thief.example:4000/callback"},
        {"redirect_uri": "http://localhost:4000/callback"},
        {"redirect_uri": "http://[::1]:4000/callback"},
        {"redirect_uri": "//thief.example"},
    ],
)
def test_redirect_goes_to_registered_places_only(hana: Holder, shop: Holder, change: dict[str, str | None]) -> None:
    flow = Flow(shop, **change)
    shown = flow.page()
    assert shown.status == 400
    assert "location" not in shown.headers
    assert "access_denied" not in shown.body.decode()
    assert "thief" not in "".join(re.findall(r'href="([^"]*)"', shown.body.decode()))
    assert flow.decided(hana).outcome == (400, "INVALID_REQUEST")


REFUSED: list[tuple[dict[str, str | None], str]] = [
    ({"response_type": None}, "invalid_request"),
    ({"response_type": "token"}, "unsupported_response_type"),
    ({"response_type": "code id_token"}, "unsupported_response_type"),
    ({"response_mode": "fragment"}, "invalid_request"),
    ({"code_challenge": None}, "invalid_request"),
    ({"code_challenge_method": None}, "invalid_request"),
    ({"code_challenge_method": "plain"}, "invalid_request"),
    ({"code_challenge_method": "s256"}, "invalid_request"),
    ({"code_challenge": "x" * 42}, "invalid_request"),
    ({"code_challenge": "x" * 128}, "invalid_request"),
    ({"code_challenge": "=" * 43}, "invalid_request"),
    ({"scope": None}, "invalid_scope"),
    ({"scope": "everything"}, "invalid_scope"),
    ({"scope": "records:erase delegations:write"}, "invalid_scope"),
    ({"resource": "https://other.example"}, "invalid_target"),
    ({"state": "x" * 2_049}, "invalid_request"),
    ({"state": "a\r\nb"}, "invalid_request"),
]


@pytest.mark.parametrize(("change", "kind"), REFUSED)
def test_client_error_is_shown_on_page(
    target: Target, hana: Holder, shop: Holder, change: dict[str, str | None], kind: str
) -> None:
    flow = Flow(shop, **change)
    shown = flow.page()
    assert (shown.status, "location" in shown.headers) == (400, False)
    assert "data-request" not in shown.body.decode()
    (back,) = [one for one in re.findall(r'href="([^"]*)"', shown.body.decode()) if one.startswith(CALLBACK)]
    told = {name: one for name, (one,) in parse_qs(urlsplit(html.unescape(back)).query).items()}
    assert (told["error"], told["iss"]) == (kind, target.wire.url)
    assert told.get("state") == (flow.asked["state"] if "state" not in change else None)
    assert flow.decided(hana).status == 400


@pytest.mark.parametrize("name", ["client_id", "redirect_uri", "scope", "state", "code_challenge", "x"])
def test_a_parameter_that_comes_twice(hana: Holder, shop: Holder, name: str) -> None:
    flow = Flow(shop, x="1")
    twice = f"{urlencode(flow.asked)}&{urlencode({name: 'https://thief.example/'})}"
    shown = shop.wire.call("GET", f"/oauth/authorize?{twice}")
    assert (shown.status, "location" in shown.headers) == (400, False)
    sent = {"Content-Type": FORM, "Authorization": decision(hana, flow.asked)}
    assert shop.wire.call("POST", "/oauth/authorize", twice.encode(), sent).outcome == (400, "INVALID_REQUEST")


def test_the_page_is_in_no_frame_and_nothing_leaves_it(shop: Holder) -> None:
    shown = Flow(shop, state='"><script>alert(1)</script>').page()
    policy = shown.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self'" in policy
    assert (shown.headers["referrer-policy"], shown.headers["cache-control"]) == ("no-referrer", "no-store")
    assert "<script>alert" not in shown.body.decode()
    assert "access-control-allow-origin" not in shown.headers


def test_decision_requires_signature_over_this_request(
    target: Target, hana: Holder, shop: Holder, thief: Holder
) -> None:
    flow = Flow(shop)
    body, headers = urlencode(flow.asked).encode(), {"Content-Type": FORM}
    # No cookie, no token and no key of an operator decides for her.
    assert target.wire.call("POST", "/oauth/authorize", body, headers).status == 401
    for credential in (f"ApiKey {target.stranger.api_key}", f"Bearer {target.stranger.api_key}", "Basic eA=="):
        assert target.wire.call("POST", "/oauth/authorize", body, headers | {"Authorization": credential}).status == 401
    # Nor does a signature that she made for something else, or for nothing in particular.
    for purpose in (None, "read", "token", "delegate"):
        assert flow.decided(hana, purpose=purpose).outcome == (401, "AUTH_FAILED")
    assert flow.decided(hana, named=False).outcome == (401, "AUTH_FAILED")
    assert flow.decided(hana, bound=False).outcome == (401, "AUTH_FAILED")
    # Each parameter is part of what she signed, and may be neither added nor taken away.
    for change in [
        {"client_id": thief.did},
        {"scope": "credentials:read delegations:read zkp:prove"},
        {"state": "another"},
        {"code_challenge": Flow(shop).asked["code_challenge"]},
        {"resource": target.wire.url},
        {"response_mode": "query"},
    ]:
        assert flow.decided(hana, sent=flow.asked | change).outcome == (401, "AUTH_FAILED")
    assert flow.decided(hana, sent={k: v for k, v in flow.asked.items() if k != "state"}).status == 401
    # And it works once.
    authorization = decision(hana, flow.asked)
    once = [
        target.wire.call("POST", "/oauth/authorize", body, headers | {"Authorization": authorization}) for _ in "12"
    ]
    assert [answer.status for answer in once] == [200, 401]
    # A client is not a holder.
    assert Flow(shop).decided(shop).outcome == (403, "FORBIDDEN")


def test_a_signature_for_a_decision_signs_in_nowhere(target: Target, hana: Holder, shop: Holder) -> None:
    body = {"scope": "delegations:read"}
    signed = {"Authorization": decision(hana, body)}
    assert target.wire.call("POST", f"{PREFIX}/auth/token", body, signed).outcome == (401, "AUTH_FAILED")
    session = decision(hana, {"did": hana.did, "session": "dashboard"})
    assert target.wire.call("POST", "/ui/session", None, {"Authorization": session}).status == 401


def test_code_is_bound_to_client_uri_verifier_and_resource(
    target: Target, hana: Holder, shop: Holder, thief: Holder
) -> None:
    flow = Flow(shop, resource=target.wire.url + PREFIX)
    code = flow.code(hana)
    wrong: list[tuple[dict[str, Any], tuple[int, str]]] = [
        ({"client": thief}, GRANT),
        ({"client": thief, "client_id": None}, GRANT),
        ({"client": thief, "client_id": shop.did}, (400, "invalid_client")),
        ({"client_assertion": None}, (400, "invalid_client")),
        ({"client_assertion": assertion(shop, key=thief.key)}, (400, "invalid_client")),
        ({"redirect_uri": f"{CALLBACK}?tenant=1"}, GRANT),
        ({"redirect_uri": None}, (400, "invalid_request")),
        ({"code_verifier": None}, (400, "invalid_request")),
        ({"code_verifier": ""}, (400, "invalid_request")),
        ({"code_verifier": flow.asked["code_challenge"]}, GRANT),
        ({"code_verifier": flow.verifier + "="}, GRANT),
        ({"code_verifier": base64url(os.urandom(32))}, GRANT),
        ({"resource": target.wire.url}, (400, "invalid_target")),
        ({"resource": "https://other.example"}, (400, "invalid_target")),
        ({"code": None}, (400, "invalid_request")),
        ({"code": "x"}, GRANT),
        ({"code": code[:-2]}, GRANT),
        ({"code": code + "A" * 9_000}, GRANT),
        ({"code": code.swapcase()}, GRANT),
    ]
    for change, expected in wrong:
        how = {"code": code} | change
        assert refusal(flow.redeemed(how.pop("code"), **how)) == expected, change
    # The code is unused.
    assert flow.redeemed(code).status == 200


def test_repeated_code_revokes_its_token(hana: Holder, shop: Holder, thief: Holder) -> None:
    flow, other = Flow(shop), Flow(shop)
    code = flow.code(hana)
    token, kept = flow.redeemed(code).json["access_token"], other.redeemed(other.code(hana)).json["access_token"]
    # One who could not have redeemed it withdraws nothing.
    assert refusal(flow.redeemed(code, thief)) == GRANT
    assert refusal(flow.redeemed(code, code_verifier="x" * 43)) == GRANT
    assert statuses(hana, token) == [200, 200, 403]
    assert refusal(flow.redeemed(code)) == GRANT
    assert statuses(hana, token) == [401, 401, 401]
    assert statuses(hana, kept) == [200, 200, 403]


def test_concurrent_code_use_gives_no_valid_token(targets: Callable[[int], Target]) -> None:
    target = targets(2)
    holder, client = target.stranger.holder(), target.stranger.holder()
    flow = Flow(registers(client, "OAuthRedirect", CALLBACK))
    code = flow.code(holder)
    answers = at_once(target.wire, [lambda: flow.redeemed(code)] * 6)
    given = [answer.json["access_token"] for answer in answers if answer.status == 200]
    assert len(given) == 1
    assert [refusal(answer) for answer in answers if answer.status != 200] == [GRANT] * 5
    assert statuses(holder, given[0]) == [401, 401, 401]


def test_token_ends_with_key_that_signed_and_with_client(target: Target) -> None:
    holder, client = target.stranger.holder(), target.stranger.holder()
    registers(client, "OAuthRedirect", CALLBACK)
    flows = [Flow(client), Flow(client)]
    tokens = [flow.redeemed(flow.code(holder)).json["access_token"] for flow in flows]
    new = SigningKey.generate()
    assert holder.act("rotate", rotation(holder.key_id, multikey(bytes(new.verify_key)))).status == 200
    assert statuses(holder, tokens[0]) == [401, 401, 401]
    holder.key = new
    later = Flow(client)
    token = later.redeemed(later.code(holder)).json["access_token"]
    assert statuses(holder, token) == [200, 200, 403]
    assert client.act("deactivate", {"confirm": True, "reason": "over"}).status == 200
    assert statuses(holder, token) == [401, 401, 401]


def test_application_without_key_gets_its_code_on_own_machine(
    target: Target, hana: Holder, app: Holder, shop: Holder
) -> None:
    flow = Flow(app, "http://[::1]:51004/callback")
    code = flow.code(hana)
    unsigned: dict[str, Any] = {"client_assertion": None, "client_assertion_type": None}
    assert refusal(flow.redeemed(code, **unsigned, client_id=None)) == GRANT
    assert refusal(flow.redeemed(code, **unsigned, client_id=shop.did)) == GRANT
    assert refusal(flow.redeemed(code, **unsigned, redirect_uri="http://[::1]:51005/callback")) == GRANT
    assert refusal(flow.redeemed(code, **unsigned, code_verifier="x" * 43)) == GRANT
    # Who has shown nothing fills no audit log.
    assert [line for line in audited(target) if line["caller"] == "native client"] == []
    answer = flow.redeemed(code, **unsigned)
    assert answer.status == 200, answer.body
    assert statuses(hana, answer.json["access_token"]) == [200, 200, 403]
    (line,) = [line for line in audited(target) if line["caller"] == "native client"]
    assert (line["operation"], line["target"], line["outcome"]) == ("issueToken", hana.did, "done")
    # What the shop was given for its own machine takes its key.
    own = Flow(shop, "http://127.0.0.1:4999/callback")
    assert refusal(own.redeemed(own.code(hana), **unsigned)) == (400, "invalid_client")


def test_codes_and_tokens_are_none_of_each_other(hana: Holder, shop: Holder) -> None:
    flow = Flow(shop)
    code = flow.code(hana)
    bearer = {"Authorization": f"Bearer {code}"}
    assert shop.wire.call("GET", f"{PREFIX}/delegations", None, bearer).outcome == (401, "AUTH_FAILED")
    token = flow.redeemed(code).json["access_token"]
    assert refusal(flow.redeemed(token)) == GRANT
    # A token of a client gets no other.
    body = json.dumps({}).encode()
    signed = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    assert shop.wire.call("POST", f"{PREFIX}/auth/token", body, signed).status == 401
