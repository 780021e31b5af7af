"""Mutation testing: `tox -e mutation`. The README beside this file says what is counted, and how."""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import itertools
import json
import os
import resource
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from math import sqrt
from pathlib import Path
from typing import Any

import coverage
import hypothesis
import pytest

from tests.mutation.mutants import Mutant, sample

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutation"]
KNOWN = tomllib.loads(Path(__file__).with_name("equivalent.toml").read_text())["mutant"]
OPTIONS = ["-q", "-x", "-pno:cacheprovider", "-ofaulthandler_timeout=0", "--hypothesis-profile=mutation"]


class Chosen:
    """A pytest plugin that runs the chosen tests only (None: all), and remembers how long each took."""

    def __init__(self, tests: set[str] | None) -> None:
        self.tests = tests
        self.seconds: Counter[str] = Counter()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if self.tests is None or item.nodeid in self.tests]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration


def in_child(seconds: float, arguments: list[str], chosen: Chosen, mutant: Mutant | None, output: Path) -> int | None:
    """Exit code of pytest in a forked process, where the mutant stands for its file; None when it hangs."""
    if pid := os.fork():
        return _waited(pid, time.monotonic() + 10 * seconds)
    os.setsid()
    # By the processor's time, since the machine may be busy with something else; who only waits has the clock's, ten times that.
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 60))
    signal.signal(signal.SIGXCPU, signal.default_int_handler)
    written = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    os.dup2(written, 1)
    os.dup2(written, 2)
    loader = importlib.machinery.SourceFileLoader
    original = loader.get_code

    def get_code(self: Any, name: str) -> Any:
        is_mutant = mutant is not None and Path(self.path) == mutant.path
        return compile(mutant.text, self.path, "exec", dont_inherit=True) if is_mutant else original(self, name)

    loader.get_code = get_code  # type: ignore[method-assign]
    code = pytest.main([*OPTIONS, *arguments], plugins=[chosen])
    output.with_suffix(".json").write_text(json.dumps(chosen.seconds))
    os._exit(code)


def _waited(pid: int, end: float) -> int | None:
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    for number in (signal.SIGINT, signal.SIGKILL):  # the first lets fixtures stop the servers that they have started
        with suppress(ProcessLookupError):
            os.killpg(pid, number)
        time.sleep(5)
    os.waitpid(pid, 0)
    return None


class Tests:
    """Which tests run which lines, and how long they take: from one run of all of them without a mutant."""

    def __init__(self, work: Path) -> None:
        work.mkdir(parents=True, exist_ok=True)
        self._output = work / "mutant.txt"
        data, unchanged = work / "coverage", work / "unchanged.txt"
        if not data.exists():
            os.environ["COVERAGE_FILE"] = str(data)
            recorded = ["--cov-context=test", "--cov-report=", *(f"--cov={folder}" for folder in SETTINGS["sources"])]
            if in_child(7200, [*recorded, *SETTINGS["tests"]], Chosen(None), None, unchanged) != 0:
                raise SystemExit(f"The tests fail without a mutant: see {unchanged}")
        self._data = coverage.CoverageData(str(data))
        self._data.read()
        self._seconds: dict[str, float] = json.loads(unchanged.with_suffix(".json").read_text())

    def select_tests(self, mutant: Mutant) -> Iterator[set[str]]:
        """The tests that run the mutant's function; then the others that run any of its file, and those that only look."""
        lines = self._data.contexts_by_lineno(str(mutant.path))
        defined = (ast.FunctionDef, ast.AsyncFunctionDef)
        nodes = [node for node in ast.walk(ast.parse(mutant.source)) if isinstance(node, defined)]
        spans = [range(node.body[0].lineno, node.body[-1].end_lineno + 1) for node in nodes]
        span = min((span for span in spans if mutant.line in span), key=len, default=range(0))
        inside = {context.split("|")[0] for line in span for context in lines.get(line, [])} - {""}
        yield inside
        looking = {test for test in self._seconds if test.startswith(SETTINGS["looking"])}
        yield ({context.split("|")[0] for contexts in lines.values() for context in contexts} - {""} | looking) - inside

    def outcome(self, mutant: Mutant) -> str:
        """What becomes of a mutant: equivalent, killed, timeout (counts as killed) or survived."""
        if any(one["file"] in str(mutant.path) and one["change"] == mutant.change for one in KNOWN):
            return "equivalent"
        for tests in filter(None, self.select_tests(mutant)):
            files: Counter[str] = Counter()
            for test in tests:
                files[test.split("::")[0]] += self._seconds.get(test, 0)  # type: ignore[assignment]
            code = in_child(20 + 3 * files.total(), sorted(files, key=files.get), Chosen(tests), mutant, self._output)
            if code != 0:
                return "timeout" if code is None else "killed"
        return "survived"


def summary(name: str, found: Counter[str]) -> float:
    """Prints the figures with Wilson's 95 % interval; answers the percentage of survivors among those not equivalent."""
    count, z = max(1, found.total() - found["equivalent"]), 1.96
    share = found["survived"] / count
    middle, width = share + z * z / 2 / count, z * sqrt(share * (1 - share) / count + (z / 2 / count) ** 2)
    low, high = (100 * (middle + sign * width) / (1 + z * z / count) for sign in (-1, 1))
    told = ", ".join(f"{found[kind]} {kind}" for kind in ("killed", "timeout", "survived", "equivalent"))
    print(f"{name}: {found.total()} mutants, {told}; {100 * share:.1f} % survived ({low:.1f} to {high:.1f})")
    return 100 * share


def main(folders: list[str]) -> None:
    """Tries a seeded sample of mutants; exit code 1 when too many survive."""
    for name in SETTINGS["preload"]:
        importlib.import_module(name)
    hypothesis.settings.register_profile("mutation", deadline=None, database=None, derandomize=True)
    tests = Tests(Path(os.environ["MUTATION_WORK"]))
    rounds, seed = (int(os.environ.get(f"IDENTITY_{name.upper()}", SETTINGS[name])) for name in ("rounds", "seed"))
    print(f"seed {seed}, {rounds} mutants", flush=True)
    outcomes: dict[str, Counter[str]] = {folder: Counter() for folder in folders}
    for mutant in itertools.islice(sample([ROOT / folder for folder in folders], seed), rounds):
        name, outcome = mutant.path.relative_to(ROOT).as_posix(), tests.outcome(mutant)
        outcomes[next(folder for folder in folders if name.startswith(folder))][outcome] += 1
        shown = mutant.change if outcome == "survived" else []
        print(f"{outcome} {name}:{mutant.line}", *shown, sep="\n    ", flush=True)
    for folder, found in outcomes.items():
        summary(folder, found)
    sys.exit(summary("all", sum(outcomes.values(), Counter())) >= SETTINGS["limit"])


if __name__ == "__main__":
    main(sys.argv[1:] or SETTINGS["sources"])
