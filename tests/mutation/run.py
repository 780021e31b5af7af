"""Mutation testing: `tox -e mutation`. The README beside this file says what it counts."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.machinery
import itertools
import json
import math
import os
import resource
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import hypothesis
import pytest

from tests.mutation.mutants import Mutant, sample

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutation"]
PYTEST = ["-q", "-x", "-pno:cacheprovider", "-ofaulthandler_timeout=0", "--hypothesis-profile=mutation"]


class Chosen:
    """A pytest plugin that runs the chosen tests only, and writes down how long each took."""

    def __init__(self, tests: set[str] | None) -> None:
        self.tests = tests
        self.seconds: Counter[str] = Counter()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if self.tests is None or item.nodeid in self.tests]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration


def in_child(seconds: float, arguments: list[str], chosen: Chosen, mutant: Mutant | None, report: Path) -> int | None:
    """Exit code of pytest in a forked process, in which the mutant stands for its file; None if it took too long."""
    if pid := os.fork():
        return waited(pid, time.monotonic() + seconds)
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    with report.open("w") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    if mutant:
        put_in_place(mutant)
    code = pytest.main([*PYTEST, *arguments], plugins=[chosen])
    report.with_suffix(".json").write_text(json.dumps(chosen.seconds))
    os._exit(code)


def put_in_place(mutant: Mutant) -> None:
    """Whoever imports the mutant's file from here on gets the mutant."""
    loader = importlib.machinery.SourceFileLoader
    original = loader.get_code

    def get_code(self: Any, name: str) -> Any:
        if Path(self.path) == mutant.path:
            return compile(mutant.text, self.path, "exec", dont_inherit=True)
        return original(self, name)

    loader.get_code = get_code  # type: ignore[method-assign]


def waited(pid: int, end: float) -> int | None:
    """Exit code of a process; None, and the process and all that it started are ended, when the time is over."""
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, number)
        time.sleep(5)
    os.waitpid(pid, 0)
    return None


class Tests:
    """Which tests run which lines, and how long they take; from one run of all of them without a mutant."""

    def __init__(self, work: Path) -> None:
        data = work / "coverage"
        if not data.exists():
            os.environ["COVERAGE_FILE"] = str(data)
            recorded = ["--cov-context=test", "--cov-report=", *(f"--cov={folder}" for folder in SETTINGS["sources"])]
            if in_child(3600, [*recorded, *SETTINGS["tests"]], Chosen(None), None, work / "unchanged.txt") != 0:
                raise SystemExit(f"The tests fail without a mutant: see {work / 'unchanged.txt'}")
        self._data = coverage.CoverageData(str(data))
        self._data.read()
        self._seconds: dict[str, float] = json.loads((work / "unchanged.json").read_text())

    def of(self, mutant: Mutant) -> Iterator[set[str]]:
        """The tests that run the function of a mutant; then the others that run any line of its file, and those that only look."""
        lines = self._data.contexts_by_lineno(str(mutant.path))
        functions = [node for node in ast.walk(ast.parse(mutant.source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        spans = [range(node.body[0].lineno, node.end_lineno + 1) for node in functions if node.end_lineno]
        span = min((span for span in spans if mutant.line in span), key=len, default=range(0))
        seen: set[str] = set()
        for numbers, more in ((span, set()), (lines, {test for test in self._seconds if test.startswith(SETTINGS["looking"])})):
            found = {context.split("|")[0] for number in numbers for context in lines.get(number, [])} - {""} | more
            found -= seen
            seen |= found
            if found:
                yield found

    def run(self, mutant: Mutant, report: Path) -> str:
        """What became of a mutant: killed, survived, or timeout (which counts as killed)."""
        for tests in self.of(mutant):
            files = Counter[str]()
            for test in tests:
                files[test.split("::")[0]] += self._seconds.get(test, 0)
            fastest = sorted(files, key=lambda file: files[file])
            code = in_child(20 + 3 * files.total(), fastest, Chosen(tests), mutant, report)
            if code is None:
                return "timeout"
            if code != 0:
                return "killed"
        return "survived"


def equivalent(mutant: Mutant) -> bool:
    """Whether `equivalent.toml` names the mutant: no test can tell it from the original."""
    known = tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text()).get("mutant", [])
    return [mutant.path.relative_to(ROOT).as_posix(), mutant.change] in [[one["file"], one["change"]] for one in known]


def interval(part: int, whole: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, in percent."""
    z, share = 1.96, part / whole
    middle, width = share + z * z / (2 * whole), z * math.sqrt(share * (1 - share) / whole + (z / (2 * whole)) ** 2)
    return tuple(100 * (middle + sign * width) / (1 + z * z / whole) for sign in (-1, 1))


def table(outcomes: dict[str, Counter[str]]) -> float:
    """Prints the figures by folder; answers the percentage of survivors among all that are not equivalent."""
    total = sum(outcomes.values(), Counter())
    for folder, found in [*outcomes.items(), ("all", total)]:
        counted = max(1, found.total() - found["equivalent"])
        low, high = interval(found["survived"], counted)
        told = " ".join(f"{found[name]} {name}," for name in ("killed", "timeout", "survived", "equivalent"))
        print(f"{folder}: {found.total()} mutants, {told} {100 * found['survived'] / counted:.1f} % survived ({low:.1f} to {high:.1f})")
    return 100 * total["survived"] / max(1, total.total() - total["equivalent"])


def main(folders: list[str]) -> None:
    """Tries a seeded sample, prints the survivors as they come and the figures at the end; exit code 1 at the limit."""
    for name in SETTINGS["preload"]:
        importlib.import_module(name)
    hypothesis.settings.register_profile("mutation", deadline=None, database=None, derandomize=True)
    work = Path(os.environ["MUTATION_WORK"])
    work.mkdir(parents=True, exist_ok=True)
    tests = Tests(work)
    rounds, seed = int(os.environ.get("IDENTITY_ROUNDS", SETTINGS["rounds"])), int(os.environ.get("MUTATION_SEED", SETTINGS["seed"]))
    print(f"seed {seed}, {rounds} mutants", flush=True)
    outcomes: dict[str, Counter[str]] = {folder: Counter() for folder in folders}
    for mutant in itertools.islice(sample([ROOT / folder for folder in folders], seed), rounds):
        name = mutant.path.relative_to(ROOT).as_posix()
        outcome = "equivalent" if equivalent(mutant) else tests.run(mutant, work / "mutant.txt")
        outcomes[next(folder for folder in folders if name.startswith(folder))][outcome] += 1
        shown = mutant.change if outcome == "survived" else []
        print(f"{outcome} {name}:{mutant.line}", *shown, sep="\n    ", flush=True)
    sys.exit(table(outcomes) >= SETTINGS["limit"])


if __name__ == "__main__":
    main(sys.argv[1:] or SETTINGS["sources"])
