"""CPU a request of the tool ``verify_proof`` at /mcp beside verifyProof over HTTP, for the same proof. Limit: 2 ms more.

    python -m tools.bench.bench_mcp [--rounds 15] [--requests 40]

One server answers both in turn over a kept connection, so that a neighbour on the machine hits both; CPU is that of the server and its
provers by ``schedstat``, medians over the rounds. ``tools/list`` is what the protocol costs alone, ``legacy`` a revision before 2026-07-28.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
from pathlib import Path
from urllib.parse import urlsplit

from tests.attack.conftest import Target
from tests.attack.delegated.scene import People, Scene
from tests.attack.stranger import PREFIX, Stranger, Wire
from tests.mcp_client import REVISION, bearer, message, token_of
from tools.bench.bench_identifiers import cpu_seconds
from tools.bench.servers import UNLIMITED, Server, fresh_server

LIMIT_MS = 2.0
SENT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
LEGACY = "2025-11-25"


def milliseconds(server: Server, path: str, headers: dict[str, str], body: bytes, requests: int) -> float:
    """CPU a request."""
    parts = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
    before = cpu_seconds(server)
    for _ in range(requests):
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        if answer.status != 200 or b'"isError":true' in data:
            raise SystemExit(f"{path}: {answer.status} {data!r}")
    connection.close()
    return (cpu_seconds(server) - before) / requests * 1e3


def asked_of(scene: Scene) -> dict[str, tuple[str, dict[str, str], bytes]]:
    """Path, headers and body of each way to ask."""
    proof = scene.ask().json["proof"]
    operation = SENT | {"Authorization": f"Bearer {scene.people.bearer(scene.agent)}"}
    mcp = SENT | bearer(token_of(scene.agent))
    call = message("tools/call", name="verify_proof", arguments={"proof": proof})
    verify = {"MCP-Protocol-Version": REVISION, "Mcp-Method": "tools/call", "Mcp-Name": "verify_proof"}
    listed = {"MCP-Protocol-Version": REVISION, "Mcp-Method": "tools/list"}
    older = {**call, "params": {name: value for name, value in call["params"].items() if name != "_meta"}}
    return {
        "verifyProof": (f"{PREFIX}/zkp/proofs/verify", operation, json.dumps(proof).encode()),
        "verify_proof": ("/mcp", mcp | verify, json.dumps(call).encode()),
        "verify_proof, legacy": ("/mcp", mcp | {"MCP-Protocol-Version": LEGACY}, json.dumps(older).encode()),
        "tools/list": ("/mcp", mcp | listed, json.dumps(message()).encode()),
    }


def main() -> None:
    """Prints a line for each way to ask, and what the tool costs over the operation."""
    options_of = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options_of.add_argument("--rounds", type=int, default=15)
    options_of.add_argument("--requests", type=int, default=40)
    options = options_of.parse_args()
    with fresh_server(1, UNLIMITED | {"IDENTITY_MCP_ENABLED": "true"}) as (server, key):
        wire = Wire(server.url)
        asked = asked_of(Scene.create(People.create(Target(wire, Stranger(wire, key), Path(), 1))))
        found: dict[str, list[float]] = {name: [] for name in asked}
        for _ in range(options.rounds):
            for name, how in asked.items():
                found[name].append(milliseconds(server, *how, options.requests))
        wire.close()
    base = statistics.median(found["verifyProof"])
    for name, each in found.items():
        cost = statistics.median(each)
        over = "" if name in ("verifyProof", "tools/list") else f"  {cost - base:+.2f} ms over it (limit {LIMIT_MS})"
        print(f"{name:22} {cost:6.2f} ms of CPU{over}")


if __name__ == "__main__":
    main()
