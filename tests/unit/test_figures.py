"""The page of figures says what was measured, of every promise, and loads nothing."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import pytest

from identity_codec.values import replace
from tools.bench import figures, report
from tools.bench.baseline_socket import Canned
from tools.bench.charts import NAMES, Bars, bars, histogram
from tools.bench.figures import Figure
from tools.bench.page import Report, Run, body, load, measured, whole
from tools.bench.promises import BENCHES, POSTGRESQL, PROMISES, Place, Promise

ROOT = Path(__file__).resolve().parents[2]
FACTS = {"processor": "<one>"}


def run_of(*found: Figure, command: str = "python -m x", load: float = 0.1) -> Run:
    return Run("lifecycle", command, "2026-01-01 00:00 UTC", "abc", 1.0, load, found)


def test_a_figure_is_kept_where_the_variable_says_and_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "kept"
    monkeypatch.delenv(figures.FILE, raising=False)
    figures.note("nowhere", cpu_us=1.0)
    assert figures.read(place) == []
    monkeypatch.setenv(figures.FILE, str(place))
    figures.note("create", spread={3: 4}, cpu_us=1.5, ratio=math.nan)
    figures.note("create", per_second=2.0)
    assert figures.read(place) == [Figure("create", {"cpu_us": 1.5}, {3: 4}), Figure("create", {"per_second": 2.0})]


def test_latencies_are_counted_by_quarter_octaves() -> None:
    assert figures.spread_of([0.0, 1e-6, 16e-6, 16.1e-6, 1.0]) == {0: 2, 16: 2, 79: 1}


@pytest.mark.parametrize("quick", [True, False])
def test_every_promise_has_a_bench_that_is_there_and_explained(quick: bool) -> None:
    explained = (ROOT / "tools" / "bench" / "README.md").read_text(encoding="utf-8")
    for promise in PROMISES:
        assert f"tools.bench.{BENCHES[promise.bench].module}" in explained
    options = Namespace(quick=quick, folder=Path("/data"), keep=Path("/kept"))
    for name, (module, *arguments) in report.commands(list(BENCHES), options):
        source = (ROOT / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8")
        known = source + (ROOT / "tools" / "bench" / "rounds.py").read_text(encoding="utf-8")
        assert [one for one in arguments if one.startswith("--") and f'"{one}"' not in known] == []
        assert ("--folder" in arguments) == BENCHES[name].has_folder


def test_target_is_met_or_missed_or_unmeasured() -> None:
    names = {
        place.figure for one in PROMISES for place in (one.measured, one.over, one.floor) if isinstance(place, Place)
    }
    for value, verdict in ((1e-9, "≤"), (1e9, "≥")):
        keys = {"cpu_us", "per_second", "ratio", "rate", "seconds", "anonymous_mib", "server_ms", "p99_ms"}
        keys |= {"prove_ms", "verify_ms", "floor_us", "floor_rate", "floor_per_second", "peer_cpu_us"}
        found = [Figure(name, dict.fromkeys(keys, value)) for name in names]
        html = body(Report(FACTS, (run_of(*found),)))
        assert re.findall(r"<td>(.) \S+ \S+</td><td>\S+</td><td>kept</td>", html) == [
            sign
            for one in PROMISES
            for sign in ["≤" if one.at_most else "≥"]
            if sign == verdict or (one.over and verdict == "≥")
        ]
    nothing = body(Report(FACTS))
    assert nothing.count("<td>not measured</td>") == len(PROMISES)
    assert "kept</td>" not in nothing
    assert "missed</td>" not in nothing


def test_each_target_has_floor_no_worse() -> None:
    for one in PROMISES:
        assert one.floor is not None, one.path
        if not isinstance(one.floor, Place):
            assert one.is_kept(one.floor), one.path


def test_disturbed_figure_is_not_judged() -> None:
    report = Report(
        FACTS,
        (run_of(Figure("create", {"cpu_us": 999.0}), load=0.8), run_of(Figure("429", {"cpu_us": 999.0}), command="y")),
    )
    html = body(report)
    assert "1 of 2 runs began while the machine did other things" in html
    assert re.findall(r"<td>999</td><td>(\w*)</td>", html) == ["", "missed"]
    assert "other things" not in body(replace(report, runs=report.runs[1:]))


def test_earlier_state_has_column_and_ratio() -> None:
    before = run_of(Figure("create", {"cpu_us": 400.0}), Figure("429", {"cpu_us": 7.0}))
    html = body(Report(FACTS, (run_of(Figure("create", {"cpu_us": 300.0}), load=0.0),), (before,)))
    assert "<td>300</td><td>kept</td><td></td><td>400</td><td>0.75x</td>" in html
    assert "<td>not measured</td><td></td><td></td><td>7</td><td></td>" in html
    assert html.count("<title>before</title>") == 1


def test_growth_on_postgresql_has_its_own_bars() -> None:
    found = [Figure(f"{POSTGRESQL}create, {size}", {"cpu_us": 5.0}) for size in ("100000 x 1", "1000 x 1")]
    kept = Report(FACTS, (run_of(*found),))
    assert (kept.sizes(), kept.sizes(POSTGRESQL)) == ([], ["1000 x 1", "100000 x 1"])
    html = body(kept)
    assert "<title>CPU of an answer on PostgreSQL</title>" in html
    assert "<title>CPU of an answer</title>" not in html


def test_machine_speed_is_shown_with_targets() -> None:
    html = body(Report(FACTS, (run_of(Figure("libsodium", {"cpu_us": 78.0})),)))
    assert "<td>78 µs</td><td>52 µs</td><td>1.50</td>" in html
    assert "plain Starlette" not in html


def test_slower_machine_is_scaled_to_target_speed() -> None:
    found = Figure("create", {"cpu_us": 600.0}), Figure("create-2-workers", {"per_second": 1000.0})
    kept = replace(run_of(*found, Figure("resolve", {"rate": 1.4})), pace=1.5)
    html = body(Report(FACTS, (kept,)))
    assert "<td>600</td><td>missed</td><td>400</td>" in html
    assert "<td>1,000</td><td>missed</td><td>1,500</td>" in html
    assert "<td>1.4</td><td>kept</td><td></td>" in html
    assert 0.1 < report.pace() < 100


def test_other_cpu_use_is_computed() -> None:
    assert 0 <= report.occupied(0.05) <= (os.cpu_count() or 1)


@pytest.mark.parametrize("place", ["tools", "tests"])
def test_the_state_before_runs_its_benchmarks_with_its_python(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder ``bench`` of an earlier state may stand in ``tests``."""
    earlier = tmp_path / "earlier"
    (earlier / place / "bench").mkdir(parents=True)
    (earlier / place / "bench" / "bench_verify.py").touch()
    started: list[tuple[str, str, object]] = []

    def measure(command: list[str], *, cwd: Path, env: Mapping[str, str] | None = None, **how: object) -> object:
        if env is not None:
            started.append((command[0], command[2], cwd))
            value = 700 if cwd == ROOT else 350
            line = {"name": "stored", "values": {"per_second": value}, "spread": {}}
            Path(env[figures.FILE]).write_text(json.dumps(line), encoding="utf-8")
        return Namespace(stdout="abc")

    monkeypatch.setattr(report.subprocess, "run", measure)
    monkeypatch.setattr(report, "occupied", lambda: 0.0)
    monkeypatch.setattr(report, "pace", lambda: 2.0)
    kept, html = tmp_path / "figures.json", tmp_path / "figures.html"
    arguments = ["--only", "verify", "machine", "--against", str(earlier), "--json", str(kept), "--html", str(html)]
    monkeypatch.setattr(sys, "argv", ["report", *arguments])
    report.main()
    assert started == [
        (sys.executable, "tools.bench.bench_verify", ROOT),
        (str(earlier / ".venv" / "bin" / "python"), f"{place}.bench.bench_verify", earlier),
        (sys.executable, "tools.bench.bench_machine", ROOT),
    ]
    assert "<td>700</td><td>kept</td><td>1,400</td><td>350</td><td>2.00x</td>" in html.read_text(encoding="utf-8")
    assert len(load(kept).before) == 1


def test_value_above_last_bucket_is_the_rest() -> None:
    promise = Promise("p", "scale", Place("a", "cpu_us"), "µs", 65, over=Place("socket", "cpu_us"))
    both = run_of(Figure("a", {"cpu_us": 80.0}), Figure("socket", {"cpu_us": 14.0}))
    assert measured(Report(FACTS, (both,)), promise) == 66
    assert not promise.is_kept(66)
    assert measured(Report(FACTS, (run_of(Figure("a", {"cpu_us": 80.0})),)), promise) is None


def test_the_newest_run_of_a_command_counts_and_the_others_stay(tmp_path: Path) -> None:
    old, other = run_of(Figure("create", {"cpu_us": 1.0})), run_of(Figure("429", {"cpu_us": 7.0}), command="y")
    new = run_of(Figure("create", {"cpu_us": 2.0}))
    joined = report.joined(report.joined(Report(FACTS, (old, other)), before=[old]), new, before=[other])
    assert [run.figures for run in joined.before] == [old.figures, other.figures]
    assert [joined.value(Place(name, "cpu_us")) for name in ("create", "429")] == [2.0, 7.0]
    place = tmp_path / "figures.json"
    place.write_text(json.dumps(asdict(joined)), encoding="utf-8")
    assert load(place) == joined
    assert report.known_here(place, FACTS) == joined
    other_machine = {"processor": "<another>"}
    assert report.known_here(place, other_machine) == Report(other_machine), "figures of two machines on one page"


def test_failed_bench_is_named_and_changes_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Report(FACTS, (run_of(Figure("create", {"cpu_us": 1.0})),))
    place = tmp_path / "figures.json"
    place.write_text(json.dumps(asdict(before)), encoding="utf-8")
    started: list[list[str]] = []

    def fail(command: list[str], **how: object) -> None:
        if command[0] == sys.executable:
            started.append(command)
            raise subprocess.CalledProcessError(3, command)

    monkeypatch.setattr(report.subprocess, "run", fail)
    monkeypatch.setattr(report, "occupied", lambda: 0.0)
    monkeypatch.setattr(sys, "argv", ["report", "--quick", "--only", "start", "verify", "--json", str(place)])
    with pytest.raises(SystemExit, match=r"(?s)bench_start.*status 3.*bench_verify.*status 3"):
        report.main()
    assert len(started) == 2
    assert load(place).runs == before.runs


def test_the_page_loads_nothing_and_holds_markup_as_text() -> None:
    spread = {40: 10, 44: 80, 60: 10}
    page = whole(Report(FACTS, (run_of(Figure("create", {"cpu_us": 3.0}, spread)),)))
    assert "&lt;one&gt;" in page
    for word in ("<script", "src=", "href=", "url("):
        assert word not in page
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)
    assert "\n\n" not in body(Report(FACTS)), "an empty line would end the HTML of a page in Markdown"


def widths(svg: str) -> list[float]:
    return [float(one) for one in re.findall(r'<rect [^>]*width="([\d.]+)"', svg)]


def test_bars_are_as_long_as_their_values_within_their_group() -> None:
    svg = bars("t", [Bars("a", {"now": 10.0, "floor": 5.0}, "µs", asked=20.0), Bars("b", {"now": 1000.0}, "/s")])
    first, second, third = widths(svg)
    assert (first, second, third) == (third / 2, third / 4, third)
    assert svg.count("stroke-dasharray") == 1


def test_no_title_of_a_promise_runs_into_its_bars() -> None:
    widest = 6.2  # pixels of a character at 11 pixels, on average
    assert [one.path for one in PROMISES if len(one.path) * widest > NAMES] == []


def test_histogram_has_column_for_each_quarter_octave() -> None:
    svg = histogram("create", {40: 1, 41: 3})
    heights = [float(one) for one in re.findall(r'<rect [^>]*height="([\d.]+)"', svg)]
    assert heights == pytest.approx([heights[1] / 3, heights[1]], abs=0.1)
    assert "1.02 ms to 1.22 ms: 25 %" in svg
    assert "create (4 answers)" in svg
    assert ">1.05 s</text>" in histogram("slow", {79: 1})
    ElementTree.fromstring(histogram("nothing", {}))


def test_the_bare_socket_answers_each_whole_request_once() -> None:
    class Kept(asyncio.Transport):
        def __init__(self) -> None:
            super().__init__()
            self.written = 0

        def write(self, data: bytes | bytearray | memoryview) -> None:
            assert data == b"answer"
            self.written += 1

    kept, canned = Kept(), Canned(b"answer")
    canned.connection_made(kept)
    for part, answers in (
        (b"GET / HTTP/1.1\r\nHost: a\r\n", 0),
        (b"\r\nGET / HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nab", 2),
        (b"cd", 3),
        (b"POST / HTTP/1.1\r\ncontent-length:0\r\n\r\n", 4),
    ):
        canned.data_received(part)
        assert kept.written == answers


def test_the_committed_figures_are_some() -> None:
    kept = load(ROOT / "docs" / "reference" / "figures.json")
    assert {run.bench for run in kept.runs} <= BENCHES.keys()
    assert any(measured(kept, one) is not None for one in PROMISES)
