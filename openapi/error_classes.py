"""From ``errors.yaml`` to the classes of refusals: one a code, with what an answer says of it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from itertools import starmap
from typing import Any, Final

HEADER: Final = '''"""GENERATED from openapi/errors.yaml by `python -m openapi.build`: every refusal, one class a code. Do not edit.

A class holds what the client sees: code, HTTP status, a message that is safe to show to anybody, and a remedy where one fits every
case. ``details`` holds only JSON values and never a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from identity_codec.strict_json import JsonValue


class IdentityError(Exception):
    """A refusal or failure with a stable code."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    status: ClassVar[int] = 500
    message: ClassVar[str] = "The request could not be completed."
    remedy: ClassVar[str] = ""

    def __init__(self, message: str | None = None, *, details: Mapping[str, JsonValue] | None = None) -> None:
        super().__init__(message or self.message)
        self.details: dict[str, JsonValue] = {**({"remedy": self.remedy} if self.remedy else {}), **(details or {})}
'''
CODES: Final = """
# No other module is loaded yet, so these are the classes above.
CODES: Final[Mapping[str, type[IdentityError]]] = {each.code: each for each in IdentityError.__subclasses__()}
"""
# The codes that a class is not named after: what is called a blockchain on the wire is a ledger in the code.
NAMES: Final = {"BLOCKCHAIN_ERROR": "LedgerUnavailable"}


def write_errors(errors: Mapping[str, Any]) -> str:
    """The module. ``errors`` is the content of ``errors.yaml``."""
    entries = {**errors["codes"], **errors["inside"]}
    return f"{HEADER}{''.join(starmap(_class, entries.items()))}\n{CODES}"


def _name(code: str) -> str:
    return NAMES.get(code, "".join(word.title() for word in code.split("_")))


def _class(code: str, entry: Mapping[str, Any]) -> str:
    lines = [f"class {_name(code)}(IdentityError):", *_docstring(entry["meaning"].strip()), ""]
    lines += [f'    code = "{code}"', f"    status = {entry['status']}"]
    for member in ("message", "remedy"):
        lines += _assignment(member, entry[member].strip()) if member in entry else ()
    return "\n\n" + "\n".join(lines) + "\n"


def _docstring(text: str) -> list[str]:
    return textwrap.wrap(f'    """{text}"""', 120, subsequent_indent="    ", break_on_hyphens=False)


def _assignment(member: str, text: str) -> list[str]:
    quoted = f"'{text}'" if '"' in text else f'"{text}"'
    line = f"    {member} = {quoted}"
    if len(line) <= 120:
        return [line]
    parts = textwrap.wrap(text, 108, drop_whitespace=False, break_on_hyphens=False)
    return [f"    {member} = (", *(f'        "{part}"' for part in parts), "    )"]
