"""The reference document: the kernel and every extension of this repository, with the types of all of them."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any, Final

from identity_core.api.contract import OpenApiDocument, load_document

ROOT: Final = Path(__file__).parents[1]
EXTENSIONS: Final = sorted(path.parent.name for path in ROOT.glob("plugins/*/identity_*/document.json"))
"""The packages of the extensions that have operations."""
PARTS: Final = {name.removeprefix("identity_"): importlib.import_module(f"{name}.wire").DOCUMENT for name in EXTENSIONS}
LOADED: Final[OpenApiDocument] = load_document(PARTS)
DOCUMENT: Final[dict[str, Any]] = dict(LOADED.value)
_OWNERS: Final = {tag["name"]: f"identity_{name}" for name, part in PARTS.items() for tag in json.loads(part)["tags"]}


def handlers_module(tag: str) -> str:
    """Return the module with the handlers of a tag."""
    return f"{_OWNERS[tag]}.handlers" if tag in _OWNERS else f"identity_core.api.{tag}"


def use_cases_package(tag: str) -> str:
    """Return the module or package with the use cases of a tag."""
    return _OWNERS.get(tag, f"identity_core.use_cases.{tag}")
