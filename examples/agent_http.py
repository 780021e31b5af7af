"""An agent by plain HTTP: gets a proof for a shop and hands it over, and never sees the age.

    python examples/run.py agent_http

``prepare`` makes what exists before the agent works: a credential of the holder and a delegation to the agent.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from plain_http import Json, Party, Service

ACTION = "zkp.prove.age.gte"


@dataclass(frozen=True)
class Prepared:
    """The parties, and the ids of the credential and the delegation."""

    issuer_did: str
    holder: Party
    agent: Party
    credential_id: str
    delegation_id: str


def prepare(service: Service, age: int = 24) -> Prepared:
    """Create three DIDs, issue a credential to the holder, and delegate to the agent."""
    issuer_did, holder, agent = service.create_issuer(), service.create_did(), service.create_did()
    attribute = {"name": "age", "type": "integer", "minimum": 0, "maximum": 150}
    schema = service.call("POST", "/credential-schemas", {"attributes": [attribute]})
    issued = {"issuerDid": issuer_did, "holderDid": holder.did, "schemaId": schema["id"], "attributes": {"age": age}}
    credential = service.call("POST", "/credentials", issued)
    terms = {
        "holderDid": holder.did,
        "agentDid": agent.did,
        "actions": [ACTION],
        "autonomyLevel": 3,
        "expiresAt": (datetime.now(UTC) + timedelta(days=1)).isoformat(),
    }
    delegation = service.call("POST", "/delegations", terms)
    return Prepared(issuer_did, holder, agent, credential["id"], delegation["id"])


def request_proof(service: Service, made: Prepared, asked: Json) -> Json:
    """Return the proof of what ``asked`` names: challenge, domain and predicate of a verifier."""
    # The holder signs one token for this request, on a device of its own.
    token = made.holder.sign_token(made.agent.did, ACTION, made.delegation_id)
    parties = {"holderDid": made.holder.did, "agentDid": made.agent.did, "credentialId": made.credential_id}
    proof: Json = service.call("POST", "/zkp/delegated-proofs", parties | {"ibct": token} | asked)["proof"]["proof"]
    return proof


def visit(shop: str, proof_of: Json, made: Prepared, challenge: str) -> tuple[int, Json]:
    """Hand the proof to the shop and return its answer."""
    body = json.dumps({"challenge": challenge, "issuerDid": made.issuer_did, "proof": proof_of}).encode()
    request = urllib.request.Request(f"{shop}/enter", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def main() -> None:
    """Prove it to the service itself, as a verifier would."""
    service = Service(os.environ["IDENTITY_URL"], os.environ["IDENTITY_API_KEY"])
    made = prepare(service)
    predicate = {"attributeName": "age", "type": "gte", "value": 18}
    asked = {"challenge": "order 4711 of today", "domain": "https://shop.example", "predicate": predicate}
    proof = request_proof(service, made, asked)
    verified = Service(service.url, "").call(
        "POST", "/zkp/proofs/verify", asked | {"issuerDid": made.issuer_did, "proof": proof}
    )
    print(verified["verdict"])


if __name__ == "__main__":
    main()
