"""Loading of plugins: find, import, register with pluggy, find misspelt hooks, call each hook for its provider.

Plugins come from entry points of installed distributions, from modules that the settings name, and in a test from
objects. An error that the core can detect (an unknown hook, an unknown argument of a hook, two providers of one name)
stops the startup. An error in the plugin's own code (its import or its hook raises) makes it a failed plugin, which
matters only if a chosen plugin depends on it.
"""

from __future__ import annotations

import dataclasses
import importlib
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from datetime import datetime
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pluggy
from msgspec import Struct, field

from identity_core.plugin import sockets
from identity_core.plugin.sockets import BEARER_HOOK, EXTEND_HOOK, PROVIDE_HOOKS, PluginError, Provider
from identity_core.settings import Settings, SettingsError
from identity_core.settings.sources import did_you_mean
from identity_core.settings.tree import PLUGIN_NAME, Plugins

GROUP = "identity.plugins"


class PluginSource(Struct, frozen=True):
    """A plugin that has not been imported yet.

    ``name``: its entry point's. ``load``: returns the module or object with the hooks.
    ``reference``: its address for another process (``module`` or ``module:attribute``); empty if it exists in this
    process only.
    """

    name: str
    distribution: str
    version: str
    load: Callable[[], object]
    reference: str = ""

    def __str__(self) -> str:
        return f"plugin {self.name} ({self.distribution} {self.version})".replace(" )", ")")

    def error(self, reason: str, where: str = "", fix: str = "") -> PluginError:
        """Return the error that stops the startup, in one line, with the place and remedy that the plugin named."""
        return PluginError(f"{self}: {one_line(reason)}", where, fix)


def installed_sources() -> list[PluginSource]:
    """Return every entry point of the group, by name. Nothing is imported."""
    found: dict[tuple[str, str], PluginSource] = {}
    for entry in entry_points(group=GROUP):
        distribution = entry.dist
        name, version = (distribution.name, distribution.version) if distribution is not None else ("unknown", "")
        # Without its distribution, so that it can be sent to a worker process.
        load = EntryPoint(entry.name, entry.value, GROUP).load
        # A distribution that is found twice on the path (an editable install beside its source) is one plugin.
        found.setdefault((entry.name, name), PluginSource(entry.name, name, version, load, entry.value))
    return [found[key] for key in sorted(found)]


def module_source(name: str) -> PluginSource:
    """Return the source of a module that the setting ``plugins.modules`` names: a plugin in development, without a
    distribution."""
    return PluginSource(name, "setting plugins.modules", "", partial(importlib.import_module, name), name)


class ImportFailed(Exception):
    """The plugin could not be imported; the text has the reason."""


def load_within(source: PluginSource, seconds: float) -> object:
    """Return the plugin, imported on a thread, so that an import that hangs does not stop the startup.

    Raises ``ImportFailed``: when the import raises or takes longer than ``seconds``.
    """
    plugin: Future[object] = Future()

    def work() -> None:
        try:
            plugin.set_result(source.load())
        except BaseException as error:  # noqa: BLE001  (the plugin border; SystemExit in an import is a failure too)
            plugin.set_exception(error)

    threading.Thread(target=work, name=f"import-{source.name}", daemon=True).start()
    try:
        failure = plugin.exception(seconds)
    except TimeoutError:
        raise ImportFailed(f"import took longer than {seconds:g} s") from None
    if isinstance(failure, ModuleNotFoundError) and failure.name:
        fix = f"install its distribution, or name {source.name} in plugins.disabled"
        missing = f"it requires the module {failure.name.partition('.')[0]}, which is not installed"
        raise ImportFailed(f"{missing}; {fix}") from failure
    if failure is not None:
        raise ImportFailed(f"import failed: {described(failure)}") from failure
    return plugin.result()


def described(error: BaseException) -> str:
    """Return an exception in one line for the operator. It includes the reason of an error that clients see without
    details."""
    text = str(getattr(error, "reason", error))
    return one_line(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def one_line(text: str, most: int = 300) -> str:
    """Return ``text`` without line breaks, in characters that UTF-8 can encode, at most ``most`` of them."""
    line = " ".join(text.encode(errors="replace").decode().split())
    return line if len(line) <= most else line[: most - 1] + "…"


class Offer(Struct, frozen=True):
    """The provider that one hook implementation returns."""

    hook: str
    provider: Provider[Any]
    source: PluginSource


class BearerOffer(Struct, frozen=True):
    """An implementation of ``identity_verify_bearer``. It may take fewer arguments than the hook has."""

    function: Callable[..., Any]
    arguments: tuple[str, ...]
    source: PluginSource

    def verify(self, token: str, now: datetime) -> Any:
        """Return the result of the implementation, called with the arguments that it takes."""
        given = {"token": token, "now": now}
        return self.function(*[given[argument] for argument in self.arguments])


class Collection(Struct):
    """All results of loading. ``extensions`` are as the hook returned them, unchecked. ``failed`` has plugins with
    the hook that failed (or ``-``) and the reason."""

    offers: list[Offer] = field(default_factory=list)
    bearers: list[BearerOffer] = field(default_factory=list)
    extensions: list[tuple[PluginSource, object]] = field(default_factory=list)
    disabled: list[PluginSource] = field(default_factory=list)
    failed: list[tuple[PluginSource, str, str]] = field(default_factory=list)


def collect(sources: Iterable[PluginSource], settings: Settings) -> Collection:
    """Load the plugins that are not disabled.

    Raises ``PluginError``: when the core detects an error of a plugin; ``SettingsError``: for an unknown name in
    ``plugins.disabled``.
    """
    sources = list(sources)
    _refuse_unknown_names(sources, settings)
    plugins = settings.plugins
    collection = Collection()
    manager = pluggy.PluginManager("identity")
    manager.add_hookspecs(sockets)
    registered: dict[str, PluginSource] = {}
    for source in sources:
        if source.name in plugins.disabled or source.distribution in plugins.disabled:
            collection.disabled.append(source)
        elif source.name in registered:
            raise source.error(f"has the entry point name of {registered[source.name]}; disable one distribution")
        elif _register(manager, source, plugins.import_seconds, collection):
            registered[source.name] = source
    _refuse_misspelt(manager, registered)
    for hook in (*PROVIDE_HOOKS, EXTEND_HOOK):
        for implementation in _implementations(manager, hook):
            _take_offer(collection, hook, implementation, registered[implementation.plugin_name])
    for one in _implementations(manager, BEARER_HOOK):
        collection.bearers.append(BearerOffer(one.function, tuple(one.argnames), registered[one.plugin_name]))
    _refuse_duplicates(collection.offers)
    return collection


def _refuse_unknown_names(sources: Sequence[PluginSource], settings: Settings) -> None:
    known = {source.name for source in sources} | {source.distribution for source in sources}
    key = "plugins.disabled"
    for name in settings.plugins.disabled:
        if name not in known:
            what = f"{key} names {name}, but no such plugin is installed."
            raise SettingsError(what, f"{settings.origin(key)} ({key})", did_you_mean(name, known, "Remove the name."))


def _register(
    manager: pluggy.PluginManager, source: PluginSource, import_seconds: float, collection: Collection
) -> bool:
    try:
        plugin = load_within(source, import_seconds)
    except ImportFailed as error:
        collection.failed.append((source, "-", str(error)))
        return False
    try:
        manager.register(plugin, name=source.name)
    except pluggy.PluginValidationError as error:
        raise source.error(_argument_fault(str(error))) from error
    except Exception as error:  # noqa: BLE001  (the plugin border: looking at a plugin's attributes runs its code)
        collection.failed.append((source, "-", f"could not be read: {described(error)}"))
        return False
    if not manager.get_hookcallers(plugin):
        raise source.error("implements no hook; is @hookimpl missing?")
    return True


def _argument_fault(text: str) -> str:
    hook = re.search(r"for hook '?(\w+)", text)
    arguments = re.search(r"Argument\(s\) \{(.*?)\}", text)
    return f"its {hook[1]} takes {arguments[1]}, which the hook does not have" if hook and arguments else text


def _refuse_misspelt(manager: pluggy.PluginManager, registered: dict[str, PluginSource]) -> None:
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        name = manager.get_name(error.plugin)
        hook = re.search(r"unknown hook '(\w+)'", str(error))
        if name is None or hook is None:
            raise
        known = [*PROVIDE_HOOKS, BEARER_HOOK, EXTEND_HOOK]
        raise registered[name].error(f"there is no hook {hook[1]}. {did_you_mean(hook[1], known, '')}") from error


def _implementations(manager: pluggy.PluginManager, hook: str) -> list[pluggy.HookImpl]:
    # Sorted, because the order of registration must have no effect.
    return sorted(getattr(manager.hook, hook).get_hookimpls(), key=lambda implementation: implementation.plugin_name)


def _take_offer(collection: Collection, hook: str, implementation: pluggy.HookImpl, source: PluginSource) -> None:
    try:
        provided: Any = implementation.function()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  (the plugin border)
        collection.failed.append((source, hook, f"{hook} raised {described(error)}"))
        return
    if hook == EXTEND_HOOK:
        collection.extensions.append((source, provided))
    elif (fault := _fault_of(provided)) is None:
        collection.offers.append(Offer(hook, provided, source))
    else:
        collection.failed.append((source, hook, f"{hook} {fault}"))


def _fault_of(provided: object) -> str | None:
    if not isinstance(provided, Provider):
        return f"returned a {type(provided).__name__}, not a Provider"
    if not isinstance(provided.name, str) or re.fullmatch(PLUGIN_NAME, provided.name, re.ASCII) is None:
        return f"returned a Provider whose name is not of the form {PLUGIN_NAME}"
    if provided.name in {one.name for one in dataclasses.fields(Plugins)}:
        return f"returned a Provider with the reserved name {provided.name}"
    if not (isinstance(provided.settings, type) and dataclasses.is_dataclass(provided.settings)):
        return "returned a Provider whose settings are not a dataclass"
    return None if callable(provided.build) else "returned a Provider whose build cannot be called"


def _refuse_duplicates(offers: Iterable[Offer]) -> None:
    seen: dict[tuple[str, str], Offer] = {}
    for offer in offers:
        first = seen.setdefault((offer.hook, offer.provider.name), offer)
        if first is not offer:
            kind = PROVIDE_HOOKS[offer.hook]
            raise offer.source.error(
                f"provides the {kind} {offer.provider.name}, and so does {first.source}; disable one of them"
            )
