"""Verifying credentials of bbs-2023: the W3C vectors in this process, and one that a service is asked about by VCALM. CPU time: a busy
machine tells the same.

`python -m tests.bench.bench_securing`; upper limit 15 ms each.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from identity_securing_bbs2023 import Bbs2023, suite
from identity_securing_bbs2023.proof_values import decode_derived
from identity_securing_bbs2023.statements import Statements

from identity_core.codec import multikey
from identity_core.conformance.loops import run
from identity_core.conformance.securing_keys import KitIssuer
from identity_core.crypto.bbs.suite import ciphersuite
from identity_core.crypto.bls12381 import select
from identity_core.ports.securing import UnsecuredCredential
from tests.servers import local_server
from tests.vectors.files import vector_json

ROUNDS = 50
ASKED = 300
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
    return bbs.derive(bbs.secure(draft, run(key.sign(draft))), key.public_key, pointers=["/credentialSubject/boats"])


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


if __name__ == "__main__":
    vectors()
    served()
