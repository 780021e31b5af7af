"""The installed extensions, checked and in the order in which they are opened, and the choice of those that are on.

An extension is on by its own default, by the settings, or because an upgrade must not remove a feature.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, TypeVar

from msgspec import Struct
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from identity_core import __version__
from identity_core.database import Database, Transaction, look_at
from identity_core.extension.declaration import Extension
from identity_core.plugin.load import PluginSource
from identity_core.plugin.manager import PluginManager
from identity_core.ports.retention import RetentionRule
from identity_core.settings import Settings, SettingsError, StartError
from identity_core.settings.sources import did_you_mean
from identity_core.store.proofs import RULES

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)

# Prefixes of the tables of the kernel and of other plugins.
RESERVED: Final = frozenset(
    ["api", "audit", "credential", "custodian", "evm", "gap", "holder", "keys", "kept", "ledger", "limits", "store"]
)


class InstalledExtension(Struct, frozen=True):
    """An extension and the plugin that declares it."""

    source: PluginSource
    declared: Extension


def in_order(found: Iterable[tuple[PluginSource, object]]) -> list[InstalledExtension]:
    """Return the extensions, each after those in its ``requires`` and ``after``, else by name.

    Raises ``PluginError``: when an extension is malformed, needs another version of the service or has the name of
    another one, and when the order has a cycle. A missing extension is ignored here: one that is off needs none.
    """
    known: dict[str, InstalledExtension] = {}
    for source, declared in found:
        checked = InstalledExtension(source, _checked(source, declared))
        if (first := known.setdefault(checked.declared.name, checked)) is not checked:
            raise source.error(f"is a second extension {first.declared.name}, beside that of {first.source}")
    ordered: dict[str, InstalledExtension] = {}
    waiting = sorted(known)
    needed = {name: known.keys() & {*one.declared.requires, *one.declared.after} for name, one in known.items()}
    while waiting:
        ready = [name for name in waiting if ordered.keys() >= needed[name]]
        if not ready:
            stuck = known[waiting[0]]
            cycle = f"requires the extension {min(needed[stuck.declared.name] - ordered.keys())}, which requires it"
            raise stuck.source.error(cycle, fix=f"Name {stuck.source.name} in plugins.disabled.")
        ordered |= {name: known[name] for name in ready}
        waiting = [name for name in waiting if name not in ordered]
    return list(ordered.values())


def _checked(source: PluginSource, declared: object) -> Extension:
    if not isinstance(declared, Extension):
        raise source.error(f"identity_extend returned a {type(declared).__name__}, not an Extension")
    if _NAME.fullmatch(declared.name) is None:
        raise source.error(f"its name is not of the form {_NAME.pattern}")
    if declared.name in RESERVED:
        raise source.error(f"its name {declared.name} is what tables of the service begin with")
    try:
        fits = SpecifierSet(declared.kernel).contains(__version__, prereleases=True)
    except InvalidSpecifier:
        raise source.error(f"{declared.kernel!r} is not a range of versions (PEP 440)") from None
    if not fits:
        raise source.error(f"needs version {declared.kernel} of the service, and this is {__version__}")
    return declared


T = TypeVar("T")

# The number of steps that make the table and its first rows for an existing installation.
_STEPS: Final = 34
_BEFORE: Final = frozenset({"agents", "vcalm", "wallets"})
BY_UPGRADE: Final = "in use before the upgrade"


class ChosenExtensions(Struct, frozen=True):
    """The chosen extensions. ``on`` and ``off`` are in the order of opening. ``reasons``: by name, why an extension
    is on or off."""

    on: tuple[InstalledExtension, ...]
    off: tuple[InstalledExtension, ...]
    reasons: dict[str, str]

    def declared(self, member: str) -> list[Any]:
        """Return all items of the tuple ``member`` that the active extensions declare."""
        return [each for one in self.on for each in getattr(one.declared, member)]

    def retention_rules(self) -> list[RetentionRule]:
        """Return the rules of the kernel's tables, of the active extensions, and of tables that an inactive extension
        has written before.

        Raises ``StartError``: when two rules have one table.
        """
        before = [rule for one in self.off for rule in one.declared.retention if rule.kind in one.declared.adopts]
        rules: list[RetentionRule] = [*RULES, *self.declared("retention"), *before]
        if twice := sorted(kind for kind, count in Counter(rule.kind for rule in rules).items() if count > 1):
            raise StartError(f"Two parts of the service have retention rules of {', '.join(twice)}.")
        return rules

    def rows(self) -> list[dict[str, str]]:
        """Return the displayed row of each extension, by name."""
        return [
            {"name": name, "state": "on" if one in self.on else "off", "because": self.reasons[name]}
            | {"distribution": one.source.distribution, "version": one.source.version}
            for name, one in sorted((one.declared.name, one) for one in (*self.on, *self.off))
        ]


def read_store(settings: Settings, job: Callable[[Transaction], T]) -> T:
    """Return the result of ``job`` on the store's database, opened read-only. Raises ``DatabaseError``: when it
    cannot be read."""
    look = look_at(settings.database_url, settings.data_dir / "identity.sqlite")
    try:
        return look.read_now(job)
    finally:
        look.end()


def kept_extensions(transaction: Transaction) -> frozenset[str]:
    """Return the names of the extensions that an upgrade of this store keeps on, also of a store that was not
    upgraded yet."""
    (steps,) = transaction.execute("SELECT COUNT(*) FROM store_migrations").fetchone()
    if steps < _STEPS:
        return frozenset(_BEFORE if transaction.execute("SELECT 1 FROM audit_lines LIMIT 1").fetchone() else ())
    return frozenset(row[0] for row in transaction.execute("SELECT name FROM kept_extensions").fetchall())


def extensions_on(plugins: PluginManager, database: Database) -> ChosenExtensions:
    """Return the installed extensions of an installation whose database is open. Raises ``StartError``."""
    kept = database.read_now(kept_extensions)
    return choose_extensions(in_order(plugins.collection.extensions), plugins.settings, kept)


def choose_extensions(
    installed: Sequence[InstalledExtension], settings: Settings, kept: Collection[str]
) -> ChosenExtensions:
    """Return which of the ``installed`` extensions are on.

    Raises ``SettingsError``: when the settings name one that is not installed, or turn off one that another one requires.
    """
    chosen = settings.extensions
    for key, names in (("extensions.enabled", chosen.enabled), ("extensions.disabled", chosen.disabled)):
        for name in names:
            named_extension(name, installed, f"{settings.origin(key)} ({key})")
    reasons: dict[str, str] = {}
    on: dict[str, InstalledExtension] = {}
    for one in installed:
        name = one.declared.name
        is_on, reasons[name] = find_state(one, settings, kept)
        if is_on:
            on[name] = one
        if is_on and (lacking := sorted(set(one.declared.requires) - on.keys())):
            state, verb = ("off", "Enable") if lacking[0] in reasons else ("not installed", "Install and enable")
            what = f"The extension {name} requires the extension {lacking[0]}, which is {state}."
            fix = f"{verb} it: identity extensions enable {lacking[0]}; or disable {name}."
            raise SettingsError(what, "extensions.enabled", fix)
    return ChosenExtensions(tuple(on.values()), tuple(one for one in installed if one.declared.name not in on), reasons)


def find_state(one: InstalledExtension, settings: Settings, kept: Collection[str]) -> tuple[bool, str]:
    """Return whether an extension is on, and the reason."""
    name = one.declared.name
    for key, is_on in (("disabled", False), ("enabled", True)):
        if name in getattr(settings.extensions, key):
            return is_on, str(settings.origin(f"extensions.{key}"))
    for key in one.declared.resources.values():
        if attrgetter(key)(settings):
            return True, f"{settings.origin(key)} ({key})"
    if not one.declared.default and not one.declared.resources and name in kept:
        return True, BY_UPGRADE
    return one.declared.default, "default"


def named_extension(name: str, installed: Iterable[InstalledExtension], where: str) -> InstalledExtension:
    """Return the extension of this name. Raises ``SettingsError``: when none is installed; ``where`` names it."""
    known = {one.declared.name: one for one in installed}
    if name not in known:
        fix = did_you_mean(name, known, "Install it, or remove the name.")
        raise SettingsError(f"No extension {name} is installed.", where, fix)
    return known[name]


def documents_of(installed: Iterable[InstalledExtension]) -> dict[str, bytes]:
    """Return the part of the document of each extension that has one, by name."""
    return {one.declared.name: one.declared.document for one in installed if one.declared.document}
