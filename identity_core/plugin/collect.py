"""From sources to offers: import, register with pluggy, find misspelt hooks, ask each hook what it provides.

What the core can see to be wrong (a hook that does not exist, an argument that the hook does not have, two providers of
one name) stops the start-up. What only the plugin's own code gets wrong (its import or its hook raises) makes it a
failed plugin, which matters when something chosen depends on it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pluggy

from identity_core.plugin import hookspecs
from identity_core.plugin.provider import Provider
from identity_core.plugin.sockets import BEARER_HOOK, PROVIDE_HOOKS
from identity_core.plugin.sources import ImportFailed, PluginSource, described, load_within
from identity_core.settings import Settings, SettingsError
from identity_core.settings.sources import did_you_mean
from identity_core.settings.tree import PLUGIN_NAME, Plugins


@dataclass(frozen=True, slots=True)
class Offer:
    """What one hook implementation provides."""

    hook: str
    provider: Provider[Any]
    source: PluginSource


@dataclass(frozen=True, slots=True)
class BearerOffer:
    """An implementation of ``identity_verify_bearer``; it may take fewer arguments than the hook has."""

    function: Callable[..., Any]
    arguments: tuple[str, ...]
    source: PluginSource


@dataclass(slots=True)
class Collection:
    """Everything that was found. ``failed`` holds plugins with the hook that failed (or ``-``) and the reason."""

    offers: list[Offer] = field(default_factory=list)
    bearers: list[BearerOffer] = field(default_factory=list)
    disabled: list[PluginSource] = field(default_factory=list)
    failed: list[tuple[PluginSource, str, str]] = field(default_factory=list)


def collect(sources: Iterable[PluginSource], settings: Settings) -> Collection:
    """Loads what is not disabled. Raises ``PluginError``, and ``SettingsError`` for an unknown name in ``plugins.disabled``."""
    sources = list(sources)
    _refuse_unknown_names(sources, settings)
    plugins = settings.plugins
    collection = Collection()
    manager = pluggy.PluginManager("identity")
    manager.add_hookspecs(hookspecs)
    registered: dict[str, PluginSource] = {}
    for source in sources:
        if source.name in plugins.disabled or source.distribution in plugins.disabled:
            collection.disabled.append(source)
        elif source.name in registered:
            raise source.error(f"has the entry point name of {registered[source.name]}; disable one distribution")
        elif _register(manager, source, plugins.import_seconds, collection):
            registered[source.name] = source
    _refuse_misspelt(manager, registered)
    for hook in PROVIDE_HOOKS:
        for implementation in _implementations(manager, hook):
            _take_offer(collection, hook, implementation, registered[implementation.plugin_name])
    for implementation in _implementations(manager, BEARER_HOOK):
        source = registered[implementation.plugin_name]
        collection.bearers.append(BearerOffer(implementation.function, tuple(implementation.argnames), source))
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
    if hook and arguments:
        return f"its {hook[1]} takes {arguments[1]}, which the hook does not have"
    return text


def _refuse_misspelt(manager: pluggy.PluginManager, registered: dict[str, PluginSource]) -> None:
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        name = manager.get_name(error.plugin)
        hook = re.search(r"unknown hook '(\w+)'", str(error))
        if name is None or hook is None:
            raise
        known = [*PROVIDE_HOOKS, BEARER_HOOK]
        raise registered[name].error(f"there is no hook {hook[1]}. {did_you_mean(hook[1], known, '')}") from error


def _implementations(manager: pluggy.PluginManager, hook: str) -> list[pluggy.HookImpl]:
    found = getattr(manager.hook, hook).get_hookimpls()
    # Sorted, because the order of registration must decide nothing.
    return sorted(found, key=lambda implementation: implementation.plugin_name)


def _take_offer(collection: Collection, hook: str, implementation: pluggy.HookImpl, source: PluginSource) -> None:
    try:
        provided = implementation.function()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  (the plugin border)
        collection.failed.append((source, hook, f"{hook} raised {described(error)}"))
        return
    if isinstance(provided, Provider):
        fault = _fault_of(provided)
        if fault is None:
            collection.offers.append(Offer(hook, provided, source))
            return
    else:
        fault = f"returned a {type(provided).__name__}, not a Provider"
    collection.failed.append((source, hook, f"{hook} {fault}"))


def _fault_of(provided: Provider[Any]) -> str | None:
    reserved = {one.name for one in dataclasses.fields(Plugins)}
    if not isinstance(provided.name, str) or re.fullmatch(PLUGIN_NAME, provided.name, re.ASCII) is None:
        return f"returned a Provider whose name is not of the form {PLUGIN_NAME}"
    if provided.name in reserved:
        return f"returned a Provider with the reserved name {provided.name}"
    if not (isinstance(provided.settings, type) and dataclasses.is_dataclass(provided.settings)):
        return "returned a Provider whose settings are no dataclass"
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
