"""How long credentials take: the curve alone, then issuing, reading and status lists over HTTP.

    python tools/bench/bench_credentials.py [--seconds 3]

One client, one process, embedded databases. Prints medians and 99th percentiles.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
from identity_commands.local_server import local_server

from identity_client import Session, Signer
from identity_client.status_list import ENTRIES
from identity_core.domain.credentials import credential_schema as schema_json
from identity_core.domain.credentials import status_list
from identity_core.domain.credentials.credential import canonical_values, check_signature
from tests.attack.stranger import GENEROUS
from tests.credentials import VALUES, a_key, a_schema, raw, sign

BLS = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}


def measure(name: str, seconds: float, call: Callable[[], Any]) -> None:
    """Calls for so long and prints what it took."""
    call()
    taken = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        call()
        taken.append((time.perf_counter() - began) * 1000)
    taken.sort()
    slowest = taken[int(len(taken) * 0.99)]
    print(f"{name:44} median {statistics.median(taken):8.2f} ms   p99 {slowest:8.2f} ms   n {len(taken)}")


def curve(seconds: float) -> None:
    """Signature and list, without a service."""
    schema = a_schema().schema
    wide = schema_json.read("urn:wide", [{"name": f"a{place}", "type": "integer"} for place in range(64)]).schema
    for label, one, values in (
        (f"check a signature, {schema.message_count} messages", schema, VALUES),
        (f"check a signature, {wide.message_count} messages", wide, {f"a{place}": place for place in range(64)}),
    ):
        signature, canonical = sign(one, values), canonical_values(one, values)
        measure(label, seconds, partial(check_signature, raw(a_key()), signature, one, canonical))
    places = sorted({int.from_bytes(os.urandom(4), "big") % ENTRIES for _ in range(5000)})
    measure("encode a list with 5,000 bits set", seconds, lambda: status_list.encoded(places))


def service(seconds: float) -> None:
    """Over HTTP."""
    with local_server(environment=GENEROUS) as server, Session(server.url, api_key=server.api_key) as session:
        ivo = session.create({"method": "ids", "options": {"additionalKeys": [BLS], "storeSecrets": True}})
        hana = session.create({"method": "ids"})
        attributes = schema_json.attributes_json(a_schema())
        schema_id = session.call("POST", "/credential-schemas", body={"attributes": attributes})["id"]
        claims = {"issuerDid": ivo["did"], "holderDid": hana["did"], "schemaId": schema_id, "attributes": VALUES}
        made = session.call("POST", "/credentials", body=claims)
        address = made["credential"]["credentialStatus"][0]["statusListCredential"]
        change = f"/credentials/{made['id']}/status"
        flip = iter(range(10**9))
        measure("issueCredential", seconds, lambda: session.call("POST", "/credentials", body=claims))
        measure("getCredential", seconds, lambda: session.call("GET", f"/credentials/{made['id']}"))
        signer = Signer(hana["did"], hana["keys"]["authentication"]["privateKey"])
        body = {"credential": session.signed("GET", f"/credentials/{made['id']}", None, signer, "read")["credential"]}
        measure("verifyCredential", seconds, lambda: session.call("POST", "/credentials/verify", body=body))
        with httpx.Client(trust_env=False) as http:
            measure("getStatusList, unchanged", seconds, lambda: http.get(address))

            def changed() -> None:
                session.call("POST", change, body={"purpose": "suspension", "value": next(flip) % 2 == 0})
                http.get(address)

            measure("setCredentialStatus, then getStatusList", seconds, changed)


def main() -> None:
    """Both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    seconds = parser.parse_args().seconds
    curve(seconds)
    service(seconds)


if __name__ == "__main__":
    main()
