"""Runs the benchmarks of what is promised and writes the page of figures.

    python -m tools.bench.report [--quick] [--only NAME ...] [--against DIR] [--json FILE] [--html FILE] [--folder .] [--keep DIR]

The full run takes about an hour and wants a machine that does nothing else; ``--quick`` takes minutes and shows that everything works. The
file of figures keeps the newest run of each command, so that ``--only scale`` renews those of one benchmark and leaves the others; what
another processor measured is left out. ``--against`` names a checkout of an earlier state with its own environment (``DIR/.venv``): each
command is then run there too, right after it was run here, and the page shows both. With ``--keep`` the seeded directories of
``bench_scale`` stay for the next run. A benchmark that fails is named at the end (exit status 1), and its figures stay as they were.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from identity_codec.values import replace
from tools.bench import figures, page
from tools.bench.bench_machine import signatures_us
from tools.bench.promises import BENCHES, PACE
from tools.bench.servers import ROOT, fdatasync_ms

FIGURES = ROOT / "docs" / "reference" / "figures.json"


def machine(folder: Path) -> Mapping[str, str]:
    """What decides the figures, and no name of anything."""
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": f"{model[0].partition(': ')[2] if model else platform.machine()}, {os.cpu_count()} cores",
        "memory": f"{memory:.0f} GiB",
        "kernel": f"{platform.system()} {platform.release().partition('-')[0]}",
        "Python": f"{platform.python_version()}, SQLite {sqlite3.sqlite_version}",
        "fdatasync of a page": f"{fdatasync_ms(folder):.2f} ms",
    }


def occupied(seconds: float = 2.0) -> float:
    """How many processors were at work while this process slept. The load of a minute would count the benchmark before."""

    def idle() -> float:
        fields = Path("/proc/stat").read_text().partition("\n")[0].split()
        return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")

    before, began = idle(), time.monotonic()
    time.sleep(seconds)
    return max(0.0, (os.cpu_count() or 1) - (idle() - before) / (time.monotonic() - began))


def pace() -> float:
    """How many times as long as the machine of the promises this one takes now for work that is not one of ours."""
    return statistics.median(signatures_us()) / PACE[0].there


def commands(names: Sequence[str], options: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """The benchmarks to run, with their arguments."""
    chosen = []
    for name in names:
        bench = BENCHES[name]
        for number, arguments in enumerate(bench.quick if options.quick else bench.full):
            command = [f"tools.bench.{bench.module}", *arguments.split()]
            if bench.has_folder:
                command += ["--folder", str(options.folder)]
            if name == "scale" and options.keep is not None and "--postgresql" not in arguments:
                command += ["--keep", str(options.keep / f"{'quick' if options.quick else 'full'}-{number}")]
            chosen.append((name, command))
    return chosen


def run(name: str, command: Sequence[str], shown: str, root: Path = ROOT) -> page.Run:
    """Runs one, of the checkout at ``root``. Raises ``subprocess.CalledProcessError``, and ``ValueError`` when it kept no figure."""
    load, before, at = occupied(), pace(), datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    began = time.monotonic()
    python = sys.executable if root == ROOT else str(root / ".venv" / "bin" / "python")
    with tempfile.TemporaryDirectory() as place:
        kept = Path(place, "figures")
        subprocess.run([python, "-m", *command], cwd=root, env=os.environ | {figures.FILE: str(kept)}, check=True)
        found = tuple(figures.read(kept))
    took, around = time.monotonic() - began, (before + pace()) / 2
    if not found:
        raise ValueError(f"{shown} kept no figure")
    revision = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=root, capture_output=True, text=True, check=False
    )
    return page.Run(name, shown, at, revision.stdout.strip(), took, load, found, around)


def joined(report: page.Report, *runs: page.Run, before: Sequence[page.Run] = ()) -> page.Report:
    """The report with the newest run of each command, here and in the state before."""

    def newest(*them: page.Run) -> tuple[page.Run, ...]:
        return tuple({one.command: one for one in them}.values())

    return replace(report, runs=newest(*report.runs, *runs), before=newest(*report.before, *before))


def known_here(place: Path, facts: Mapping[str, str]) -> page.Report:
    """Return the report in ``place`` if it is of this machine; figures of another processor are not comparable."""
    known = page.load(place) if place.exists() else page.Report(facts)
    return replace(known, machine=facts) if known.machine["processor"] == facts["processor"] else page.Report(facts)


def roots(module: str, against: Path | None) -> dict[Path, str]:
    """Return the checkouts that have the benchmark, with the module's name in each: an earlier state may have it in another folder."""
    found = {ROOT: module}
    if against is not None:
        root = against.resolve()
        for path in root.glob(f"*/bench/{module.rpartition('.')[2]}.py"):
            found[root] = ".".join(path.relative_to(root).with_suffix("").parts)
    return found


def main() -> None:
    """Runs, and writes both files after each benchmark, so that what was measured is not lost."""
    options_of = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options_of.add_argument("--quick", action="store_true", help="one short round of everything")
    options_of.add_argument("--only", nargs="*", choices=[*BENCHES], help="these benchmarks alone")
    options_of.add_argument("--against", type=Path, metavar="DIR", help="the checkout of the state before")
    options_of.add_argument("--json", type=Path, default=FIGURES, help="the figures, read before and written after")
    options_of.add_argument("--html", type=Path, default=Path("figures.html"), help="the page [figures.html]")
    options_of.add_argument("--folder", type=Path, default=Path(), help="where data lie, on a real disk [.]")
    options_of.add_argument("--keep", type=Path, help="where bench_scale keeps what it seeded")
    options = options_of.parse_args()
    options.folder = options.folder.resolve()
    report = known_here(options.json, machine(options.folder))
    failed = []
    for name, command in commands(list(BENCHES) if options.only is None else options.only, options):
        shown = " ".join(["python -m", *(part for part in command if not part.startswith("/"))])
        shown = shown.replace(" --folder", "").replace(" --keep", "")
        for root, module in roots(command[0], options.against).items():
            print(f"== {shown}{'' if root == ROOT else ' (before)'}", flush=True)
            try:
                found = run(name, [module, *command[1:]], shown, root)
            except (subprocess.CalledProcessError, ValueError) as error:
                failed.append(f"{shown}{'' if root == ROOT else ' (before)'}: {error}")
                continue
            report = joined(report, found) if root == ROOT else joined(report, before=[found])
            options.json.write_text(json.dumps(asdict(report), indent=1, sort_keys=True) + "\n", encoding="utf-8")
            options.html.write_text(page.whole(report), encoding="utf-8")
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
