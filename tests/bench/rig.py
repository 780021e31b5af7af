"""What the benchmarks of the whole server share: a server process, its CPU and memory, wrk, and a client of one's own.

CPU is user and system time of the server's process tree, from ``/proc/PID/stat``, over the requests of a round. With two
cores or more a server of one process has the first core and whoever drives it the last; several workers are not pinned.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

import uvloop

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "/api/v1"
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
START_SECONDS = 120.0
UNLIMITED = {
    f"IDENTITY_THROTTLE_{bucket}_{what}": "1000000"
    for bucket in ("KEY", "ADDRESS", "CHALLENGE")
    for what in ("PER_SECOND", "BURST")
}
LIMITED = {"IDENTITY_THROTTLE_ADDRESS_PER_SECOND": "0.001", "IDENTITY_THROTTLE_ADDRESS_BURST": "1"}


@dataclass(frozen=True)
class Target:
    """One request that is repeated. ``limited`` wants a server whose buckets are empty at once; ``route`` is the yardstick's route;
    ``paths`` are drawn from at random, each time anew, where there are any (``path`` is then one of them)."""

    name: str
    method: str
    path: str
    status: int
    route: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""
    limited: bool = False
    paths: tuple[str, ...] = ()


def creation(more_keys: Sequence[str], **options: object) -> str:
    """The body of a createDid with further keys of these types."""
    purposes = {"Bls12381G2Key2020": ["assertionMethod"], "X25519KeyAgreementKey2020": ["keyAgreement"]}
    options["additionalKeys"] = [{"type": each, "purpose": purposes[each]} for each in more_keys]
    return json.dumps({"method": "ids", "keyType": "Ed25519", "options": options})


def did_path(did: str) -> str:
    """Where a DID is resolved."""
    return f"{PREFIX}/dids/{quote(did, safe=':')}"


@dataclass(frozen=True)
class Server:
    """A server process, where it listens, and how long it took from its start to its first answer to the probe."""

    pid: int
    url: str
    seconds: float = 0.0

    def family(self) -> dict[int, Path]:
        """The process and its living descendants, with their folders under ``/proc``."""
        parents = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    parents[int(entry.name)] = int(_stat(entry)[1])
        family = {self.pid}
        while grown := {pid for pid, parent in parents.items() if parent in family} - family:
            family |= grown
        return {pid: Path(f"/proc/{pid}") for pid in family}

    def cpu_seconds(self) -> float:
        """User and system time of the family so far."""
        ticks = 0
        for folder in self.family().values():
            with contextlib.suppress(OSError):
                fields = _stat(folder)
                ticks += int(fields[11]) + int(fields[12])
        return ticks / TICK

    def ask(self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET", body: str = "") -> Reply:
        """One request on a connection of its own."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=10)
        try:
            connection.request(method, path, body or None, dict(headers or {}))
            answer = connection.getresponse()
            return Reply(answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()})
        finally:
            connection.close()


def _stat(folder: Path) -> list[str]:
    return (folder / "stat").read_text().rpartition(")")[2].split()


@dataclass(frozen=True)
class Reply:
    """An answer."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def can_pin() -> bool:
    """Whether there is a core for each side."""
    return shutil.which("taskset") is not None and (os.cpu_count() or 1) > 1


def pinned(command: list[str], *, to_server: bool) -> list[str]:
    """``command`` on the server's core or on the other side's."""
    core = 0 if to_server else (os.cpu_count() or 1) - 1
    return ["taskset", "-c", str(core), *command] if can_pin() else command


@contextlib.contextmanager
def on_client_core(*, pin: bool) -> Iterator[None]:
    """Keeps this process off the server's core for a while."""
    before = os.sched_getaffinity(0)
    if pin and can_pin():
        os.sched_setaffinity(0, {(os.cpu_count() or 1) - 1})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def running(
    command: list[str], environment: Mapping[str, str], probe: str, *, status: int, pin: bool
) -> Iterator[Server]:
    """Runs a server whose port is the ``{port}`` of ``command`` until it answers ``probe`` with ``status``; stops it afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    filled = [part.replace("{port}", str(port)) for part in command]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        process = subprocess.Popen(
            pinned(filled, to_server=True) if pin else filled,
            env=inherited | dict(environment),
            cwd=ROOT,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            server = Server(process.pid, f"http://127.0.0.1:{port}")
            while not _answers(server, probe, status):
                if process.poll() is not None or time.monotonic() > began + START_SECONDS:
                    output.seek(0)
                    raise SystemExit(f"the server did not start: {output.read().decode()[-3000:]}")
                time.sleep(0.005)
            yield Server(process.pid, server.url, time.monotonic() - began)
        finally:
            _stop(process)


def _answers(server: Server, probe: str, status: int) -> bool:
    try:
        return server.ask(probe).status == status
    except (OSError, http.client.HTTPException):
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the whole group, kindly first. Nothing of it is left afterwards."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)


def serve(data_dir: Path, *, workers: int, limits: Mapping[str, str], key: str) -> contextlib.AbstractContextManager[Server]:
    """The real server on the embedded store in ``data_dir``, ready to answer."""
    command = [sys.executable, "-m", "identity_core", "serve", "--port", "{port}", "--data-dir", str(data_dir)]
    command += ["--workers", str(workers)]
    return running(command, {"API_KEY": key, **limits}, "/ready", status=200, pin=workers == 1)


@contextlib.contextmanager
def service(workers: int, limits: Mapping[str, str], folder: Path | None = None) -> Iterator[tuple[Server, str]]:
    """``serve`` in a new directory below ``folder``, and an API key for it."""
    key = secrets.token_urlsafe(32)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=folder) as place:
        with serve(Path(place), workers=workers, limits=limits, key=key) as server:
            yield server, key


@dataclass(frozen=True)
class Round:
    """One run against one server. ``strange`` counts answers of the wrong kind and broken connections."""

    per_second: float
    cpu_us: float
    p50_ms: float
    p99_ms: float
    strange: int


def middle(rounds: Iterable[Round]) -> Round:
    """The median of each figure; what was strange is added up."""
    known = list(rounds)
    return Round(
        statistics.median(each.per_second for each in known),
        statistics.median(each.cpu_us for each in known),
        statistics.median(each.p50_ms for each in known),
        statistics.median(each.p99_ms for each in known),
        sum(each.strange for each in known),
    )


WRK_SCRIPT = """
wrk.method = {method}
{headers}
wrk.body = {body}
local list = {paths}
if list then
  local ready = {{}}
  function init(args)
    math.randomseed({seed})
    for path in io.lines(list) do ready[#ready + 1] = wrk.format(nil, path) end
  end
  function request() return ready[math.random(#ready)] end
end
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format('RESULT {{"requests":%d,"duration":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
"""


def drive(server: Server, target: Target, seconds: int, connections: int, *, pin: bool) -> Round:
    """Drives ``target`` with wrk for a while."""
    with tempfile.TemporaryDirectory() as place:
        script, paths = Path(place, "wrk.lua"), Path(place, "paths")
        paths.write_text("\n".join(target.paths))
        script.write_text(
            WRK_SCRIPT.format(
                method=json.dumps(target.method),
                headers="\n".join(f"wrk.headers[{json.dumps(k)}] = {json.dumps(v)}" for k, v in target.headers.items()),
                body=json.dumps(target.body) if target.body else "nil",
                paths=json.dumps(str(paths)) if target.paths else "nil",
                seed=secrets.randbelow(2**31),
            )
        )
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script), server.url + target.path]
        before = server.cpu_seconds()
        run = subprocess.run(
            pinned(command, to_server=False) if pin else command, capture_output=True, text=True, check=True
        )
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


def need_wrk() -> None:
    """Ends the program where there is no wrk."""
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed; nothing was measured")


def octets(method: str, path: str, headers: Mapping[str, str] | None = None, body: str = "") -> bytes:
    """A request as it goes over the wire."""
    content = body.encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: bench"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if content:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


class Wire(asyncio.Protocol):
    """A keep-alive connection with one request at a time; answers must have a Content-Length."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._waiting: asyncio.Future[Reply] | None = None

    @classmethod
    async def open(cls, url: str) -> Wire:
        parts = urlsplit(url)
        _, wire = await asyncio.get_running_loop().create_connection(cls, parts.hostname, parts.port)
        return wire

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found or self._waiting is None or self._waiting.done():
            return
        lowered = head.lower()
        start = lowered.find(b"\r\ncontent-length:")
        length = 0 if start < 0 else int(lowered[start + 17 :].split(b"\r\n", 1)[0])
        if len(rest) >= length:
            self._buffer = b""
            self._waiting.set_result(Reply(int(head[9:12]), rest))

    async def call(self, request: bytes) -> Reply:
        """Raises ``ConnectionError``."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionError("the connection is closed")
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiting

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


@dataclass(frozen=True)
class Exchange:
    """Answers in the order of the requests, the latency of each in seconds, and how long all took."""

    replies: list[Reply]
    latencies: list[float]
    seconds: float


def exchange(server: Server, requests: Sequence[bytes], connections: int) -> Exchange:
    """Sends each request once, over so many connections."""
    return uvloop.run(_exchange(server, requests, connections))


async def _exchange(server: Server, requests: Sequence[bytes], connections: int) -> Exchange:
    replies = [Reply(0, b"")] * len(requests)
    latencies = [0.0] * len(requests)
    supply = iter(range(len(requests)))
    wires = [await Wire.open(server.url) for _ in range(min(connections, len(requests)))]

    async def send(wire: Wire) -> None:
        for place in supply:
            began = time.perf_counter()
            replies[place] = await wire.call(requests[place])
            latencies[place] = time.perf_counter() - began

    began = time.perf_counter()
    await asyncio.gather(*map(send, wires))
    seconds = time.perf_counter() - began
    for wire in wires:
        wire.close()
    return Exchange(replies, latencies, seconds)


def measured(server: Server, requests: Sequence[bytes], connections: int, status: int, *, pin: bool) -> Round:
    """``exchange`` as a round; for requests that can be made only once."""
    with on_client_core(pin=pin):
        before = server.cpu_seconds()
        done = exchange(server, requests, connections)
        spent = server.cpu_seconds() - before
    ordered = sorted(done.latencies)
    return Round(
        per_second=len(requests) / done.seconds,
        cpu_us=spent / len(requests) * 1e6,
        p50_ms=ordered[len(ordered) // 2] * 1e3,
        p99_ms=ordered[int(len(ordered) * 0.99)] * 1e3,
        strange=sum(reply.status != status for reply in done.replies),
    )


@dataclass(frozen=True)
class Made:
    """A DID that was created here and the secret multikey that signs for it."""

    did: str
    secret: str


def make_dids(server: Server, key: str, count: int, body: str | None = None) -> list[Made]:
    """Creates DIDs over HTTP. Raises ``SystemExit`` when one is refused."""
    request = octets("POST", f"{PREFIX}/dids", {"X-API-Key": key}, body or creation([]))
    made = []
    for reply in exchange(server, [request] * count, 32).replies:
        if reply.status != 201:
            raise SystemExit(f"create answers {reply.status}: {reply.body[:300]!r}")
        answer = json.loads(reply.body)
        made.append(Made(answer["did"], answer["keys"]["authentication"]["privateKey"]))
    return made


def fdatasync_ms(folder: Path) -> float:
    """The median of 100 writes of a page in ``folder``, each followed by ``fdatasync``: what a durable answer waits for."""
    times = []
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        for _ in range(100):
            os.pwrite(file.fileno(), bytes(4096), 0)
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def parser(
    description: str | None, *, rounds: int, seconds: int, of: Callable[[argparse.ArgumentParser], object] | None = None
) -> argparse.ArgumentParser:
    """The options that all have."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--rounds", type=int, default=rounds, help="rounds; medians are printed")
    made.add_argument("--seconds", type=int, default=seconds, help="seconds of a round")
    made.add_argument("--connections", type=int, default=32)
    if of is not None:
        of(made)
    return made
