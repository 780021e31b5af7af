"""An agent that calls tools asks Hana by a link; she approves or declines on her page, and the agent continues by itself."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from playwright.sync_api import expect

from identity_client import Session
from identity_codec import multikey
from tests.attack.stranger import Wire
from tests.mcp_client import call_tool, signed_in
from tests.ui.visiting import Open, Site, examine, issue, press, sign_in, signer

PREDICATE = {"attributeName": "age", "type": "gte", "value": 18}


class Aki:
    """The agent, as a host calls it."""

    def __init__(self, site: Site) -> None:
        found = signer(site, "aki")
        filed = json.loads(site.keys("aki").read_text())["keys"]["authentication"]["privateKey"]
        key = Ed25519PrivateKey.from_private_bytes(multikey.decode_secret(filed)[1])
        claims = {"iss": found.did, "sub": found.did, "aud": site.url, "exp": int(time.time()) + 60}
        assertion = jwt.encode(claims | {"jti": str(uuid.uuid4())}, key, algorithm="EdDSA")
        self.wire = Wire(site.url)
        self.token = signed_in(self.wire, assertion)
        self.wish = {"holderDid": site.did("hana"), "predicate": PREDICATE, "purpose": "to buy a bottle of wine"}

    def asks(self, **more: str) -> Any:
        return call_tool(self.wire, self.token, "request_proof", self.wish | more)["structuredContent"]


@pytest.mark.parametrize("approves", [True, False])
def test_hana_answers_on_her_page(site: Site, open_window: Open, approves: bool) -> None:
    issue(Session(site.url, api_key=site.api_key), site.did("hana"), age=37, income=1, country="Wakanda")
    aki = Aki(site)
    asked = aki.asks()
    page, watched = open_window()
    sign_in(page, site, "hana", keep=True)
    page.goto(asked["consentUrl"])
    expect(page.locator("#open dl")).to_contain_text("to buy a bottle of wine")
    assert page.locator("[name=term]").count() == 0
    watched.look(page)
    examine(page)
    press(page, "#approve button[type=submit]" if approves else "#decline")
    expect(page.locator("#told" if approves else "#declined")).to_be_focused()
    examine(page)
    found = aki.asks(consentId=asked["consentId"])
    assert found["status"] == ("proved" if approves else "declined")
    aki.wire.close()
