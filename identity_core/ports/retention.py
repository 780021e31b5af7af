"""Retention and erasure of records about people: by age, or on request of their holder."""

from __future__ import annotations

from typing import Final, Protocol

from msgspec import Struct

ERASED_HOLDER: Final = "did:erased:holder"
"""The value that replaces the holder of an erased credential: its row keeps the issuer's place in the status list."""


class RetentionRule(Struct, frozen=True):
    """The retention of the records about people in one table of the store. The texts are SQL of both dialects.

    ``kind``: the name of the table, and of the setting ``retention.<kind>_days``. The table has the column ``id``.
    ``expired``: condition and order of the rows past their time: ``:until`` in microseconds, ``:before`` the first id of that time.
    ``undecided``: the number of reasons why a row cannot be erased yet. Such a row is in no step, and is counted as waiting.
    ``forget``: the statement for a row past its time. ``erase``: the statement for a row whose holder requests it. Both have no
    condition and default to a deletion; ``:nothing`` is empty.
    ``dependent``: a statement that runs for the ``:id`` of each of them.
    ``columns``: the columns that may be shown, separated by spaces.
    ``roles``: the columns with the DIDs that a row is about; the first is that of the holder.
    """

    kind: str
    expired: str
    columns: str
    roles: tuple[str, ...]
    undecided: str = ""
    forget: str = ""
    erase: str = ""
    dependent: str = ""


class RecordErasure(Protocol):
    """The service of the module that erases records. Without it, no record is erased by age."""
