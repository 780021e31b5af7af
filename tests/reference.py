"""The reference document: the kernel and every extension of this repository, with the types of all of them."""

from __future__ import annotations

import importlib
import json
import pkgutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from identity_core.api.contract import OpenApiDocument, load_document

ROOT: Final = Path(__file__).parents[1]
EXTENSIONS: Final = sorted(path.parent.name for path in ROOT.glob("plugins/*/identity_*/document.json"))
"""The packages of the extensions that have operations."""
PARTS: Final = {name.removeprefix("identity_"): importlib.import_module(f"{name}.wire").DOCUMENT for name in EXTENSIONS}
LOADED: Final[OpenApiDocument] = load_document(PARTS)
DOCUMENT: Final[dict[str, Any]] = dict(LOADED.value)
_TAGGED: Final = {
    name: {one["tags"][0] for item in json.loads(part)["paths"].values() for one in item.values()}
    for name, part in PARTS.items()
}


def handlers_modules(tag: str) -> list[str]:
    """Return the modules with the handlers of a tag: that of the kernel, and those of the extensions with operations of the tag."""
    found = [f"identity_core.api.{tag}"] if find_spec(f"identity_core.api.{tag}") else []
    for name in (name for name, tags in _TAGGED.items() if tag in tags):
        package = importlib.import_module(f"identity_{name}")
        modules = (each.name for each in pkgutil.iter_modules(package.__path__, f"{package.__name__}."))
        found += [module for module in modules if module.endswith("handlers")]
    return found


def use_cases_packages(tag: str) -> list[str]:
    """Return the modules and packages with the use cases of a tag."""
    own = f"identity_core.use_cases.{tag}"
    packages = [f"identity_{name}" for name, tags in _TAGGED.items() if tag in tags]
    packages += [f"{each}.use_cases" for each in packages if find_spec(f"{each}.use_cases")]
    return [*([own] if find_spec(own) else []), *packages]
