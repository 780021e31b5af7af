"""Panels behind the border: whatever a plugin says is text, and one that fails costs its own place on the page."""

from __future__ import annotations

import asyncio
import logging

import pytest
from identity_ui.panels import ShownPanel, shown_panels

from identity_core.plugin import Provider, hookimpl
from identity_core.plugin.border import guard
from identity_core.plugin.sockets import PANEL
from identity_core.ports.panel import MOST_CHARACTERS, MOST_ROWS, PanelTable
from tests.ui.hostile_panels import MARKUP, Failing, FailingPanel, Hostile, Lying
from tests.unit.plugin.parts import bulkhead, manager, source


class HangingPanel(FailingPanel):
    async def table(self) -> PanelTable:
        await asyncio.Event().wait()
        raise AssertionError


def panels_of(*plugins: object) -> dict[str, ShownPanel]:
    sources = [source(f"panel{number}", plugin) for number, plugin in enumerate(plugins)]
    panels = manager(*sources).panels()
    return dict(zip(sorted(panels), asyncio.run(shown_panels(panels)), strict=True))


def test_markup_is_text_even_where_it_says_that_it_is_safe() -> None:
    panel = panels_of(Hostile())["hostile"]
    texts = [panel.title, panel.text, *panel.columns, *(cell for row in panel.rows for cell in row)]
    assert {type(text) for text in texts} == {str}
    assert (panel.title, panel.text, panel.columns) == (MARKUP, MARKUP, [MARKUP, MARKUP])
    assert panel.rows[:3] == [[MARKUP, MARKUP], ["a lone ? surrogate", "\u202ereversed"], ["short", ""]]


def test_too_much_is_cut_and_that_is_said() -> None:
    panel = panels_of(Hostile())["hostile"]
    assert len(panel.rows) == MOST_ROWS
    assert max(len(cell) for row in panel.rows for cell in row) == MOST_CHARACTERS + 1
    assert panel.cut


def test_one_that_raises_or_lies_costs_its_own_place(caplog: pytest.LogCaptureFixture) -> None:
    found = panels_of(Hostile(), Failing(), Lying())
    assert {name: panel.refusal and panel.refusal.code for name, panel in found.items()} == {
        "hostile": None,
        "failing": "PLUGIN_UNAVAILABLE",
        "lying": "PLUGIN_UNAVAILABLE",
    }
    assert found["failing"].rows == ()
    # What a plugin raises may hold a secret.
    assert "hunter2" not in caplog.text


def test_one_that_hangs_is_given_up() -> None:
    with_deadline = guard(HangingPanel(), PANEL.port, bulkhead(PANEL))
    (panel,) = asyncio.run(shown_panels({"slow": with_deadline}))
    assert panel.refusal is not None
    assert panel.refusal.code == "PLUGIN_TIMEOUT"


def test_one_that_cannot_be_built_is_listed_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Unbuildable:
        @hookimpl
        def identity_provide_panel(self) -> Provider[object]:
            return Provider("broken", lambda settings, context: object())

    plugins = manager(source("panel", Unbuildable()))
    with caplog.at_level(logging.ERROR):
        assert plugins.panels() == {}
    assert [(row.name, row.state) for row in plugins.installed()] == [("broken", "failed")]
