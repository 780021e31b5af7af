"""The page of figures: every promise beside the state before, its floor and its peer, growth, latencies, and the machine.

``report.py`` writes it as a file of its own; the documentation has the last one (``docs/reference/figures.json``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from tools.bench.charts import Bars, bars, growth, histogram
from tools.bench.figures import Figure, figure_of
from tools.bench.promises import BENCHES, PACE, POSTGRESQL, PROMISES, Place, Promise

STYLE = "body{font-family:sans-serif;max-width:960px;margin:2em auto}td,th{padding:.2em .8em;text-align:left;vertical-align:top}"
GROWING = (
    "create",
    "PATCH",
    "cold",
    "resolve, any",
    "resolve ?versionId",
    "resolve ?versionTime",
    "history",
    "log",
    "audit",
    "status",
    "proof",
    "verification",
)
QUIET = 0.3  # How many processors others may use beside a run whose figures are a verdict.
TIMED = ("resolve", "resolve-many", "401", "429", "create", "create-bls", "didauth-write", "stored")


@dataclass(frozen=True)
class Run:
    """What one command measured: when, how long it took, how many processors others used as it began, and how many times as long as the
    machine of the promises this one took, just before and after, for work that is not one of ours; None where that was not measured."""

    bench: str
    command: str
    at: str
    commit: str
    seconds: float
    load: float
    figures: tuple[Figure, ...]
    pace: float | None = None


@dataclass(frozen=True)
class Report:
    """Runs, the newest of each command, those of the state before, and the facts of the machine that ran them all."""

    machine: Mapping[str, str]
    runs: tuple[Run, ...] = ()
    before: tuple[Run, ...] = ()

    def earlier(self) -> Report:
        """The state before alone."""
        return Report(self.machine, self.before)

    def value(self, place: Place) -> float | None:
        """None where it was not measured."""
        found = self.figure(place.figure)
        return None if found is None else found.values.get(place.value)

    def figure(self, name: str) -> Figure | None:
        return next((one for run in reversed(self.runs) for one in run.figures if one.name == name), None)

    def run_of(self, name: str) -> Run | None:
        """The newest run with this figure."""
        return next((run for run in reversed(self.runs) if any(one.name == name for one in run.figures)), None)

    def is_disturbed(self, name: str) -> bool:
        """Whether that began beside other work."""
        found = self.run_of(name)
        return found is not None and found.load > QUIET

    def sizes(self, store: str = "") -> list[str]:
        """The sizes of databases that something was measured on, "DIDs x versions", the smallest first; on SQLite, or as ``store`` says."""
        begin = f"{store}create, "
        names = {one.name.removeprefix(begin) for run in self.runs for one in run.figures if one.name.startswith(begin)}
        return sorted(
            (one for one in names if " x " in one), key=lambda size: [int(part) for part in size.split(" x ")]
        )


def load(place: Path) -> Report:
    """A report of its JSON. Raises ``ValueError`` or ``KeyError`` for what is invalid."""
    kept: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))

    def runs(of: str) -> tuple[Run, ...]:
        return tuple(Run(**(run | {"figures": tuple(map(figure_of, run["figures"]))})) for run in kept[of])

    return Report(kept["machine"], runs("runs"), runs("before"))


def whole(report: Report) -> str:
    """The page as a file of its own."""
    head = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Figures</title><style>{STYLE}</style><h1>Figures</h1>"
    )
    return "\n".join([head, body(report), "</html>"])


def body(report: Report) -> str:
    """Its HTML below the title, without an empty line."""
    return "\n".join(
        [
            *_warning(report),
            "<h2>What is promised</h2>",
            *_table(
                ("path", "asked", "measured", "", "at that pace", "before", "of it", "floor", "peer", "bench"),
                _rows(report),
            ),
            "<p>What is asked, and floors that no benchmark measures, are of another machine. Where this one took n times as long for work "
            "that is not ours, just before and after, <em>at that pace</em> is a time divided by n, a rate times n: an estimate.</p>",
            bars("Each promise beside the state before, its floor and its peer", [*_groups(report)]),
            "<h2>Growth</h2>",
            "<p>CPU of an answer of the server, and the memory of its processes after the reads, by DIDs x versions. "
            "The smaller database holds most of what is asked for in its caches; for cold, nothing is in them.</p>",
            *_growth(report, "", ""),
            *_growth(report, POSTGRESQL, " on PostgreSQL"),
            "<h2>Latencies</h2>",
            *(histogram(name, found.spread) for name in TIMED if (found := report.figure(name)) and found.spread),
            "<h2>The machine, and what was run</h2>",
            *_table(("", ""), report.machine.items()),
            "<p>For work that is not one of ours this machine and that of the promises take:</p>",
            *_table(("work", "here", "there", "times"), _pace(report)),
            *_table(
                ("command", "at", "commit", "took", "processors that others used", "pace"),
                (
                    (
                        *(run.command + state, run.at, run.commit, f"{run.seconds:.0f} s", f"{run.load:.1f}"),
                        "" if run.pace is None else f"{run.pace:.2f}",
                    )
                    for runs, state in ((report.runs, ""), (report.before, " (before)"))
                    for run in runs
                ),
            ),
        ]
    )


def _growth(report: Report, store: str, shown: str) -> Iterator[str]:
    sizes = report.sizes(store)
    by_size = {name: [report.value(Place(f"{store}{name}, {size}", "cpu_us")) for size in sizes] for name in GROWING}
    memory = {
        what: [report.value(Place(f"{store}memory, {size}", key)) for size in sizes]
        for what, key in (("memory of its own", "anonymous_mib"), ("mapped from files", "mapped_mib"))
    }
    if sizes:
        yield growth(f"CPU of an answer{shown}", "µs", sizes, by_size)
        yield growth(f"Resident memory{shown}", "MiB", sizes, memory)


def measured(report: Report, promise: Promise) -> float | None:
    """What a promise is held against; None where it was not measured."""
    value = report.value(promise.measured)
    if value is None or promise.over is None:
        return value
    over = report.value(promise.over)
    return None if over is None else value - over


def _warning(report: Report) -> Iterator[str]:
    """What a reader has to know of runs beside other work: they say what is measured, and little of how fast it is."""
    runs = (*report.runs, *report.before)
    loads = [run.load for run in runs if run.load > QUIET]
    if loads:
        yield (
            f"<p><strong>{len(loads)} of {len(runs)} runs began while the machine did other things</strong> (they used {min(loads):.1f} to "
            f"{max(loads):.1f} processors): what they measured is worse than it would be on a quiet one, and no verdict on a promise.</p>"
        )


def _rows(report: Report) -> Iterator[Sequence[str]]:
    for one in PROMISES:
        value, before, verdict = measured(report, one), measured(report.earlier(), one), ""
        if value is not None and not report.is_disturbed(one.measured.figure):
            verdict = "kept" if one.is_kept(value) else "missed"
        asked = f"{'≤' if one.at_most else '≥'} {_number(one.asked)} {one.unit}"
        of_it = f"{value / before:.2f}x" if value is not None and before else ""
        beside = map(_number, (_floor(report, one), one.peer and report.value(one.peer)))
        yield (
            *(one.path, asked, _number(value, "not measured"), verdict),
            *(_number(_at_pace(report, one, value)), _number(before), of_it),
            *(*beside, BENCHES[one.bench].module),
        )


def _at_pace(report: Report, promise: Promise, value: float | None) -> float | None:
    run = report.run_of(promise.measured.figure)
    if value is None or run is None or run.pace is None or promise.unit not in ("µs", "ms", "s", "/s"):
        return None
    return value * run.pace if promise.unit == "/s" else value / run.pace


def _pace(report: Report) -> Iterator[Sequence[str]]:
    for work in PACE:
        here = report.value(work.measured)
        if here is not None:
            yield work.name, f"{here:.3g} {work.unit}", f"{work.there:.3g} {work.unit}", f"{here / work.there:.2f}"


def _groups(report: Report) -> Iterator[Bars]:
    for one in PROMISES:
        value = measured(report, one)
        if value is not None:
            known = {"measured": value, "before": measured(report.earlier(), one), "floor": _floor(report, one)}
            known["peer"] = one.peer and report.value(one.peer)
            yield Bars(
                one.path,
                {name: max(0.0, each) for name, each in known.items() if each is not None},
                one.unit,
                one.asked,
            )


def _floor(report: Report, promise: Promise) -> float | None:
    return report.value(promise.floor) if isinstance(promise.floor, Place) else promise.floor


def _number(value: float | None, otherwise: str = "") -> str:
    if value is None:
        return otherwise
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _table(head: Sequence[str], rows: Iterator[Sequence[str]] | Any) -> Iterator[str]:
    yield "<table><tr>" + "".join(f"<th>{escape(name)}</th>" for name in head) + "</tr>"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
    yield "</table>"
