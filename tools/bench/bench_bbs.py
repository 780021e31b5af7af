"""Median times of the BBS operations: 6 messages, all undisclosed, one core. Run: ``python tools/bench/bench_bbs.py``.

Targets on pyblst: key generation 0.25 ms, sign 0.5, prove 1.5, verify a signature or a proof 2. The first line of each
backend is what its first use costs: import and self-test, then generators and tables.
"""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import Callable
from functools import partial

from identity_bbs import disclosure, interface
from identity_bbs.bls12381 import BackendUnavailable, Curve, keys, select
from identity_bbs.disclosure import calculate_random_scalars
from identity_bbs.suite import ciphersuite

HEADER = b"header"
PRESENTATION_HEADER = b"presentation header"
MESSAGES = [f"message {number}".encode() for number in range(6)]


def milliseconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begun)


def bench(curve: Curve, runs: int) -> dict[str, float]:
    """The median of each operation in milliseconds."""
    suite = ciphersuite(curve)

    def generate() -> tuple[bytes, bytes]:
        secret = keys.generate_secret(secrets.token_bytes(32))
        return secret, curve.g2_to_octets(curve.g2_mul(curve.g2_generator(), keys.secret_scalar(secret)))

    secret, public = generate()
    signature = interface.sign(suite, secret, public, HEADER, MESSAGES)

    def prove() -> bytes:
        return disclosure.proof_gen(
            suite, public, signature, HEADER, PRESENTATION_HEADER, MESSAGES, [], calculate_random_scalars
        )

    proof = prove()
    operations: dict[str, Callable[[], object]] = {
        "keygen": generate,
        "sign": lambda: interface.sign(suite, secret, public, HEADER, MESSAGES),
        "verify": lambda: interface.verify(suite, public, signature, HEADER, MESSAGES),
        "prove": prove,
        "verify proof": lambda: disclosure.proof_verify(suite, public, proof, HEADER, PRESENTATION_HEADER, [], []),
    }
    return {
        name: statistics.median(milliseconds(operation) for _ in range(runs)) for name, operation in operations.items()
    }


def fill_tables(curve: Curve) -> None:
    ciphersuite(curve).combine(1, 1, range(len(MESSAGES)), range(len(MESSAGES)))


def main() -> None:
    for name, runs in (("blst", 300), ("pyblst", 300), ("py_ecc", 20)):
        try:
            first = milliseconds(partial(select, name))
        except BackendUnavailable as fault:
            print(f"{name:9} {fault}")
            continue
        curve = select(name)
        tables = milliseconds(partial(fill_tables, curve))
        medians = "  ".join(f"{operation} {median:.3f}" for operation, median in bench(curve, runs).items())
        print(f"{name:9} import and self-test {first:.0f} ms, generators and tables {tables:.0f} ms")
        print(f"{name:9} {medians}  ms, median of {runs}")


if __name__ == "__main__":
    main()
