"""Options and parts of an installation that commands of several distributions share."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from identity_core.cli.options import shown_database
from identity_core.cli.output import fail, fail_start
from identity_core.settings import Settings, StartError

if TYPE_CHECKING:
    from identity_core.plugin.manager import PluginManager

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

NONE = "none"
NAME_A_SOURCE = "name the data directory with --data-dir, or a service with --url"
NAME_IT = (
    "name the directory with --data-dir, or the server with --database-url; before the first start: `identity serve`"
)
FILE_THERE = click.Path(path_type=Path, dir_okay=False, exists=True)


def with_added_options(place: str) -> Callable[[F], F]:
    """Return a decorator with the options that installed distributions add to the command at ``place``, by entry points of the group
    ``identity.options``."""

    def decorate(command: F) -> F:
        from importlib.metadata import entry_points

        for one in entry_points(group="identity.options", name=place):
            # The border of plugins: without its options, the command still works.
            with contextlib.suppress(Exception):
                command = one.load()(command)
        return command

    return decorate


class OrNone(click.ParamType[Any]):
    """A value of another type, or ``none``, which means no limit."""

    name = f"N|{NONE}"

    def __init__(self, kind: click.ParamType[Any]) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == NONE else self._kind.convert(value, param, ctx)


def several(flag: str, words: str, says: str, *, into: str | None = None) -> Callable[[F], F]:
    """Return an option that may be given several times, each time with a value for each of the ``words``."""
    names = [flag] if into is None else [flag, into]
    return click.option(*names, nargs=len(words.split()), multiple=True, metavar=words, help=says)


def all_of(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return several options as one decorator, in their order."""
    return lambda command: functools.reduce(lambda decorated, option: option(decorated), reversed(options), command)


def refuse_absent(settings: Settings, remedy: str = NAME_IT) -> None:
    """End the command with the exit code 2 if its installation is missing. Opening a misspelt name would create a new, empty one."""
    if missing := absence(settings):
        fail(*missing, remedy, status=2)


def absence(settings: Settings) -> tuple[str, str] | None:
    """Return the message and the place if the installation is missing."""
    if settings.database_url is not None:
        is_bare = _is_bare(settings.database_url)
        return ("there is no installation in this database", shown_database(settings)) if is_bare else None
    folder = settings.data_dir.absolute()
    if not folder.is_dir():
        return "there is no such data directory", str(folder)
    return None if any(folder.glob("*.sqlite")) else ("there is no installation in this data directory", str(folder))


def _is_bare(url: str) -> bool:
    """Return whether the server's database never had an installation; False if it is unreachable, which the next
    opening reports."""
    from identity_core.database import DatabaseError, look_at

    with contextlib.ExitStack() as stack, contextlib.suppress(DatabaseError):
        look = look_at(url, Path())
        stack.callback(look.end)
        found = look.read_now(lambda asked: asked.execute("SELECT to_regclass('store_migrations')").fetchone())
        return bool(found[0] is None)
    return False


@contextlib.contextmanager
def opened_part(
    settings: Settings,
    opening: Callable[[Settings], contextlib.AbstractAsyncContextManager[T]],
    *,
    remedy: str = NAME_IT,
    may_begin: bool = False,
) -> Iterator[tuple[asyncio.Runner, T]]:
    """Open a part of the installation, and yield it with the event loop in which it must be used. Only with ``may_begin``
    a missing installation is created, so that a misspelt one is noticed."""
    if not may_begin:
        refuse_absent(settings, remedy)
    try:
        with asyncio.Runner() as runner:
            part = opening(settings)
            opened = runner.run(part.__aenter__())
            try:
                yield runner, opened
            finally:
                runner.run(part.__aexit__(None, None, None))
    except StartError as error:
        fail_start(error, str(settings.data_dir), "put it right and try again")


def installed_plugins(settings: Settings) -> PluginManager:
    """Return the installed plugins, none of them built. Raises ``StartError``: for an error that stops every start,
    such as a misspelt hook."""
    from identity_core.bootstrap import SystemClock
    from identity_core.plugin.manager import PluginManager

    return PluginManager.load(settings, clock=SystemClock(), logger=logging.getLogger("identity"))


def counted(number: int, noun: str) -> str:
    """Return ``1 version`` or ``3 versions``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
