"""Who takes part in a proof, on a running server: Ivo's credential for Hana, her delegation to Aki, and IBCTs for it.

The credential is that of ``bench_prover`` and the question its date bound, so that the prover's own time is known. No limit of the
delegation is ever reached: what is measured is the way of a proof that is made.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from identity_client import Session, Signer, ibct
from identity_codec.times import printed
from tools.bench.bench_prover import CASES, SCHEMA, VALUES
from tools.bench.servers import Server
from tools.bench.wire import PREFIX, encode_request

QUESTION = "date bound"
((ATTRIBUTE, TYPE, BOUND),) = CASES[QUESTION]
ACTION = ibct.action_text(ATTRIBUTE, TYPE)
PATH = f"{PREFIX}/zkp/delegated-proofs"
LIFETIME = timedelta(days=1)


@dataclass(frozen=True)
class Parties:
    """``hana`` signs tokens, ``aki`` uses them."""

    server: Server
    hana: Signer
    aki: Signer
    credential_id: str
    delegation_id: str
    status_path: str

    def body(self) -> str:
        """A request under a token of its own."""
        wish = ibct.IbctTemplate(self.aki.did, ACTION, self.delegation_id, LIFETIME)
        return json.dumps(ibct.proof_request(ibct.sign_token(self.hana, wish), self.credential_id, value=BOUND))

    def requests(self, count: int) -> Sequence[bytes]:
        """So many requests as they go over the wire, under a new access token of Aki's: it is good for ten minutes."""
        with Session(self.server.url) as session:
            header = {"Authorization": f"Bearer {session.token(self.aki)['access_token']}"}
        return [encode_request("POST", PATH, header, self.body()) for _ in range(count)]


def gather(server: Server, key: str, *more: str, suite: int = 1) -> Parties:
    """Makes the three of them and what they gave each other; ``more`` is one further question, an attribute and a type, ``suite`` that of
    the credential."""
    with Session(server.url, api_key=key) as session:
        bls = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
        ivo = session.create({"method": "ids", "options": {"storeSecrets": True, "additionalKeys": [bls]}})
        hana, aki = (session.create({"method": "ids"}) for _ in range(2))
        attributes = [{"name": one.name, "type": one.type.value} for one in SCHEMA.attributes]
        schema = session.call("POST", "/credential-schemas", body={"attributes": attributes})
        claims = {"issuerDid": ivo["did"], "holderDid": hana["did"], "schemaId": schema["id"], "attributes": VALUES}
        credential = session.call("POST", "/credentials", body=claims | {"suite": suite})
        status = credential["credential"]["credentialStatus"][0]["statusListCredential"]
        terms = {
            "holderDid": hana["did"],
            "agentDid": aki["did"],
            "actions": [ACTION, *([ibct.action_text(*more)] if more else [])],
            "autonomyLevel": 4,
            "maxRefusals": None,
            "maxThresholds": None,
            "expiresAt": printed(datetime.now(UTC) + LIFETIME),
        }
        delegation = session.call("POST", "/delegations", body=terms)
    return Parties(server, _signer(hana), _signer(aki), credential["id"], delegation["id"], urlsplit(status).path)


def _signer(person: dict[str, Any]) -> Signer:
    return Signer(person["did"], person["keys"]["authentication"]["privateKey"])
