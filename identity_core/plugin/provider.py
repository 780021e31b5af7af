"""The interface between a hook and the service: providers, the context of their construction, and the errors of both.
in one line that names the plugin, its distribution and version."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pluggy

from identity_codec.values import value_class
from identity_core.ports.clock import Clock
from identity_core.settings import StartError

if TYPE_CHECKING:
    from identity_core.database import Database

hookimpl = pluggy.HookimplMarker("identity")

T = TypeVar("T")


class PluginError(StartError):
    """A plugin that the start-up cannot go on with. ``build`` raises it with a reason for the operator, such as a wrong
    passphrase; the manager adds whose it is."""


class NotConfigured(PluginError):
    """A plugin that is installed and waits for settings that no one can guess. Unless something chosen needs it, that is no fault:
    it is listed with what to set."""


@value_class
class NoSettings:
    """For a plugin that has nothing to set."""


@value_class
class BuildContext:
    """All that a plugin gets from the core: no container, no global.

    ``data_dir`` is the directory for files (name yours after the plugin), ``database_url`` the server database that the
    operator named, or None for the embedded default; always None in a prover's worker process, because it may hold a password.
    ``workers`` is how many server processes build the same thing. ``read_only`` is set when the installation is only looked at
    (`identity doctor`): then nothing may be made or changed, neither file nor row, and what is not there yet is ``DatabaseAbsent``. It
    is set for providers that say ``looks``, and no others. ``public_url`` is the origin that callers see, where one is set or served;
    None in a prover's worker process. ``mapped_mebibytes`` is how much of an SQLite file a connection may map into
    memory. ``database`` is the store's own on ``database_url``, for a ledger that appends in the same transactions; the store closes it.
    ``database_readers`` is how many connections for reading a database on ``database_url`` may open. Randomness comes from the operating
    system.
    """

    clock: Clock
    logger: logging.Logger
    data_dir: Path
    database_url: str | None
    workers: int = 1
    read_only: bool = False
    public_url: str | None = None
    mapped_mebibytes: int = 0
    database: Database | None = None
    database_readers: int = 3


@value_class
class Provider(Generic[T]):
    """A thing that a plugin provides. ``build(settings, context)`` makes it, once; ``settings`` is a frozen dataclass
    whose fields are the keys of the plugin's own table. If the thing has ``close()``, it is called at shutdown (awaited
    when async). ``looks`` promises that ``build`` obeys ``context.read_only``; without it, a command that only looks at an
    installation builds the thing in a temporary directory instead."""

    name: str
    build: Callable[[Any, BuildContext], T]
    settings: type[Any] = NoSettings
    summary: str = ""
    looks: bool = False
