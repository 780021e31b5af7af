"""Runs ``identity`` again and again, each time killed (SIGKILL) before one line of the code that makes or restores backups; between the
runs it says on standard output, as JSON, what was left.

    python -m plugins.operations.tests.killed_at_lines HOW_MANY FOLDER WORD...

``FOLDER`` is removed before each run. Lines are counted by a first run to its end. One process forks for each run, so that nothing is
imported twice.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from identity_commands.options import installed_plugins
from identity_operations.backup import archive, create, restore, snapshot
from identity_transparency import remembered as checkpoint_file

from identity_core import files
from identity_core.cli import main
from identity_core.settings import load
from tests.fault.killed_before_a_line import KilledBeforeALine

TRACED = {module.__file__ for module in (archive, create, restore, snapshot, files, checkpoint_file)}


def run(words: list[str], kill_at: int | None, report: int) -> None:
    """In a child: runs the command; before the line ``kill_at`` it is no more."""
    trace = KilledBeforeALine(TRACED, kill_at)
    sys.settrace(trace)
    try:
        main(words, prog_name="identity")
    except SystemExit as ended:
        sys.settrace(None)
        os.write(report, json.dumps({"status": ended.code, "lines": trace.seen}).encode())
    os._exit(0)


def forked(words: list[str], kill_at: int | None = None) -> dict[str, Any]:
    """Return the output of the run; nothing where it was killed."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        run(words, kill_at, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as report:
        said = report.read()
    os.waitpid(process, 0)
    return dict(json.loads(said)) if said else {}


def list_files(folder: Path) -> dict[str, list[str]]:
    """Return what lies in ``folder`` and its directories."""
    return {
        str(path.relative_to(folder.parent)): sorted(one.name for one in path.iterdir())
        for path in (folder, *folder.iterdir())
        if path.is_dir()
    }


def everything(how_many: int, folder: Path, words: list[str]) -> None:
    # What each run would import is imported once.
    importlib.import_module("identity_operations.commands.backup")
    installed_plugins(load(environment={}))
    folder.mkdir()
    whole = forked(words)
    print(json.dumps({"whole": whole, "left": list_files(folder)}), flush=True)
    lines = whole["lines"]
    # Spread over the whole run, and each of the last, where names are given.
    points = {1 + lines * place // how_many for place in range(how_many)} | set(range(lines - how_many, lines + 1))
    for kill_at in sorted(points):
        shutil.rmtree(folder)
        folder.mkdir()
        killed = forked(words, kill_at)
        left = list_files(folder)
        again = forked(words)
        print(
            json.dumps({"at": kill_at, "killed": killed, "left": left, "again": again, "then": list_files(folder)}),
            flush=True,
        )


if __name__ == "__main__":
    everything(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
