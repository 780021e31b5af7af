"""Revocation (RFC 7009) and introspection (RFC 7662) of tokens by raw requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from plugins.oauth.tests.code_flow import CALLBACK, Flow, registers
from plugins.oauth.tests.test_http_code_flow import statuses
from plugins.oauth.tests.test_http_oauth import FORM, TYPE, assertion, form, post, refusal
from tests.attack.conftest import Target
from tests.attack.stranger import LEAVE, Answer, Holder

TARGETS = Callable[[int], Target]


@pytest.fixture(scope="module")
def hana(targets: TARGETS) -> Holder:
    return targets(1).stranger.holder()


@pytest.fixture(scope="module")
def shop(targets: TARGETS) -> Holder:
    return registers(targets(1).stranger.holder(), "OAuthRedirect", CALLBACK)


@pytest.fixture(scope="module")
def app(targets: TARGETS) -> Holder:
    """A client without a key."""
    return registers(targets(1).stranger.holder(), "OAuthNativeRedirect", "http://[::1]/callback")


def obtain(client: Holder, holder: Holder, redirect: str = CALLBACK, **change: str | None) -> str:
    """Return a token that the holder gave the client."""
    flow = Flow(client, redirect)
    return str(flow.redeemed(flow.code(holder), **change).json["access_token"])


def own_token(target: Target, client: Holder) -> str:
    return str(post(target, form(assertion(client))).json["access_token"])


def send(client: Holder, path: str, token: str | None, headers: dict[str, str] | None = None, **change: Any) -> Answer:
    """Send a token to the endpoint as this client."""
    signed = {"client_assertion_type": TYPE, "client_assertion": assertion(client)}
    fields = {"token": token, "token_type_hint": "access_token", **signed, **change}
    body = urlencode({name: value for name, value in fields.items() if value is not None}).encode()
    return client.wire.call("POST", f"/oauth/{path}", body, {"Content-Type": FORM, **(headers or {})})


UNSIGNED: dict[str, Any] = {"client_assertion": None, "client_assertion_type": None}


def test_client_revokes_its_token(hana: Holder, shop: Holder) -> None:
    token, other = obtain(shop, hana), obtain(shop, hana)
    assert statuses(hana, token) == [200, 200, 403]
    for _ in range(2):
        revoked = send(shop, "revoke", token)
        assert (revoked.status, revoked.headers["cache-control"]) == (200, "no-store")
        assert statuses(hana, token) == [401, 401, 401]
        assert send(shop, "introspect", token).json == {"active": False}
    assert statuses(hana, other) == [200, 200, 403]


def test_application_without_a_key_revokes_by_its_name(hana: Holder, app: Holder) -> None:
    token = obtain(app, hana, "http://[::1]/callback", **UNSIGNED)
    assert send(app, "revoke", token, client_id=app.did, **UNSIGNED).status == 200
    assert statuses(hana, token) == [401, 401, 401]


def test_token_of_another_client_stays_valid(target: Target, hana: Holder, shop: Holder) -> None:
    token, thief = obtain(shop, hana), target.stranger.holder()
    assert refusal(send(thief, "revoke", token)) == (400, "invalid_grant")
    assert refusal(send(thief, "revoke", token, client_id=thief.did, **UNSIGNED)) == (400, "invalid_grant")
    assert refusal(send(thief, "revoke", token, client_id=shop.did)) == (400, "invalid_client")
    assert refusal(send(thief, "revoke", token, **UNSIGNED)) == (400, "invalid_client")
    # Its own name is not sufficient for a client that has a key.
    assert refusal(send(thief, "revoke", token, client_id=shop.did, **UNSIGNED)) == (400, "invalid_client")
    assert statuses(hana, token) == [200, 200, 403]


def test_token_of_a_key_is_not_revocable(target: Target, shop: Holder) -> None:
    token = own_token(target, shop)
    assert refusal(send(shop, "revoke", token)) == (400, "unsupported_token_type")
    assert send(shop, "introspect", token).json["active"] is True


@pytest.mark.parametrize("text", ["x", "a.b.c", "\ud7ff", "e30.e30." + "A" * 86])
def test_unknown_token_is_no_error(shop: Holder, text: str) -> None:
    assert send(shop, "revoke", text).status == 200
    assert send(shop, "introspect", text).json == {"active": False}


def test_token_with_a_changed_signature_is_inactive(hana: Holder, shop: Holder) -> None:
    token = obtain(shop, hana)
    head, _, signature = token.rpartition(".")
    forged = f"{head}.{'A' * len(signature)}"
    assert send(shop, "revoke", forged).status == 200
    assert send(shop, "introspect", forged).json == {"active": False}
    assert statuses(hana, token) == [200, 200, 403]


def test_introspection_returns_the_claims(target: Target, hana: Holder, shop: Holder) -> None:
    token = obtain(shop, hana)
    found = send(target.stranger.holder(), "introspect", token).json
    assert found.keys() == {
        *("active", "token_type", "iss", "aud", "sub", "client_id", "jti", "iat", "exp", "scope", "act")
    }
    assert (found["active"], found["token_type"]) == (True, "Bearer")
    assert (found["iss"], found["sub"], found["client_id"]) == (target.wire.url, hana.did, shop.did)


def test_token_ends_with_its_holder(target: Target, shop: Holder) -> None:
    holder = target.stranger.holder()
    token = obtain(shop, holder)
    assert holder.act("deactivate", LEAVE).status == 200
    assert send(shop, "introspect", token).json == {"active": False}


@pytest.mark.parametrize("path", ["revoke", "introspect"])
def test_request_is_refused_when_malformed(target: Target, shop: Holder, path: str) -> None:
    assert refusal(send(shop, path, None)) == (400, "invalid_request")
    assert refusal(send(shop, path, "x", {"Authorization": "Basic eDp5"}))[0] == 401
    assert refusal(send(shop, path, "x", {"X-API-Key": target.stranger.api_key}))[0] == 401
    assert refusal(send(shop, path, "x" * 40_000))[0] == 413


def test_introspection_needs_a_client(shop: Holder) -> None:
    assert refusal(send(shop, "introspect", "x", **UNSIGNED)) == (400, "invalid_client")
    assert refusal(send(shop, "introspect", "x", client_id=shop.did, **UNSIGNED)) == (400, "invalid_client")
