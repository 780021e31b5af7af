"""From ``errors.yaml`` to the classes of refusals: the members of each class, and their stub."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from typing import Any, Final

HEAD: Final = '''"""GENERATED from openapi/errors.yaml by `python -m openapi.build`: every refusal, one class a code. Do not edit.

A class holds what the client sees: code, HTTP status, a message that is safe to show to anybody, and the remedies.
``details`` holds only JSON values and never a secret.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from identity_codec.strict_json import JsonValue

class IdentityError(Exception):
    """A refusal or failure with a stable code."""

    code: ClassVar[str]
    status: ClassVar[int]
    message: ClassVar[str]
    remedy: ClassVar[str]
    reasons: ClassVar[Mapping[str, str]]
    details: dict[str, JsonValue]
    def __init__(self, message: str | None = None, *, details: Mapping[str, JsonValue] | None = None) -> None: ...
    def find_remedy(self) -> str: ...
    def answer_details(self) -> dict[str, JsonValue]: ...

CODES: Final[Mapping[str, type[IdentityError]]]
'''
# The codes that a class is not named after: what is called a blockchain on the wire is a ledger in the code.
NAMES: Final = {"BLOCKCHAIN_ERROR": "LedgerUnavailable"}
TEXTS: Final = ("status", "message", "remedy", "reasons")


def error_members(errors: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the members of each class by its name. ``errors`` is the content of ``errors.yaml``."""
    return {_name(code): _members(code, entry) for code, entry in {**errors["codes"], **errors["inside"]}.items()}


def write_members(members: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Return the file that ``identity_core.errors`` reads."""
    return json.dumps(members, indent=1).encode() + b"\n"


def write_stub(members: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Return the stub of ``identity_core.errors``."""
    return (HEAD + "".join(_class(name, each["__doc__"]) for name, each in members.items())).encode()


def _name(code: str) -> str:
    return NAMES.get(code, "".join(word.title() for word in code.split("_")))


def _members(code: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"__doc__": entry["meaning"].strip(), "code": code} | {name: entry[name] for name in TEXTS if name in entry}


def _class(name: str, meaning: str) -> str:
    text = textwrap.fill(f'    """{meaning}"""', 120, subsequent_indent="    ", break_on_hyphens=False)
    return f"\nclass {name}(IdentityError):\n{text}\n"
