"""How long an honest proof takes while strangers have the dearest proofs verified: idle, from one address, from six.

    python -m tools.bench.bench_strangers [--proofs 42] [--connections 60] [--unlimited]

One client asks for proofs of a date bound one after another; the strangers have variations of a proof about 4,096 numbers verified over
so many connections from each address, and come back two seconds after a refusal. With the limits of an installation, or with
``--unlimited`` none, so that only the capacity that is kept apart holds. One server process with one prover, not pinned, on SQLite.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from identity_client import Session, ibct
from tests.attack.flood import Flood, variations
from tools.bench.parties import PATH, Parties, gather
from tools.bench.servers import UNLIMITED, Server, running

BALANCES = list(range(-1000, 3096))
"""One of them is the balance of the credential."""


def dearest(parties: Parties, token: str) -> str:
    """The text of a proof about all of ``BALANCES``."""
    wish = ibct.IbctTemplate(
        parties.aki.did, ibct.action_text("balance", "set_member"), parties.delegation_id, timedelta(days=1)
    )
    body = ibct.proof_request(ibct.sign_token(parties.hana, wish), parties.credential_id, value=BALANCES)
    made = ask(parties.server, token, json.dumps(body))
    text: str = json.loads(made)["proof"]["proof"]
    return text


def ask(server: Server, token: str, body: str) -> Any:
    """The answer's body. Ends the benchmark when there is no proof."""
    answer = server.ask(PATH, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}, "POST", body)
    if answer.status != 201:
        raise SystemExit(f"there is no proof: {answer.status} {answer.body!r}")
    return answer.body


def timed(parties: Parties, token: str, bodies: Sequence[str]) -> tuple[list[float], int]:
    """Milliseconds of each proof that was made, and how many were not."""
    times, refused = [], 0
    header = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    for body in bodies:
        began = time.perf_counter()
        answer = parties.server.ask(PATH, header, "POST", body)
        if answer.status == 201:
            times.append(1000 * (time.perf_counter() - began))
        else:
            refused += 1
    return times, refused


async def timed_beside_flood(
    flood: Flood, parties: Parties, token: str, bodies: Sequence[str]
) -> tuple[list[float], int]:
    """``timed`` once the flood is up."""
    done = asyncio.Event()
    flooding = asyncio.create_task(flood.run(done))
    await asyncio.sleep(2)
    try:
        return await asyncio.to_thread(timed, parties, token, bodies)
    finally:
        done.set()
        await flooding


def show(name: str, times: list[float], refused: int, answers: Counter[int]) -> None:
    """One line."""
    middle = f"{statistics.median(times):8.1f} {max(times):8.1f}" if times else "       -        -"
    said = ", ".join(f"{count} x {status}" for status, count in sorted(answers.items()))
    print(f"{name:14} {len(times):4} made {refused:4} refused   p50, worst ms {middle}   strangers: {said}", flush=True)


def main() -> None:
    """Prints a line for each."""
    options_of = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options_of.add_argument("--proofs", type=int, default=42)
    options_of.add_argument("--connections", type=int, default=60, help="of each address [60]")
    options_of.add_argument("--unlimited", action="store_true")
    options = options_of.parse_args()
    key = secrets.token_urlsafe(32)
    environment = {"API_KEY": key, **(UNLIMITED if options.unlimited else {})}
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        command = [sys.executable, "-m", "identity_core", "serve", "--port", "{port}", "--data-dir", place]
        with running(command, environment, "/ready", status=200, pin=False) as server:
            parties = gather(server, key, "balance", "set_member")
            with Session(server.url) as session:
                token = str(session.token(parties.aki)["access_token"])
            requests = variations(dearest(parties, token), 24)
            target = ("127.0.0.1", int(server.url.rpartition(":")[2]))
            for count in (0, 1, 6):
                bodies = [parties.body() for _ in range(options.proofs)]
                addresses = [f"127.0.0.{number}" for number in range(2, 2 + count)]
                flood = Flood(target, requests, addresses, options.connections)
                times, refused = asyncio.run(timed_beside_flood(flood, parties, token, bodies))
                show("idle" if count == 0 else f"{count} address(es)", times, refused, flood.answers)
                # The bucket of the honest address fills again.
                time.sleep(2)


if __name__ == "__main__":
    main()
