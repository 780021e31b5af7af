"""Resolution of a stored DID beside ACA-Py (``acapy-agent`` of PyPI), in one run on the same machine.

    python -m tools.bench.bench_acapy --acapy DIR/bin/python [--seconds 3] [--rounds 5] [--connections 16]

``--acapy`` is the Python of a virtual environment that has ``acapy-agent``. The agent runs without a ledger on an Askar wallet in
SQLite, and is called at its administration interface (``/resolver/resolve/DID``), as a controller does. It resolves the short form
of a ``did:peer:4`` that it has stored, with the same keys and services as the document of ours. Both are one process on the same
core, driven in turn, and answer from their caches; ``resolve-version`` is ours without a cache. Asked for: 5 times the rate.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.bench import bench_http
from tools.bench.rounds import Round, Target, drive, middle, need_wrk, parser
from tools.bench.servers import UNLIMITED, Server, fresh_server, running

WANTED = 5.0
TARGETS = ("resolve", "resolve-version")
ENCODE = """
import json, sys, did_peer_4
long = did_peer_4.encode(json.load(sys.stdin))
print(json.dumps([long, did_peer_4.long_to_short(long)]))
"""


def relative(document: dict[str, object]) -> dict[str, object]:
    """Return a DID document without its DID, as ``did:peer:4`` encodes one."""
    did = str(document["id"])
    text = json.dumps(
        {name: value for name, value in document.items() if name not in ("id", "controller", "alsoKnownAs")}
    )
    made: dict[str, object] = json.loads(text.replace(f'"{did}#', '"#').replace(f', "controller": "{did}"', ""))
    return made


@contextlib.contextmanager
def agent(python: Path, document: dict[str, object]) -> Iterator[tuple[Server, Target]]:
    """Start ACA-Py, have it store a DID with this document, and return where that is resolved."""
    encoded = subprocess.run(
        [str(python), "-c", ENCODE], input=json.dumps(relative(document)), capture_output=True, text=True, check=True
    )
    long, short = json.loads(encoded.stdout)
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        command = [str(python), "-m", "acapy_agent", "start", "--no-ledger", "--auto-provision", "--log-level", "error"]
        command += ["--wallet-type", "askar", "--wallet-name", "bench", "--wallet-key", "bench"]
        command += ["--inbound-transport", "http", "127.0.0.1", "0", "--outbound-transport", "http"]
        command += ["--endpoint", "http://127.0.0.1:1", "--admin", "127.0.0.1", "{port}", "--admin-insecure-mode"]
        with running(command, {"HOME": home}, "/status/ready", status=200, pin=True) as server:
            stored = server.ask(f"/resolver/resolve/{long}")
            if stored.status != 200:
                raise SystemExit(f"ACA-Py answers {stored.status}: {stored.body[:300]!r}")
            yield server, Target("acapy", "GET", f"/resolver/resolve/{short}", 200)


def main() -> None:
    """Measure and print the table."""
    options_of = parser(__doc__, rounds=5, seconds=3)
    options_of.set_defaults(connections=16)
    options_of.add_argument("--acapy", type=Path, required=True, metavar="PYTHON", help="a Python that has acapy-agent")
    options = options_of.parse_args()
    need_wrk()
    with fresh_server(1, UNLIMITED) as (server, key):
        ours = {one.name: one for one in bench_http.targets(server, key, 0) if one.name in TARGETS}
        answer = server.ask(ours["resolve"].path)
        with agent(options.acapy, json.loads(answer.body)["didDocument"]) as (other, theirs):
            print(f"bytes of an answer: {len(answer.body)} here, {len(other.ask(theirs.path).body)} of ACA-Py")
            sides = [(server, ours[name]) for name in TARGETS] + [(other, theirs)]
            rounds: dict[str, list[Round]] = {target.name: [] for _, target in sides}
            for side, target in sides:
                drive(side, target, 1, options.connections, pin=True)
            for _ in range(options.rounds):
                for side, target in sides:
                    rounds[target.name].append(drive(side, target, options.seconds, options.connections, pin=True))
    for name, found in rounds.items():
        ratio = statistics.median(a.per_second / b.per_second for a, b in zip(found, rounds["acapy"], strict=True))
        one = middle(found)
        one.keep(f"{name}, beside ACA-Py", ratio=ratio)
        verdict = "" if name == "acapy" else f"{'ok    ' if ratio >= WANTED else 'MISSED'} >= {WANTED:.0f}x"
        print(
            f"{name:16} {one.per_second:8.0f}/s {one.cpu_us:8.1f} us {one.p99_ms:8.2f} ms {ratio:6.1f}x {verdict}"
            + (f"  {one.strange} strange answers" if one.strange else "")
        )


if __name__ == "__main__":
    main()
