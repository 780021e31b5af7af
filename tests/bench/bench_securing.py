"""Verifying credentials of bbs-2023: the W3C vectors. CPU time, so that a busy machine tells the same.

`python -m tests.bench.bench_securing`; upper limit 15 ms for the vectors.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from identity_securing_bbs2023 import suite
from identity_securing_bbs2023.proof_values import decode_derived
from identity_securing_bbs2023.statements import Statements

from identity_core.crypto.bbs.suite import ciphersuite
from identity_core.crypto.bls12381 import select
from tests.vectors.files import vector_json

ROUNDS = 50


def milliseconds(call: Callable[[], object]) -> tuple[float, float]:
    """Median and largest CPU time of a call, after one that fills the caches."""
    call()
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        call()
        taken.append(1_000 * (time.process_time() - start))
    return statistics.median(taken), max(taken)


def main() -> None:
    statements, bbs = Statements(), ciphersuite(select())
    public_key = bytes.fromhex(vector_json("bbs-2023/BBSKeyMaterial.json")["publicKeyHex"])
    for folder in ("", "prc/"):
        secured = vector_json(f"bbs-2023/{folder}derivedRevealDocument.json")
        proof = secured.pop("proof")
        value = decode_derived(proof.pop("proofValue"))
        median, most = milliseconds(lambda: suite.verify(statements, bbs, secured, proof, value, public_key))  # noqa: B023
        print(f"verify {folder or 'windDoc'}: {median:.2f} ms, at most {most:.2f} ms (limit 15)")


if __name__ == "__main__":
    main()
