"""How long records about people are kept, and how they are erased: by age, or because their holder wants it."""

from __future__ import annotations

from typing import Final, Protocol

from identity_codec.values import value_class

ERASED_HOLDER: Final = "did:erased:holder"
"""The value that replaces the holder of an erased credential: its row keeps the issuer's place in the status list."""


@value_class
class RetentionRule:
    """How the records about people in one table of the store are kept. The texts are SQL of both dialects.

    ``kind``: the name of the table, and of the setting ``retention.<kind>_days``. The table has the columns ``id`` and ``holder``.
    ``expired``: condition and order of the rows past their time: ``:until`` in microseconds, ``:before`` the first id of that time.
    ``undecided``: the number of reasons why a row cannot be erased yet; it then is in no step, and is counted as waiting.
    ``forget`` is done to a row past its time, ``erase`` to one whose holder wants it: statements without a condition, by default a
    deletion; ``:nothing`` is empty.
    ``dependent``: a statement that is run for the ``:id`` of each of them.
    ``columns``: what may be shown of a row, separated by spaces. ``roles``: the columns with the DIDs that a row is about.
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
    """The service of the part that erases records. Without it, none is erased by age."""
