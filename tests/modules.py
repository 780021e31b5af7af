"""The modules of a package, with all that it holds."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

OPTIONAL = ("identity_bbs.bls12381.",)
"""Backends of the curve: each wants a library that need not be installed."""

OLD = (
    "identity_core.conformance",
    "identity_bbs",
    "identity_bbs.bls12381",
    "identity_bbs.frames",
)
"""Old import paths, which warn."""


def modules_of(package: str) -> Iterator[ModuleType]:
    """Imports them one after another, the package first; an optional one that cannot be imported is left out."""
    found = importlib.import_module(package)
    yield found
    for module in pkgutil.walk_packages(found.__path__, f"{package}."):
        if module.name in OLD or "plugin_templates" in module.name or module.name.endswith("__main__"):
            continue
        try:
            yield importlib.import_module(module.name)
        except ImportError:
            if not module.name.startswith(OPTIONAL):
                raise
