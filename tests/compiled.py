"""Compiles what a run of tests imports, before its processes begin: each of them would do all of it, in the same moment.

pytest compiles modules of tests in a form of its own when it collects them, so that each half of what is given is collected by a process.

    python -m tests.compiled WHERE-TESTS-ARE
"""

from __future__ import annotations

import compileall
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = ("features", "identity_core", "openapi", "tests", "tools")
COLLECT = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider"]


def main(places: list[str]) -> None:
    """What is wrong is told by the run."""
    for folder in (*map(Path, HERE), *Path(sysconfig.get_path("purelib")).glob("identity_*")):
        compileall.compile_dir(folder, quiet=2, workers=2)
    halves = [half for half in (places[::2], places[1::2]) if half]
    collecting = [subprocess.Popen([*COLLECT, *half], stdout=subprocess.DEVNULL) for half in halves]
    for process in collecting:
        process.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
