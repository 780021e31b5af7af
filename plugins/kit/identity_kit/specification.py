"""The command ``identity conformance``: run the stories of the specification against any service.

They are in ``tests/specification``, with a client that uses no code of the service. The tests of this repository run the same stories.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import pytest
from identity_commands.remote import api_key_option, require_address

from identity_core.cli.output import Command, fail, show

if TYPE_CHECKING:
    from identity_kit.tests.specification.plain_client import PlainClient

_FOLDER: Final = Path(__file__).parent / "tests" / "specification"
_PLUGINS: Final = (
    "pytest_bdd.plugin",
    *(f"{__package__}.tests.specification.{name}" for name in ("dids", "proofs", "results", "story")),
)
_MOST_CHARACTERS: Final = 500


@dataclass
class Run:
    """A plugin of pytest that names the services of a run, and records outcomes in ``stories``."""

    url: str
    api_key: str
    unanchored: str | None
    stories: list[dict[str, str]] = field(default_factory=list)

    @pytest.fixture
    def plain_client(self) -> Iterator[PlainClient]:
        """Provide a client of the service."""
        yield from _connected(self.url, self.api_key)

    @pytest.fixture
    def unanchored_client(self) -> Iterator[PlainClient]:
        """Provide a client of the service without anchoring."""
        if self.unanchored is None:
            pytest.skip("needs --without-anchoring URL")
        yield from _connected(self.unanchored, self.api_key)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the outcome of a story. Its setup and its end count if they did not pass."""
        if report.when == "call" or not report.passed:
            longrepr: Any = report.longrepr
            reason = longrepr[2] if report.skipped else longrepr.reprcrash.message if report.failed else ""
            name = report.nodeid.rpartition("::")[2].removeprefix("test_")
            self.stories.append({"story": name, "outcome": report.outcome, "reason": reason[:_MOST_CHARACTERS]})

    def count(self, outcome: str) -> int:
        """Return the number of stories with an outcome."""
        return sum(story["outcome"] == outcome for story in self.stories)


def _connected(url: str, api_key: str) -> Iterator[PlainClient]:
    from identity_kit.tests.specification.story import connect

    client = connect(url, api_key)
    yield client
    client.http.close()


@click.command(name="conformance", cls=Command)
@click.argument("url")
@api_key_option
@click.option(
    "--without-anchoring",
    "unanchored",
    metavar="URL",
    help="URL of a service with the same API key and without anchoring. Without it one scenario is skipped.",
)
def command(url: str, api_key: str | None, unanchored: str | None) -> None:
    """Run the scenarios of the specification against the service at URL. They create DIDs, credentials and an API key
    there.
    """
    for each in filter(None, (url, unanchored)):
        require_address(each)
    if api_key is None:
        fail("an API key is missing", url, "give --api-key FILE with the key of an administrator", status=2)
    run = Run(url, api_key, unanchored)
    options = [
        "-c",
        str(_FOLDER / "pytest.ini"),
        "-p",
        "no:cacheprovider",
        "-p",
        "no:terminal",
        "--disable-plugin-autoload",
    ]
    for plugin in _PLUGINS:
        options += ["-p", plugin]
    ended = pytest.main([*options, str(_FOLDER / "stories.py")], plugins=[run])
    if not run.stories:
        fail(f"no story ran: {ended!r}", str(_FOLDER), "install identity-kit again")
    outcomes = {outcome: run.count(outcome) for outcome in ("passed", "failed", "skipped")}
    show({"url": url, **outcomes, "stories": run.stories}, text=lambda _: _text(run, outcomes))
    if run.count("failed"):
        sys.exit(1)


def _text(run: Run, outcomes: dict[str, int]) -> str:
    """Return a line for each story that did not pass, and the numbers."""
    lines = [
        f"{story['outcome']}: {story['story']}\n  {story['reason'].splitlines()[0] if story['reason'] else '-'}"
        for story in run.stories
        if story["outcome"] != "passed"
    ]
    numbers = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
    return "\n".join([*lines, f"{len(run.stories)} stories: {numbers}"])
