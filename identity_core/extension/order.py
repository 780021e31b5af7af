"""The extensions of an installation, checked and in the order in which they are opened."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from identity_codec.values import value_class
from identity_core import __version__
from identity_core.extension.declaration import Extension
from identity_core.plugin.load import PluginSource

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)

# What tables of the kernel and of other plugins begin with.
RESERVED: Final = frozenset(
    ["api", "audit", "credential", "custodian", "evm", "gap", "holder", "keys", "kept", "ledger", "limits", "store"]
)


@value_class
class InstalledExtension:
    """An extension and the plugin that declares it."""

    source: PluginSource
    declared: Extension


def in_order(found: Iterable[tuple[PluginSource, object]]) -> list[InstalledExtension]:
    """Return the extensions, each behind those that it requires or is to be opened after, else by name.

    Raises ``PluginError``: when one is malformed, needs another version of the service, has the name of another one, or requires one
    that is missing or that requires it in turn. The same for ``after`` if that one is installed.
    """
    known: dict[str, InstalledExtension] = {}
    for source, declared in found:
        checked = InstalledExtension(source, _checked(source, declared))
        first = known.setdefault(checked.declared.name, checked)
        if first is not checked:
            raise source.error(f"is a second extension {first.declared.name}, beside that of {first.source}")
    ordered: dict[str, InstalledExtension] = {}
    waiting = sorted(known)
    needed = {name: {*one.declared.requires, *(known.keys() & {*one.declared.after})} for name, one in known.items()}
    while waiting:
        ready = [name for name in waiting if ordered.keys() >= needed[name]]
        if not ready:
            stuck = known[waiting[0]]
            lacking = sorted(needed[stuck.declared.name] - ordered.keys())
            fix = f"Install the extension {lacking[0]}, or name {stuck.source.name} in plugins.disabled."
            raise stuck.source.error(f"requires the extension {', '.join(lacking)}", fix=fix)
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
        raise source.error(f"{declared.kernel!r} is no range of versions (PEP 440)") from None
    if not fits:
        raise source.error(f"needs version {declared.kernel} of the service, and this is {__version__}")
    return declared
