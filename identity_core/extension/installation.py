"""Checks of an installation while no service is open."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct

from identity_codec.values import value_class
from identity_core.settings import Settings, StartError

SHOWN: Final = 5


@value_class
class Diagnosis:
    """The result for one thing. ``remedy`` says what to do unless it is ok."""

    state: Literal["ok", "warn", "fail"]
    says: str
    remedy: str = ""


ok = functools.partial(Diagnosis, "ok")
warn = functools.partial(Diagnosis, "warn")
wrong = functools.partial(Diagnosis, "fail")


def stopped(error: StartError, remedy: str) -> Diagnosis:
    """Return the diagnosis of an error that stops every start. ``remedy`` is for one that has none."""
    says = f"{error.what} It is in: {error.where}" if error.where else error.what
    return wrong(" ".join(says.split()), error.fix or remedy)


def listed(found: Sequence[str]) -> str:
    """Return the first of them in one line, and how many more there are."""
    more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return "; ".join(found[:SHOWN]) + more


class InstallationCheck(Struct, frozen=True):
    """A check of ``identity doctor``.

    ``run`` yields the diagnoses of the installation that the settings name, and changes nothing. A ``StartError`` that it raises is a
    diagnosis, with ``remedy`` if the error has none.
    """

    name: str
    run: Callable[[Settings], Iterable[Diagnosis]]
    remedy: str = ""


class RowRule(Struct, frozen=True):
    """A rule of ``identity fsck``.

    ``rows`` is SQL of both dialects: it selects the names of the rows that break the rule. ``says`` is what is wrong with each of them.
    ``remedy`` is for a ``kind`` that the examination does not have itself.
    """

    kind: str
    rows: str
    says: str
    remedy: str = ""
