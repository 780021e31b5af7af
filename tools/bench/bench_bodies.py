"""What the worst bodies cost the server, by operation and in all.

``python -m tools.bench.bench_bodies [--times 5] [--all] [operationId …]``: each body of ``tests/attack/worst_bodies.py`` over
HTTP, CPU of the server's own process as the kernel counts it, the median of so many requests. Printed are the dearest of each
operation that were refused (``--all``: or not).
"""

from __future__ import annotations

import argparse

from identity_commands.local_server import local_server

from tests.attack.cpu import cost
from tests.attack.raw_http import exchange
from tests.attack.stranger import GENEROUS, Stranger, Wire
from tests.attack.test_bodies import WITH_A_BODY, Target
from tests.attack.worst_bodies import Json, bodies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operations", nargs="*")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    with local_server(environment=GENEROUS) as server:
        wire = Wire(server.url)
        target = Target(wire.address, server.process, server.api_key, Stranger(wire, server.api_key).holder().did)
        wire.close()
        for method, path, operation in WITH_A_BODY:
            if not options.operations or operation["operationId"] in options.operations:
                measure(target, method, path, operation, options.times, refused_only=not options.all)


def measure(target: Target, method: str, path: str, operation: Json, times: int, *, refused_only: bool) -> None:
    """Prints the three dearest bodies of an operation."""
    rows = []
    for name, body in bodies(operation):
        data = target.request(method, path, operation, body)
        answer = exchange(target.address, data)
        if answer.status >= 400 or not refused_only:
            seconds = cost(target.pid, lambda data=data: exchange(target.address, data), times)  # type: ignore[misc]
            rows.append((seconds * 1000, name, answer.status, len(body)))
    rows.sort(reverse=True)
    print(f"{operation['operationId']}: {len(rows)} bodies, median {rows[len(rows) // 2][0]:.2f} ms", flush=True)
    for milliseconds, name, status, size in rows[:3]:
        print(f"  {milliseconds:6.2f} ms  {status}  {size:7} bytes  {name}", flush=True)


if __name__ == "__main__":
    main()
