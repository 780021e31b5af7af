"""Five calls with the client that openapi-generator makes for Python, as it is: ``python five_calls.py URL API_KEY``.

It prints one line for each call. The generated package ``openapi_client`` and the repository are on ``PYTHONPATH``.
"""

from __future__ import annotations

import sys
from typing import Any

from identity_kit.tests.specification.plain_client import read_signing_key, sign_challenge


def make_calls(url: str, api_key: str) -> None:
    """Create a DID, resolve it, update it with DID Auth, list its history, and read the health."""
    import openapi_client as client

    def connect(scheme: str, text: str) -> Any:
        return client.ApiClient(client.Configuration(host=f"{url}/api/v1", api_key={scheme: text}))

    operator = connect("ApiKeyHeader", api_key)
    dids = client.DidsApi(operator)
    created = dids.create_did(client.CreateDidRequest(method="ids", keyType="Ed25519"))
    print("created", created.did)
    print("resolved", dids.resolve_did(created.did).did_document.id == created.did)
    challenge = client.AuthApi(operator).get_did_auth_challenge(created.did).challenge
    signed = sign_challenge(created.did, read_signing_key(created.keys.authentication.private_key), challenge)
    holder = client.DidsApi(connect("DidAuth", f"DIDAuth {signed}"))
    service = client.ServiceInput(id="agent", type="AgentService", serviceEndpoint="https://agent.example/")
    updated = holder.update_did(created.did, client.UpdateDidRequest(operation="addService", service=service))
    print("updated", updated.version_id)
    print("history", len(dids.list_did_history(created.did).items))
    print("health", client.ServiceApi(operator).get_health().status)


if __name__ == "__main__":
    make_calls(*sys.argv[1:])
