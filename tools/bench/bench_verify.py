"""Verifications a second over HTTP: of a stored proof as things are now, and of one that is sent along.

    python -m tools.bench.bench_verify [--seconds 5] [--rounds 3] [--connections 16] [--prover-workers 2]

One proof of a date bound, with the installed prover, verified again and again; nothing is cached, so each answer is a whole check. The
server is not pinned: its prover runs in processes beside it, and CPU is that of them all. A known caller also leaves a row of
history, one of the timeline and a line of the audit log. On SQLite.
"""

from __future__ import annotations

import json
import secrets
import sys
import tempfile
from typing import Any

from tools.bench.parties import PATH, Parties, gather
from tools.bench.rounds import Target, drive, middle, need_wrk, parser
from tools.bench.servers import UNLIMITED, running
from tools.bench.wire import PREFIX


def proven(parties: Parties, key: str) -> Any:
    """A ``ZKProof`` of a credential that the service issued."""
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    made = parties.server.ask(PATH, headers, "POST", parties.body())
    if made.status != 201:
        raise SystemExit(f"there is no proof: {made.body!r}")
    return json.loads(made.body)["proof"]


def main() -> None:
    """Prints one line for each kind of verification."""
    options_of = parser(__doc__, rounds=3, seconds=5)
    options_of.set_defaults(connections=16)
    options_of.add_argument("--prover-workers", type=int, default=2, help="prover processes [2]")
    options = options_of.parse_args()
    need_wrk()
    key = secrets.token_urlsafe(32)
    environment = {"API_KEY": key, "IDENTITY_PROVER_WORKERS": str(options.prover_workers), **UNLIMITED}
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        command = [sys.executable, "-m", "identity_core", "serve", "--port", "{port}", "--data-dir", place]
        with running(command, environment, "/ready", status=200, pin=False) as server:
            proof = proven(gather(server, key), key)
            keyed = {"X-API-Key": key, "Content-Type": "application/json"}
            stored, sent = f"{PREFIX}/zkp/proofs/{proof['proofId']}/verify", f"{PREFIX}/zkp/proofs/verify"
            body = json.dumps(proof)
            targets = (
                Target("stored", "POST", stored, 200, headers=keyed, body="{}"),
                Target("sent, known", "POST", sent, 200, headers=keyed, body=body),
                Target("sent, stranger", "POST", sent, 200, headers={"Content-Type": "application/json"}, body=body),
            )
            print(f"{'verification':16} {'rate':>9} {'CPU':>11} {'p50':>7} {'p99':>10}")
            for target in targets:
                answer = server.ask(target.path, target.headers, target.method, target.body)
                if answer.status != 200 or not json.loads(answer.body)["verified"]:
                    raise SystemExit(f"{target.name} is not verified: {answer.body!r}")
                drive(server, target, 1, options.connections, pin=False)
                rounds = [
                    drive(server, target, options.seconds, options.connections, pin=False)
                    for _ in range(options.rounds)
                ]
                each = middle(rounds)
                each.keep(target.name)
                strange = f"  {each.strange} strange answers" if each.strange else ""
                print(
                    f"{target.name:16} {each.per_second:7.0f}/s {each.cpu_us:8.0f} us {each.p50_ms:7.2f} {each.p99_ms:7.2f} ms{strange}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
