"""Panels that would break out of their place on an operator's page: markup, markup that says it is safe, lone surrogates, too much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from identity_core.plugin import BuildContext, NoSettings, Provider, hookimpl
from identity_core.ports.panel import OperatorPanel, PanelTable

MARKUP = (
    '<img src=x onerror="document.title=1"><script>document.title=2</script><b hx-get="/ui" hx-trigger="load">x</b>'
)


class StubbornMarkup(Markup):
    """Markup that stays markup when it is made a string."""

    def __str__(self) -> str:
        return self


@dataclass(frozen=True)
class HostilePanel:
    title: str
    text: str
    rows: Sequence[Sequence[str]]

    async def table(self) -> PanelTable:
        return PanelTable(self.text, (MARKUP, Markup(MARKUP)), self.rows)


class FailingPanel:
    """Raises what no port promises, with a secret in its text."""

    @property
    def title(self) -> str:
        return "failing"

    async def table(self) -> PanelTable:
        raise RuntimeError(f"postgresql://admin:hunter2@db {MARKUP}")


class LyingPanel(FailingPanel):
    async def table(self) -> PanelTable:
        return PanelTable("text", ("one",), [[b"bytes"]])  # type: ignore[list-item]


def hostile(settings: NoSettings, context: BuildContext) -> OperatorPanel:
    stubborn = StubbornMarkup(MARKUP)
    rows = [[MARKUP, stubborn], ["a lone \ud800 surrogate", "\u202ereversed"], ["short"], *([["x" * 5_000, "y"]] * 200)]
    return HostilePanel(stubborn, stubborn, rows)


class Hostile:
    @hookimpl
    def identity_provide_panel(self) -> Provider[OperatorPanel]:
        return Provider("hostile", hostile)


class Failing:
    @hookimpl
    def identity_provide_panel(self) -> Provider[OperatorPanel]:
        return Provider("failing", lambda settings, context: FailingPanel())


class Lying:
    @hookimpl
    def identity_provide_panel(self) -> Provider[OperatorPanel]:
        return Provider("lying", lambda settings, context: LyingPanel())


@hookimpl
def identity_provide_panel() -> Provider[OperatorPanel]:
    """The one that a server of the tests loads."""
    return Provider("hostile", hostile)
