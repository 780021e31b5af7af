"""The panel kit must fail panels that are broken on purpose, each where its fault lies."""

from __future__ import annotations

import pytest
from _pytest.outcomes import Failed
from identity_kit.conformance.panel import PanelConformance

from identity_core.ports.panel import OperatorPanel, PanelTable


class ToyPanel:
    def __init__(self, title: str = "Toys", table: PanelTable | None = None) -> None:
        self.title = title
        self._table = table or PanelTable("All of them.", ("Toy", "Pieces"), [("train", "7"), ("bear", "1")])

    async def table(self) -> PanelTable:
        return self._table


class TestToyPanel(PanelConformance):
    @pytest.fixture
    def panel(self) -> OperatorPanel:
        return ToyPanel()


@pytest.mark.parametrize(
    ("panel", "broken"),
    [
        (ToyPanel(title=""), "test_it_has_a_title"),
        (ToyPanel(title="x" * 301), "test_it_has_a_title"),
        (ToyPanel(table=PanelTable("", ("one",), [("1", "2")])), "test_its_table_is_text_in_rows_of_one_length"),
        (ToyPanel(table=PanelTable("", ("one",), [("1",)] * 101)), "test_its_table_is_text_in_rows_of_one_length"),
        (ToyPanel(table=PanelTable("", ("x",) * 13)), "test_its_table_is_text_in_rows_of_one_length"),
        (ToyPanel(table=PanelTable("x" * 301)), "test_it_can_be_asked_by_many_at_once"),
        (ToyPanel(table=PanelTable("", (7,))), "test_its_table_is_text_in_rows_of_one_length"),  # type: ignore[arg-type]
    ],
)
def test_a_broken_panel_fails(panel: OperatorPanel, broken: str) -> None:
    with pytest.raises((AssertionError, Failed, TypeError)):
        getattr(PanelConformance(), broken)(panel)
