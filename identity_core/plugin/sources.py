"""Where plugins come from: entry points of installed distributions, modules that the settings name, objects in a
test."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points

from identity_core.plugin.errors import PluginError

GROUP = "identity.plugins"


@dataclass(frozen=True, slots=True)
class PluginSource:
    """A plugin that has not been imported yet. ``name`` is its entry point's, ``load`` returns the module or object
    with the hooks. ``reference`` is where another process finds it (``module`` or ``module:attribute``); empty for what lives
    in this one only."""

    name: str
    distribution: str
    version: str
    load: Callable[[], object]
    reference: str = ""

    def __str__(self) -> str:
        return f"plugin {self.name} ({self.distribution} {self.version})".replace(" )", ")")

    def error(self, reason: str) -> PluginError:
        """The one line that stops the start-up."""
        return PluginError(f"{self}: {one_line(reason)}")


def installed_sources() -> list[PluginSource]:
    """Every entry point of the group, by name. Nothing is imported."""
    found: dict[tuple[str, str], PluginSource] = {}
    for entry in entry_points(group=GROUP):
        distribution = entry.dist
        name, version = (distribution.name, distribution.version) if distribution is not None else ("unknown", "")
        # A distribution that is found twice on the path (an editable install beside its source) is one plugin.
        found.setdefault((entry.name, name), PluginSource(entry.name, name, version, entry.load, entry.value))
    return [found[key] for key in sorted(found)]


def module_source(name: str) -> PluginSource:
    """A module that the setting ``plugins.modules`` names: a plugin in the making, without a distribution."""
    import importlib

    return PluginSource(name, "setting plugins.modules", "", lambda: importlib.import_module(name), name)


class ImportFailed(Exception):
    """The plugin could not be imported; the text says why."""


def load_within(source: PluginSource, seconds: float) -> object:
    """The plugin, imported on a thread, so that an import that hangs stops itself and not the start-up. Raises
    ``ImportFailed``."""
    outcome: list[object] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(source.load())
        except BaseException as error:  # noqa: BLE001  (the plugin border; SystemExit in an import is a failure too)
            failure.append(error)

    thread = threading.Thread(target=work, name=f"import-{source.name}", daemon=True)
    thread.start()
    thread.join(seconds)
    if outcome:
        return outcome[0]
    if failure:
        raise ImportFailed(f"import failed: {described(failure[0])}") from failure[0]
    raise ImportFailed(f"import took longer than {seconds:g} s")


def described(error: BaseException) -> str:
    """An exception in one line, for the operator: what a client would see of a database says too little."""
    text = str(getattr(error, "reason", error))
    return one_line(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def one_line(text: str) -> str:
    """``text`` without line breaks, at most 300 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:299] + "…"
