"""An age-gated shop in Flask: admits a visitor whose proof says that a person is at least 18, and learns nothing else.

    pip install flask
    python examples/run.py shop_flask

``SHOP_ISSUERS`` lists the DIDs of the issuers that the shop trusts, with commas. ``IDENTITY_URL`` is the service that verifies.
"""

from __future__ import annotations

import os
import secrets
import time

from flask import Flask, Response, jsonify, request
from plain_http import Refused, Service

AUDIENCE = os.environ.get("SHOP_ORIGIN", "https://shop.example")
ISSUERS = frozenset(os.environ["SHOP_ISSUERS"].split(","))
PREDICATE = {"attributeName": "age", "type": "gte", "value": 18}
# The holder agreed, and the credential was valid and not revoked on the day of the proof.
REQUIRES = ["holder", "credentialValidity", "credentialStatus"]
CHALLENGE_SECONDS, MAX_CHALLENGES = 300, 10_000

app = Flask(__name__)
# Verification needs no API key.
service = Service(os.environ["IDENTITY_URL"], "")
# The challenges that were not used yet, with the time at which they expire.
challenges: dict[str, float] = {}


@app.get("/challenge")
def challenge() -> Response:
    """Return what a proof must be made for: one use, this shop, one question."""
    now = time.monotonic()
    for expired in [one for one, end in challenges.items() if end < now or len(challenges) >= MAX_CHALLENGES]:
        del challenges[expired]
    fresh = secrets.token_urlsafe(24)
    challenges[fresh] = now + CHALLENGE_SECONDS
    return jsonify(challenge=fresh, domain=AUDIENCE, predicate=PREDICATE)


@app.post("/enter")
def enter() -> tuple[Response, int]:
    """Admit the visitor if the verdict is ``valid``: ``unbound`` could be a replay."""
    offered = request.get_json()
    if challenges.pop(str(offered.get("challenge")), 0) < time.monotonic():
        return jsonify(admitted=False, reason="the challenge is unknown, used or expired"), 403
    if offered.get("issuerDid") not in ISSUERS:
        return jsonify(admitted=False, reason="the issuer is not trusted here"), 403
    expected = {"challenge": offered["challenge"], "domain": AUDIENCE, "predicate": PREDICATE, "requires": REQUIRES}
    asked = expected | {"issuerDid": offered["issuerDid"], "proof": offered.get("proof")}
    try:
        verdict = service.call("POST", "/zkp/proofs/verify", asked)["verdict"]
    except Refused as refused:
        return jsonify(admitted=False, reason=str(refused)), 403
    return jsonify(admitted=verdict == "valid", reason=verdict), 200 if verdict == "valid" else 403


if __name__ == "__main__":
    app.run("127.0.0.1", int(os.environ.get("PORT", "8000")))
