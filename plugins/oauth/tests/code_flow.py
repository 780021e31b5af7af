"""A holder who decides about clients by raw requests, and the clients that ask her: the authorization code flow (RFC 6749 §4.1)."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from plugins.oauth.tests.test_http_oauth import FORM, TYPE, assertion
from tests.attack.stranger import Answer, Holder, base64url, body_hash, header

CALLBACK = "https://shop.example/callback"


def registers(holder: Holder, kind: str, *uris: str) -> Holder:
    """The holder as a client with these redirection URIs."""
    for number, uri in enumerate(uris):
        added = {"id": f"oauth-{kind.lower()}-{number}", "type": kind, "serviceEndpoint": uri}
        assert holder.act("update", {"operation": "addService", "service": added}).status == 200
    return holder


class Flow:
    """One pass of ``client``; ``change`` goes into the request, None leaves a parameter out."""

    def __init__(self, client: Holder, redirect: str = CALLBACK, **change: str | None) -> None:
        self.client, self.redirect, self.verifier = client, redirect, base64url(os.urandom(32))
        asked: dict[str, str | None] = {
            "response_type": "code",
            "client_id": client.did,
            "redirect_uri": redirect,
            "scope": "credentials:read delegations:read",
            "state": "s" + base64url(os.urandom(8)),
            "code_challenge": base64url(hashlib.sha256(self.verifier.encode()).digest()),
            "code_challenge_method": "S256",
        } | change
        self.asked = {name: value for name, value in asked.items() if value is not None}

    def page(self) -> Answer:
        return self.client.wire.call("GET", f"/oauth/authorize?{urlencode(self.asked)}")

    def decided(self, holder: Holder, sent: dict[str, str] | None = None, signed: Any = None, **how: Any) -> Answer:
        """Return the answer of the service to the holder's signature over ``signed``, sent with ``sent``."""
        authorization = decision(holder, signed or self.asked, **how)
        body, headers = urlencode(sent or self.asked).encode(), {"Content-Type": FORM, "Authorization": authorization}
        return self.client.wire.call("POST", "/oauth/authorize", body, headers)

    def code(self, holder: Holder) -> str:
        answer = self.decided(holder)
        assert answer.status == 200, answer.body
        return str(parse_qs(urlsplit(answer.json["redirect_to"]).query)["code"][0])

    def redeemed(self, code: str, client: Holder | None = None, **change: str | None) -> Answer:
        """Return the answer of the token endpoint to this client, which signs if it has a key."""
        client = client or self.client
        asked: dict[str, str | None] = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect,
            "code_verifier": self.verifier,
            "client_id": client.did,
            "client_assertion_type": TYPE,
            "client_assertion": assertion(client),
        } | change
        body = urlencode({name: value for name, value in asked.items() if value is not None}).encode()
        return client.wire.call("POST", "/oauth/token", body, {"Content-Type": FORM})


def decision(
    holder: Holder, signed: Any, *, purpose: str | None = "authorize", named: bool = True, bound: bool = True
) -> str:
    """The header of a signature over ``signed``: a challenge that is ``bound`` to it, and ``named``."""
    text = holder.challenge(purpose, body_hash(signed) if bound else None)
    return header(text if named else holder.did, holder.key.sign(text.encode()).signature)


def approved(hana: Holder, url: str) -> str:
    """Return the place to which her browser goes from ``url`` after she signed the page."""
    parts = urlsplit(url)
    shown = hana.wire.call("GET", f"{parts.path}?{parts.query}")
    assert shown.status == 200, shown.body
    (said,) = re.findall(r'data-request="([^"]*)"', shown.body.decode())
    # The attribute is escaped, and what it holds as well.
    asked = json.loads(html.unescape(said))
    headers = {"Content-Type": FORM, "Authorization": decision(hana, asked)}
    answer = hana.wire.call("POST", "/oauth/authorize", urlencode(asked).encode(), headers)
    assert answer.status == 200, answer.body
    return str(answer.json["redirect_to"])
