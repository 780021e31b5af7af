"""``Session.token``: a challenge for exactly this purpose and body is fetched, signed and sent."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import orjson

from identity_client import Session, Signer
from identity_client.challenge import build, hash_body, origin_field
from identity_core.domain.dids import challenge, keys

ORIGIN = "http://127.0.0.1:8080"
DID = "did:ids:QmPvhbZpVZBeJcTVUcMJgfSDgxs8ymKZJzSYhkXmiNUNhS"


def answered(body: Any) -> httpx.Response:
    """A response that is not read yet, as a transport gives it."""
    stream = httpx.ByteStream(orjson.dumps(body))
    return httpx.Response(200, headers={"Content-Type": "application/json"}, stream=stream)


def story(act: Any) -> tuple[Any, list[httpx.Request]]:
    """Return the result of ``act`` in a session with an accepting service, and the requests that it sent."""
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        if request.url.path.endswith("/challenge"):
            asked = request.url.params
            text = build(
                origin=origin_field(ORIGIN, asked.get("target")),
                did=asked["did"],
                purpose=asked["purpose"],
                body_hash=asked["bodyHash"],
                nonce=os.urandom(32),
                expires_at=datetime.now(UTC) + timedelta(minutes=5),
            )
            return answered({"challenge": text})
        return answered({"access_token": "a.b.c", "token_type": "Bearer", "expires_in": 600})

    with Session(ORIGIN, api_key="k" * 40) as session:
        session._http = httpx.Client(base_url=ORIGIN, transport=httpx.MockTransport(answer))
        return act(session), sent


def test_a_signer_gets_a_token() -> None:
    pair = keys.generate("Ed25519", os.urandom)
    got, (asked, sent) = story(lambda session: session.token(Signer(DID, pair.secret), scope="zkp:prove"))
    assert got["access_token"] == "a.b.c"
    body = orjson.loads(sent.content)
    assert body == {"scope": "zkp:prove"}
    assert asked.url.params["purpose"] == "token"
    assert asked.url.params["target"] == "/auth/token?"
    assert asked.url.params["bodyHash"] == hash_body(body)
    scheme, _, value = sent.headers["authorization"].partition(" ")
    assert scheme == "DIDAuth"
    assert str(challenge.parse_header(value).did) == DID


def test_a_key_gets_a_token_for_a_did() -> None:
    _, (sent,) = story(lambda session: session.call("POST", "/auth/token", body={"subject": DID}))
    assert orjson.loads(sent.content) == {"subject": DID}
    assert sent.headers["authorization"] == "ApiKey " + "k" * 40
