"""Every refusal, one class a code, made when this module is imported.

``errors.json`` has their members: the code, the HTTP status, a message that is safe to show to anybody, and a remedy if one fits every
case. ``errors.pyi`` states the classes for type checkers and for readers. ``python -m openapi.build`` generates both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from identity_codec.strict_json import JsonValue


class IdentityError(Exception):
    """A refusal or failure with a stable code. ``details`` holds only JSON values and never a secret."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    status: ClassVar[int] = 500
    message: ClassVar[str] = "The request could not be completed."
    remedy: ClassVar[str] = ""

    def __init__(self, message: str | None = None, *, details: Mapping[str, JsonValue] | None = None) -> None:
        super().__init__(message or self.message)
        self.details: dict[str, JsonValue] = {**({"remedy": self.remedy} if self.remedy else {}), **(details or {})}


_MADE: Final = {
    name: type(name, (IdentityError,), {"__module__": __name__, **members})
    for name, members in json.loads(Path(__file__).with_name("errors.json").read_bytes()).items()
}
globals().update(_MADE)
CODES: Final[Mapping[str, type[IdentityError]]] = {each.code: each for each in _MADE.values()}
