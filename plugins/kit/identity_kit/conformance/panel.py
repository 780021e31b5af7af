"""The promises of a panel on the operator's pages, as tests (``ports/panel.py``).

An author subclasses ``PanelConformance`` with one fixture::

    class TestMyPanel(PanelConformance):
        @pytest.fixture
        def panel(self): return MyPanel()
"""

from __future__ import annotations

import asyncio

from identity_core.ports.panel import MOST_CHARACTERS, MOST_COLUMNS, MOST_ROWS, OperatorPanel, PanelTable
from identity_kit.conformance.loops import own_loop_per_test


@own_loop_per_test
class PanelConformance:
    """The promises of every panel: short text in rows of one length, at each call."""

    def test_it_has_a_title(self, panel: OperatorPanel) -> None:
        """``title`` is a text that is not empty, not too long, and stays the same."""
        assert isinstance(panel.title, str), "the title is not text"
        assert 0 < len(panel.title.strip()) <= MOST_CHARACTERS, "the title is empty or too long"
        assert panel.title == panel.title, "the title changes"

    async def test_its_table_is_text_in_rows_of_one_length(self, panel: OperatorPanel) -> None:
        """``table`` gives a ``PanelTable``: text in every cell, as many cells a row as there are columns."""
        self._check(await panel.table())

    async def test_it_can_be_asked_by_many_at_once(self, panel: OperatorPanel) -> None:
        """Several operators look at the same moment."""
        for table in await asyncio.gather(*(panel.table() for _ in range(16))):
            self._check(table)

    def _check(self, table: PanelTable) -> None:
        assert isinstance(table, PanelTable), "it is not a PanelTable"
        assert len(table.columns) <= MOST_COLUMNS, "there are more columns than a page shows"
        assert len(table.rows) <= MOST_ROWS, "there are more rows than a page shows"
        assert {len(row) for row in table.rows} <= {len(table.columns)}, "a row has more or fewer cells than columns"
        texts = [table.text, *table.columns, *(cell for row in table.rows for cell in row)]
        assert all(isinstance(text, str) for text in texts), "something is not text"
        assert max(map(len, texts)) <= MOST_CHARACTERS, "a text is longer than a page shows"
