"""The places of entries in checkpoints that witnesses have cosigned, as the kernel uses them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from identity_codec.values import value_class


@value_class
class LogPlaces:
    """``place`` returns how many entries the earliest cosigned checkpoint has that covers a leaf, by its index, and when a quorum had
    cosigned it. ``size``: how many entries are cosigned. ``note``: the newest cosigned checkpoint. ``witnesses``: name of a witness to the
    reason why it does not cosign, empty if it does, and the size of the log that it cosigned last. ``fault``: why no witness is fed.

    The one without arguments is that of a service without witnesses: no answer has a ``logPlace``."""

    place: Callable[[int], Awaitable[tuple[int, datetime] | None]] | None = None
    size: Callable[[], int] = lambda: 0
    note: Callable[[], bytes | None] = lambda: None
    witnesses: Callable[[], Mapping[str, tuple[str, int]]] = dict
    fault: Callable[[], str] = str
