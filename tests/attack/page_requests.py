"""Requests of browsers for pages, made without one: sessions of holders, and their cookies."""

from __future__ import annotations

import base64
from urllib.parse import urlencode

from tests.attack.conftest import Target
from tests.attack.stranger import PREFIX, Answer, Holder, base64url, body_hash

OWN = {"Sec-Fetch-Site": "same-origin"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"} | OWN
MARKUP = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'-alert(1)-'",
    "{{7*7}}{% raw %}",
    "javascript:alert(1)",
    "</textarea><svg/onload=alert(1)>",
    '<b hx-get="/x" hx-trigger="load">',
    "\u202ereversed",
]


def session_of(hana: Holder) -> dict[str, str]:
    return {"did": hana.did, "session": "dashboard"}


def signed(hana: Holder, *, purpose: str | None = "read", digest: str | None = None) -> str:
    """A header that names its challenge, as the page makes it."""
    query = {"did": hana.did, "named": "true"}
    query |= {} if purpose is None else {"purpose": purpose}
    query |= {} if digest is None else {"bodyHash": digest}
    text = hana.wire.call("GET", f"{PREFIX}/auth/challenge?{urlencode(query)}").json["challenge"]
    signature = base64url(hana.key.sign(text.encode()).signature)
    return "DIDAuth " + base64.b64encode(f"{text}.{signature}".encode()).decode()


def begin(hana: Holder, authorization: str | None = None, **headers: str) -> Answer:
    value = authorization or signed(hana, digest=body_hash(session_of(hana)))
    return hana.wire.call("POST", "/ui/session", b"", {"Authorization": value} | OWN | FORM | headers)


def cookie_of(answer: Answer) -> str:
    assert answer.status == 204, answer.body
    return answer.headers["set-cookie"].partition(";")[0]


def page(target: Target, path: str, cookie: str | None = None) -> Answer:
    return target.wire.call("GET", path, None, {} if cookie is None else {"Cookie": cookie})
