"""Checks of an installation while no service is open, and the state of an open one that no operation returns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from identity_core.plugin.choose import InstalledPlugin
from identity_core.ports.panel import OperatorPanel
from identity_core.settings import Settings, ShownSetting, StartError
from identity_core.values import value_class

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


@value_class
class InstallationState:
    """Functions that return the state now, and the panels of plugins by name.

    ``reasons``: name of a dependency of ``/ready`` to the reason why it is unhealthy, for those whose job has found one. ``witnesses``:
    name of a witness to the reason why it does not cosign, empty if it does, and the size of the log that it cosigned last.
    """

    plugins: Callable[[], Sequence[InstalledPlugin]]
    settings: Callable[[], Sequence[ShownSetting]]
    reasons: Callable[[], Mapping[str, str]]
    witnesses: Callable[[], Mapping[str, tuple[str, int]]]
    panels: Mapping[str, OperatorPanel]
