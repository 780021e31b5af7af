"""What took how long on the way to the first proof, printed at the end of the run."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in terminalreporter.getreports("passed"):
        if report.user_properties and "tests/tutorial/" in report.nodeid:
            terminalreporter.section("from git clone to a proof seen in the browser")
            for what, seconds in report.user_properties:
                terminalreporter.write_line(f"{seconds:>8}  {what}")
