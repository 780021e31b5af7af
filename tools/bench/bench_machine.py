"""How fast this machine is at work that no change of ours makes faster: an Ed25519 signature and its verification.

python -m tools.bench.bench_machine
"""

from __future__ import annotations

import argparse
import time

from nacl.bindings import crypto_sign, crypto_sign_keypair, crypto_sign_open

from tools.bench.figures import note

BATCHES, TURNS = 30, 200


def signatures_us(batches: int = BATCHES, turns: int = TURNS) -> list[float]:
    """CPU of one in microseconds, in each of some batches."""
    public, secret = crypto_sign_keypair()
    times = []
    for _ in range(batches):
        began = time.thread_time()
        for _ in range(turns):
            crypto_sign_open(crypto_sign(bytes(300), secret), public)
        times.append((time.thread_time() - began) / turns * 1e6)
    return times


def main() -> None:
    """Measures and prints."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    least = min(signatures_us())
    note("libsodium", cpu_us=least)
    print(f"an Ed25519 signature and its verification, libsodium: {least:.1f} µs of CPU")


if __name__ == "__main__":
    main()
