"""Verifying credentials of bbs-2023: the W3C vectors in this process, and one that a service is asked about by VCALM. CPU time: a busy
machine tells the same.

`python -m tools.bench.bench_securing`; upper limit 15 ms each.

`python -m tools.bench.bench_securing flood` measures a service with the limits of an installation under two floods of unauthenticated
clients: `GET /health` while 1 and 3 addresses send presentations of 16 SD-JWTs (228 kB), and the verifications of a caller with an API
key while 100 connections send presentations of 16 costly bbs-2023 credentials (87 kB).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from identity_kit.conformance.securing_keys import KitIssuer
from identity_securing_bbs2023 import Bbs2023, suite
from identity_securing_bbs2023.proof_values import decode_derived
from identity_securing_bbs2023.statements import Statements
from nacl.signing import SigningKey

from identity_bbs.bls12381 import select
from identity_bbs.suite import ciphersuite
from identity_client.data_integrity import proof_input
from identity_codec import multibase, multikey, times
from identity_codec.multibase import base64url_encode
from identity_core.ports.securing import UnsecuredCredential
from tests.attack.flood import Flood
from tests.servers import local_server
from tests.vectors.files import vector_json

ROUNDS = 50
ASKED = 300
SECONDS = 10
CONTEXTS = ["https://www.w3.org/ns/credentials/v2", "https://www.w3.org/ns/credentials/undefined-terms/v2"]
UNTHROTTLED = {"IDENTITY_THROTTLE_ADDRESS_PER_SECOND": "100000", "IDENTITY_THROTTLE_ADDRESS_BURST": "100000"}


def milliseconds(call: Callable[[], object]) -> tuple[float, float]:
    """Median and largest CPU time of a call, after one that fills the caches."""
    call()
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        call()
        taken.append(1_000 * (time.process_time() - start))
    return statistics.median(taken), max(taken)


def vectors() -> None:
    """Each W3C vector, without the service."""
    statements, bbs = Statements(), ciphersuite(select())
    public_key = bytes.fromhex(vector_json("bbs-2023/BBSKeyMaterial.json")["publicKeyHex"])
    for folder in ("", "prc/"):
        secured = vector_json(f"bbs-2023/{folder}derivedRevealDocument.json")
        proof = secured.pop("proof")
        value = decode_derived(proof.pop("proofValue"))
        median, most = milliseconds(lambda: suite.verify(statements, bbs, secured, proof, value, public_key))  # noqa: B023
        print(f"verify {folder or 'windDoc'}: median {median:.2f} ms, at most {most:.2f} ms (limit 15)")


def credential() -> Any:
    """One of a did:key issuer, of which a part is disclosed."""
    key, bbs = KitIssuer(multikey.BLS12381G2, bytes(range(32))), Bbs2023()
    did = f"did:key:{key.public_key}"
    claims = {
        "@context": CONTEXTS,
        "type": ["VerifiableCredential"],
        "issuer": did,
        "credentialSubject": {"name": "Hana", "age": 41, "boats": [{"label": "Vltava"}, {"label": "Labe"}]},
    }
    method = f"{did}#{key.public_key}"
    draft = bbs.draft(UnsecuredCredential(claims, method, key.public_key, datetime.now(UTC), ("/issuer",)))
    return bbs.derive(
        bbs.secure(draft, asyncio.run(key.sign(draft))), key.public_key, pointers=["/credentialSubject/boats"]
    )


def served() -> None:
    """The CPU time of a server process for each ``verifyVcalmCredential``, HTTP and all."""
    body = {"verifiableCredential": credential()}
    with (
        local_server(environment=UNTHROTTLED) as server,
        httpx.Client(base_url=server.url, trust_env=False, timeout=60) as asks,
    ):
        assert asks.post("/vcalm/credentials/verify", json=body).json()["verified"] is True
        before = _cpu_seconds(server.process)
        for _ in range(ASKED):
            asks.post("/vcalm/credentials/verify", json=body)
        taken = 1_000 * (_cpu_seconds(server.process) - before) / ASKED
    print(f"verifyVcalmCredential: mean {taken:.2f} ms of the server's CPU (limit 15)")


def _cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sd_jwts() -> dict[str, Any]:
    """A body with 16 SD-JWTs of 14 kB, each with 100 disclosures, of an issuer whose key is unknown: reading them is what costs."""
    texts = [base64url_encode(json.dumps([f"salt{n:012}", f"claim{n}", "x" * 16]).encode()) for n in range(100)]
    digests = [base64url_encode(hashlib.sha256(text.encode()).digest()) for text in texts]
    issuer = "did:key:z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH"
    header = {"alg": "ES256", "typ": "dc+sd-jwt", "kid": f"{issuer}#z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH"}
    claims = {"iss": issuer, "vct": "https://issuer.example/1", "_sd": digests, "_sd_alg": "sha-256"}
    parts = [base64url_encode(json.dumps(part).encode()) for part in (header, claims)]
    text = "~".join((f"{parts[0]}.{parts[1]}.{base64url_encode(bytes(64))}", *texts, ""))
    one = {"type": "EnvelopedVerifiableCredential", "id": f"data:application/dc+sd-jwt,{text}"}
    return {"verifiablePresentation": presented([one] * 16)}


def costly_bbs() -> dict[str, Any]:
    """A body with 16 credentials of 560 strings each, the proofs of another credential."""
    shown = credential()
    one = shown | {"credentialSubject": {"of": [f"{n:04}" for n in range(560)]}}
    return {"verifiablePresentation": presented([one] * 16)}


def presented(credentials: list[Any]) -> dict[str, Any]:
    """A presentation of a did:key holder."""
    secret = SigningKey(bytes(range(32)))
    text = multikey.encode_public(multikey.ED25519, bytes(secret.verify_key))
    unsigned = {"@context": CONTEXTS[:1], "type": ["VerifiablePresentation"], "holder": f"did:key:{text}"}
    unsigned |= {"verifiableCredential": credentials}
    proof = {"type": "DataIntegrityProof", "cryptosuite": "eddsa-jcs-2022", "proofPurpose": "authentication"}
    proof |= {"verificationMethod": f"did:key:{text}#{text}", "created": times.printed(datetime.now(UTC))}
    signature = secret.sign(proof_input(proof, unsigned)).signature
    return unsigned | {"proof": proof | {"proofValue": multibase.base58btc_encode(signature)}}


def requests(body: dict[str, Any]) -> list[bytes]:
    data = json.dumps(body, separators=(",", ":")).encode()
    head = "POST /vcalm/presentations/verify HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(data)}\r\n\r\n"
    print(f"a presentation of {len(data):,} bytes")
    return [head.encode() + data]


async def measured(flood: Flood, ask: Callable[[], object]) -> list[float]:
    """Milliseconds of each call of ``ask`` in ``SECONDS`` of the flood."""

    def calls() -> list[float]:
        taken, end = [], time.monotonic() + SECONDS
        while time.monotonic() < end:
            began = time.perf_counter()
            ask()
            taken.append(1_000 * (time.perf_counter() - began))
        return taken

    done = asyncio.Event()
    flooding = asyncio.create_task(flood.run(done))
    await asyncio.sleep(3)
    try:
        return await asyncio.to_thread(calls)
    finally:
        done.set()
        await flooding


def print_calls(name: str, taken: list[float], flood: Flood, failed: int = 0) -> None:
    cut = sorted(taken)
    p99 = cut[int(0.99 * (len(cut) - 1))]
    print(
        f"{name}: {len(cut)} calls, p50 {statistics.median(cut):.1f} ms, p99 {p99:.1f} ms, {failed} failed; "
        f"flood answered {dict(flood.answers)}"
    )


def flooded() -> None:
    """Both floods, each with a server of its own."""
    jwts, bbs, known = requests(sd_jwts()), requests(costly_bbs()), {"verifiableCredential": credential()}
    for addresses in (0, 1, 3):
        with local_server() as server, httpx.Client(base_url=server.url, trust_env=False, timeout=60) as asks:
            target = (asks.base_url.host, asks.base_url.port or 80)
            flood = Flood(target, jwts, [f"127.0.0.{n + 2}" for n in range(addresses)], 16, pause=0.1)
            taken = asyncio.run(measured(flood, lambda: asks.get("/health")))
            print_calls(f"/health beside {addresses} addresses with SD-JWTs", taken, flood)
    for connections in (0, 100):
        with local_server(environment={"IDENTITY_PLUGINS_DEADLINE_SECONDS": "5"}) as server:
            keyed = {"X-API-Key": server.api_key}
            with httpx.Client(base_url=server.url, trust_env=False, timeout=60, headers=keyed) as asks:
                target, statuses = (asks.base_url.host, asks.base_url.port or 80), Counter[str]()

                def verify() -> None:
                    answer = asks.post("/vcalm/credentials/verify", json=known)
                    statuses[f"{answer.status_code} {answer.json().get('verified')}"] += 1  # noqa: B023

                verify()
                flood = Flood(target, bbs, ["127.0.0.2"] if connections else [], connections, pause=0.1)
                taken = asyncio.run(measured(flood, verify))
                good = statuses["200 True"]
                print_calls(f"a known caller beside {connections} connections", taken, flood, statuses.total() - good)


if __name__ == "__main__":
    if sys.argv[1:] == ["flood"]:
        flooded()
    else:
        vectors()
        served()
