"""Runs the benchmarks of what is promised and writes the page of figures.

    python -m tests.bench.report [--quick] [--only NAME ...] [--json FILE] [--html FILE] [--folder .] [--keep DIR]

The full run takes about an hour and wants a machine that does nothing else; ``--quick`` takes minutes and shows that everything works. The
file of figures keeps the newest run of each command, so that ``--only scale`` renews those of one benchmark and leaves the others. With
``--keep`` the seeded directories of ``bench_scale`` stay for the next run. A benchmark that fails is named at the end (exit status 1), and
its figures stay as they were.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import figures, page
from tests.bench.promises import BENCHES
from tests.bench.servers import ROOT, fdatasync_ms

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


def commands(names: Sequence[str], options: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """The benchmarks to run, with their arguments."""
    chosen = []
    for name in names:
        bench = BENCHES[name]
        for number, arguments in enumerate(bench.quick if options.quick else bench.full):
            command = [f"tests.bench.{bench.module}", *arguments.split()]
            if bench.has_folder:
                command += ["--folder", str(options.folder)]
            if name == "scale" and options.keep is not None:
                command += ["--keep", str(options.keep / f"{'quick' if options.quick else 'full'}-{number}")]
            chosen.append((name, command))
    return chosen


def run(name: str, command: Sequence[str], shown: str) -> page.Run:
    """Runs one. Raises ``subprocess.CalledProcessError``, and ``ValueError`` when it kept no figure."""
    load, began, at = os.getloadavg()[0], time.monotonic(), datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    with tempfile.TemporaryDirectory() as place:
        kept = Path(place, "figures")
        subprocess.run(
            [sys.executable, "-m", *command], cwd=ROOT, env=os.environ | {figures.FILE: str(kept)}, check=True
        )
        found = tuple(figures.read(kept))
    if not found:
        raise ValueError(f"{shown} kept no figure")
    revision = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return page.Run(name, shown, at, revision.stdout.strip(), time.monotonic() - began, load, found)


def joined(before: page.Report, runs: Sequence[page.Run]) -> page.Report:
    """The report with the newest run of each command."""
    return replace(before, runs=tuple({one.command: one for one in (*before.runs, *runs)}.values()))


def main() -> None:
    """Runs, and writes both files after each benchmark, so that what was measured is not lost."""
    options_of = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options_of.add_argument("--quick", action="store_true", help="one short round of everything")
    options_of.add_argument("--only", nargs="*", choices=[*BENCHES], help="these benchmarks alone")
    options_of.add_argument("--json", type=Path, default=FIGURES, help="the figures, read before and written after")
    options_of.add_argument("--html", type=Path, default=Path("figures.html"), help="the page [figures.html]")
    options_of.add_argument("--folder", type=Path, default=Path(), help="where data lie, on a real disk [.]")
    options_of.add_argument("--keep", type=Path, help="where bench_scale keeps what it seeded")
    options = options_of.parse_args()
    options.folder = options.folder.resolve()
    facts = machine(options.folder)
    report = replace(page.load(options.json), machine=facts) if options.json.exists() else page.Report(facts)
    failed = []
    for name, command in commands(list(BENCHES) if options.only is None else options.only, options):
        shown = " ".join(["python -m", *(part for part in command if not part.startswith("/"))])
        shown = shown.replace(" --folder", "").replace(" --keep", "")
        print(f"== {shown}", flush=True)
        try:
            report = joined(report, [run(name, command, shown)])
        except (subprocess.CalledProcessError, ValueError) as error:
            failed.append(f"{shown}: {error}")
            continue
        options.json.write_text(json.dumps(asdict(report), indent=1, sort_keys=True) + "\n", encoding="utf-8")
        options.html.write_text(page.whole(report), encoding="utf-8")
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
