"""Rounds against a server: one request again and again with wrk, or each of many once; medians over rounds."""

from __future__ import annotations

import argparse
import json
import secrets
import shutil
import statistics
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.bench.figures import note, spread_of
from tools.bench.servers import Server, on_client_core, pinned
from tools.bench.wire import exchange


@dataclass(frozen=True)
class Target:
    """One request that is repeated. ``limited`` wants a server whose buckets are empty at once; ``route`` is the yardstick's route;
    ``paths`` are drawn from at random, each time anew, where there are any (``path`` is then one of them). With ``pause_ms`` each client
    waits about so long before a request."""

    name: str
    method: str
    path: str
    status: int
    route: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""
    limited: bool = False
    paths: tuple[str, ...] = ()
    pause_ms: int = 0


@dataclass(frozen=True)
class Round:
    """One run against one server. ``strange`` counts answers of the wrong kind and broken connections; ``spread`` has all latencies."""

    per_second: float
    cpu_us: float
    p50_ms: float
    p99_ms: float
    strange: int
    spread: Mapping[int, int] = field(default_factory=dict)

    def keep(self, name: str, **more: float) -> None:
        """Keeps it as a figure, with what else is known of it."""
        values = {"per_second": self.per_second, "cpu_us": self.cpu_us, "p50_ms": self.p50_ms, "p99_ms": self.p99_ms}
        note(name, spread=self.spread, strange=self.strange, **values, **more)


def middle(rounds: Iterable[Round]) -> Round:
    """The median of each figure; what was strange is added up, and the spreads are."""
    known = list(rounds)
    spread: Counter[int] = Counter()
    for one in known:
        spread.update(one.spread)
    return Round(
        statistics.median(each.per_second for each in known),
        statistics.median(each.cpu_us for each in known),
        statistics.median(each.p50_ms for each in known),
        statistics.median(each.p99_ms for each in known),
        sum(each.strange for each in known),
        spread,
    )


WRK_SCRIPT = """
wrk.method = {method}
{headers}
wrk.body = {body}
local list = {paths}
local pause = {pause_ms}
if pause > 0 then
  function delay() return math.random(1, 2 * pause) end
end
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
  local spread, listed = {{}}, {{}}
  for place = 1, #latency do
    local value, count = latency(place)
    local octave = math.floor(4 * math.log(math.max(1, value)) / math.log(2))
    spread[octave] = (spread[octave] or 0) + count
  end
  for octave, count in pairs(spread) do listed[#listed + 1] = string.format('"%d":%d', octave, count) end
  io.write(string.format('RESULT {{"requests":%d,"duration":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d,"spread":{{%s}}}}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), errors.status,
    errors.connect + errors.read + errors.write + errors.timeout, table.concat(listed, ",")))
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
                pause_ms=target.pause_ms,
                seed=secrets.randbelow(2**31),
            )
        )
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script), server.url + target.path]
        before = server.cpu_seconds()
        run = subprocess.run(
            pinned(command, to_server=False) if pin else command,
            capture_output=True,
            text=True,
            check=True,
            timeout=seconds + 60,
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
        spread={int(place): count for place, count in result["spread"].items()},
    )


def need_wrk() -> None:
    """Ends the program where there is no wrk."""
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed; nothing was measured")


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
        spread=spread_of(done.latencies),
    )


def parser(description: str | None, *, rounds: int, seconds: int) -> argparse.ArgumentParser:
    """The options that all benchmarks of the server have."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--rounds", type=int, default=rounds, help=f"rounds of which the median is printed [{rounds}]")
    made.add_argument("--seconds", type=int, default=seconds, help=f"seconds of a round of wrk [{seconds}]")
    made.add_argument("--connections", type=int, default=32, help="keep-alive clients [32]")
    return made
