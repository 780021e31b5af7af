"""The socket for panels on the operator's pages. A panel supplies text and no markup, so its content can neither run in the page nor
act in the operator's session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, runtime_checkable

from msgspec import Struct

MOST_COLUMNS: Final = 12
MOST_ROWS: Final = 100
MOST_CHARACTERS: Final = 300
"""The limit of a title, a text, a heading or a cell."""


class PanelTable(Struct, frozen=True):
    """The current content of a panel: a sentence, and rows of as many cells as there are columns. All of it is text. A
    page leaves out columns and rows beyond ``MOST_COLUMNS`` and ``MOST_ROWS``, and cuts what is longer than
    ``MOST_CHARACTERS``."""

    text: str
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


@runtime_checkable
class OperatorPanel(Protocol):
    """A panel that shows an operator information from outside of the core."""

    @property
    def title(self) -> str:
        """The heading of the panel."""

    async def table(self) -> PanelTable:
        """Return the current content; called each time that an operator opens the page. It must not contain a person's
        attributes or a secret: every holder of an administrator's key sees it."""
