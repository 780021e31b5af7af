"""Requests a second and CPU a request of the running service, beside a bare Starlette that returns the same octets.

    python tests/bench/bench_http.py [--seconds 3] [--rounds 3] [--connections 32] [--workers 1] [target ...]

Each target is driven with wrk from another process, ours and the yardstick in turn, so that a neighbour on the machine
hits both; ratios are medians over the rounds. CPU is user and system time of the server's process tree. With two cores
or more the server has the first and wrk the second. A further target is one more entry of ``targets``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]
TICK = os.sysconf("SC_CLK_TCK")
UNLIMITED = {
    f"IDENTITY_THROTTLE_{bucket}_{what}": "1000000"
    for bucket in ("KEY", "ADDRESS", "CHALLENGE")
    for what in ("PER_SECOND", "BURST")
}
LIMITED = {"IDENTITY_THROTTLE_ADDRESS_PER_SECOND": "0.001", "IDENTITY_THROTTLE_ADDRESS_BURST": "1"}


@dataclass(frozen=True)
class Target:
    """One request that is repeated. ``limited`` runs it against a server whose buckets are empty at once; ``route`` is the
    yardstick's route."""

    name: str
    method: str
    path: str
    status: int
    route: str
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""
    limited: bool = False


def creation(more_keys: list[str], **options: object) -> str:
    """The body of a createDid with further keys of these types."""
    purposes = {"Bls12381G2Key2020": ["assertionMethod"], "X25519KeyAgreementKey2020": ["keyAgreement"]}
    options["additionalKeys"] = [{"type": each, "purpose": purposes[each]} for each in more_keys]
    return json.dumps({"method": "ids", "keyType": "Ed25519", "options": options})


# The DID that the specification describes: three keys, a service, a recovery key.
SPECIFIED = creation(
    ["X25519KeyAgreementKey2020", "Bls12381G2Key2020"],
    serviceEndpoints=[{"type": "DIDCommMessaging", "serviceEndpoint": "https://agent.example/didcomm"}],
    recoveryKey=True,
)


def targets(url: str, api_key: str) -> list[Target]:
    """Makes what the targets need and lists them."""
    keyed = {"X-API-Key": api_key, "Content-Type": "application/json"}
    create, create_bls = creation([]), creation(["Bls12381G2Key2020"])
    with httpx.Client(base_url=url, trust_env=False) as http:
        did, small = (
            http.post("/api/v1/dids", content=body, headers=keyed).raise_for_status().json()["did"]
            for body in (SPECIFIED, create)
        )
        etag = http.get(f"/api/v1/dids/{did}").raise_for_status().headers["etag"]
    path, route = f"/api/v1/dids/{did}", "/api/v1/dids/{did}"
    unsigned = {"Content-Type": "application/json"}
    return [
        Target("resolve", "GET", path, 200, route),
        Target("resolve-small", "GET", f"/api/v1/dids/{small}", 200, route),
        Target("resolve-304", "GET", path, 304, route, {"If-None-Match": etag}),
        Target("resolve-version", "GET", f"{path}?versionId=1", 200, route),
        Target("401", "DELETE", path, 401, route, unsigned, '{"confirm":true}'),
        Target("429", "GET", path, 429, route, limited=True),
        Target("create", "POST", "/api/v1/dids", 201, "/api/v1/dids", keyed, create),
        Target("create-bls", "POST", "/api/v1/dids", 201, "/api/v1/dids", keyed, create_bls),
        Target("metrics", "GET", "/metrics", 200, "/metrics"),
        Target("health", "GET", "/health", 200, "/health"),
    ]


@dataclass(frozen=True)
class Server:
    """A server process and where it listens."""

    pid: int
    url: str

    def cpu_seconds(self) -> float:
        """User and system time of the process and its living descendants so far."""
        parents = {}
        ticks = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    parents[int(entry.name)] = int(fields[1])
                    ticks[int(entry.name)] = int(fields[11]) + int(fields[12])
        family = {self.pid}
        while grown := {pid for pid, parent in parents.items() if parent in family} - family:
            family |= grown
        return sum(ticks.get(pid, 0) for pid in family) / TICK


def pinned(core: int, command: list[str]) -> list[str]:
    """``command`` on one core, where that is possible and leaves another for the other side."""
    if shutil.which("taskset") and (os.cpu_count() or 1) > 1:
        return ["taskset", "-c", str(core), *command]
    return command


@contextlib.contextmanager
def running(command: list[str], environment: dict[str, str], probe: str, *, pin: bool) -> Iterator[Server]:
    """Runs a server whose port is the ``{port}`` of ``command`` until it answers ``probe``; stops it afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    filled = [part.replace("{port}", str(port)) for part in command]
    url = f"http://127.0.0.1:{port}"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            pinned(0, filled) if pin else filled,
            env=inherited | environment,
            cwd=ROOT,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            _await(process, url + probe, output)
            yield Server(process.pid, url)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(20)


def _await(process: subprocess.Popen[bytes], url: str, output: object) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            httpx.get(url, trust_env=False, timeout=1)
            return
        time.sleep(0.05)
    output.seek(0)  # type: ignore[attr-defined]
    raise SystemExit(f"the server did not start: {output.read().decode()[-3000:]}")  # type: ignore[attr-defined]


@contextlib.contextmanager
def service(workers: int, limits: dict[str, str]) -> Iterator[tuple[Server, str]]:
    """The real service on an embedded store in a new directory, and an API key for it."""
    key = secrets.token_urlsafe(32)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        command = [sys.executable, "-m", "identity_core", "serve", "--port", "{port}", "--data-dir", folder]
        command += ["--workers", str(workers)]
        with running(command, {"API_KEY": key, **limits}, "/health", pin=workers == 1) as server:
            yield server, key


@contextlib.contextmanager
def baseline(target: Target, ours: httpx.Response) -> Iterator[Server]:
    """The yardstick for one target."""
    kept = {name: value for name, value in ours.headers.items() if name in ("etag", "cache-control", "vary")}
    canned = {
        "method": target.method,
        "path": target.route,
        "status": ours.status_code,
        "media_type": ours.headers.get("content-type", "application/json"),
        "body": ours.text,
        "headers": kept,
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as spec:
        json.dump(canned, spec)
        spec.flush()
        command = [sys.executable, "-m", "uvicorn", "tests.bench.baseline_starlette:app", "--port", "{port}"]
        command += ["--loop", "uvloop", "--http", "httptools", "--ws", "none", "--lifespan", "off"]
        command += ["--no-access-log", "--no-server-header", "--log-level", "warning"]
        with running(command, {"BASELINE": spec.name}, "/", pin=True) as server:
            yield server


@dataclass(frozen=True)
class Round:
    """One run of wrk against one server. ``strange`` counts answers of the wrong kind and broken connections."""

    per_second: float
    cpu_us: float
    p50_ms: float
    p99_ms: float
    strange: int


WRK_SCRIPT = """
wrk.method = {method}
{headers}
wrk.body = {body}
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format('RESULT {{"requests":%d,"duration":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
"""


def drive(server: Server, target: Target, seconds: int, connections: int, *, pin: bool) -> Round:
    """Drives ``target`` for a while."""
    headers = "\n".join(f"wrk.headers[{json.dumps(k)}] = {json.dumps(v)}" for k, v in target.headers.items())
    script = WRK_SCRIPT.format(
        method=json.dumps(target.method), headers=headers, body=json.dumps(target.body) if target.body else "nil"
    )
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as lua:
        lua.write(script)
        lua.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", lua.name, server.url + target.path]
        before = server.cpu_seconds()
        run = subprocess.run(pinned(1, command) if pin else command, capture_output=True, text=True, check=True)
        spent = server.cpu_seconds() - before
    line = next(line for line in run.stdout.splitlines() if line.startswith("RESULT "))
    result = json.loads(line.removeprefix("RESULT "))
    requests = max(1, result["requests"])
    return Round(
        per_second=requests / (result["duration"] / 1e6),
        cpu_us=spent / requests * 1e6,
        p50_ms=result["p50"] / 1000,
        p99_ms=result["p99"] / 1000,
        strange=result["broken"] + (result["refused"] if target.status < 400 else requests - result["refused"]),
    )


def measure(server: Server, target: Target, options: argparse.Namespace) -> str:
    """One line of the report."""
    if target.limited:
        httpx.get(server.url + target.path, trust_env=False)
    ours_once = httpx.request(
        target.method,
        server.url + target.path,
        headers=target.headers,
        content=target.body or None,
        trust_env=False,
    )
    if ours_once.status_code != target.status:
        return f"{target.name:16} answers {ours_once.status_code}, not {target.status}: {ours_once.text[:200]}"
    pin = options.workers == 1
    ours: list[Round] = []
    theirs: list[Round] = []
    with baseline(target, ours_once) as yardstick:
        for each, rounds in ((server, []), (yardstick, [])):  # type: tuple[Server, list[Round]]
            rounds.append(drive(each, target, 1, options.connections, pin=pin))
        for _ in range(options.rounds):
            ours.append(drive(server, target, options.seconds, options.connections, pin=pin))
            theirs.append(drive(yardstick, target, options.seconds, options.connections, pin=pin))
    strange = sum(each.strange for each in [*ours, *theirs])
    ratio = statistics.median(a.per_second / b.per_second for a, b in zip(ours, theirs, strict=True))
    cpu_ratio = statistics.median(b.cpu_us / a.cpu_us for a, b in zip(ours, theirs, strict=True))
    middle: Callable[[list[Round], str], float] = lambda rounds, name: statistics.median(  # noqa: E731
        getattr(each, name) for each in rounds
    )
    return (
        f"{target.name:16} {middle(ours, 'per_second'):9.0f}/s {middle(ours, 'cpu_us'):8.1f} us "
        f"{middle(ours, 'p50_ms'):7.2f} {middle(ours, 'p99_ms'):7.2f} ms | "
        f"{middle(theirs, 'per_second'):9.0f}/s {middle(theirs, 'cpu_us'):8.1f} us | "
        f"{ratio:5.2f}x {cpu_ratio:5.2f}x" + (f"  {strange} strange answers" if strange else "")
    )


def main() -> None:
    """Runs the chosen targets and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="target")
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        print("wrk is not installed; nothing was measured")
        return
    print(f"{'target':16} {'ours':>11} {'CPU':>11} {'p50':>7} {'p99':>10} | {'Starlette':>11} {'CPU':>11} | rate   CPU")
    with service(options.workers, UNLIMITED) as (server, key):
        every = targets(server.url, key)
        unknown = set(options.names) - {each.name for each in every}
        if unknown:
            raise SystemExit(f"unknown: {sorted(unknown)}; there are {[each.name for each in every]}")
        chosen = [each for each in every if not options.names or each.name in options.names]
        for target in (each for each in chosen if not each.limited):
            print(measure(server, target, options), flush=True)
    limited = [each for each in chosen if each.limited]
    if limited:
        with service(options.workers, LIMITED) as (server, _):
            for target in limited:
                print(measure(server, target, options), flush=True)


if __name__ == "__main__":
    main()
