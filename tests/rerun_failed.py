"""Runs pytest with what it is given. Where no more than a few tests fail, those are run once more, by themselves: one that passes then
depends on its neighbours or on luck, which is a defect of its own, and is named at the end.

    python -m tests.rerun_failed ARGUMENTS-OF-PYTEST
"""

from __future__ import annotations

import subprocess
import sys

import pytest

MOST = 3


class Failures:
    """The tests that failed, in this process or in a worker of it."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.found[report.nodeid] = None


def main(arguments: list[str]) -> int:
    """The exit status of pytest."""
    failures = Failures()
    status = pytest.main(arguments, plugins=[failures])
    failed = list(failures.found)
    if status != pytest.ExitCode.TESTS_FAILED or not 0 < len(failed) <= MOST:
        return status
    print(f"\nonce more, by themselves: {', '.join(failed)}", flush=True)
    again = subprocess.run([sys.executable, "-m", "pytest", "-q", *failed], check=False).returncode
    if again == 0:
        print(f"UNSTABLE, to be mended: {', '.join(failed)}", flush=True)
    return again


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
