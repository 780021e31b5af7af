"""What lists of rows with ascending ids share: the times of a query, and the cursor."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar

from identity_core.api import did_parse, did_render
from identity_core.errors import InvalidRequest

_ID: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)


class Row(Protocol):
    """A row by its id."""

    @property
    def id(self) -> str:
        """32 hexadecimal digits that ascend with time."""
        ...


R = TypeVar("R", bound=Row)


def time_in(query: Mapping[str, Any], name: str) -> datetime | None:
    """The time of a query parameter, or None. Raises ``InvalidRequest``."""
    text = query.get(name)
    return None if text is None else did_parse.time_of(text, name)


def row_cursor(query: Mapping[str, Any]) -> str | None:
    """The id of the last row of the page before. Raises ``InvalidRequest``."""
    text = did_parse.cursor(query.get("cursor"))
    if text is not None and _ID.fullmatch(text) is None:
        raise InvalidRequest("The cursor is not one of ours.", details={"parameter": "cursor"})
    return text


def page_of(rows: Sequence[R], limit: int) -> tuple[Sequence[R], str | None]:
    """The page and its ``nextCursor``, of ``limit`` + 1 rows that were asked for."""
    page = rows[:limit]
    return page, did_render.cursor(page[-1].id) if len(rows) > limit else None
