"""From ``errors.yaml`` to the classes of refusals, one for each code, and the file with their texts."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from itertools import starmap
from typing import Any, Final

HEADER: Final = '''"""GENERATED from openapi/errors.yaml by `python -m openapi.build`: every refusal, one class for each code. Do not edit.

``errors.json`` has what the client sees of a code: HTTP status, a message that is safe to show to anybody, and the remedy.
``details`` holds only JSON values and never a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import orjson

from identity_codec.strict_json import JsonValue

_TEXTS: Final[Mapping[str, Any]] = orjson.loads(Path(__file__).with_name("errors.json").read_bytes())


class IdentityError(Exception):
    """A refusal or failure with a stable code."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    status: ClassVar[int] = 500
    message: ClassVar[str] = "The request could not be completed."
    remedy: ClassVar[str] = _TEXTS["INTERNAL_ERROR"]["remedy"]
    reasons: ClassVar[Mapping[str, str]] = {}
    """The remedies for values of ``details.reason``, and for details that have a member of the name."""

    def __init_subclass__(cls, code: str = "") -> None:
        if code:
            for name, value in {"code": code, "reasons": {}, **_TEXTS[code]}.items():
                setattr(cls, name, value)

    def __init__(self, message: str | None = None, *, details: Mapping[str, JsonValue] | None = None) -> None:
        super().__init__(message or self.message)
        self.details: dict[str, JsonValue] = dict(details or {})

    def find_remedy(self) -> str:
        """Return what the client can do in this case, by the details, else by the code."""
        match self.details:
            case {"remedy": str() as remedy}:
                return remedy
            case {"supported": [_, *_] as supported}:
                return f"Choose from {', '.join(map(str, supported))}."
            case {"remedies": [_, *_] as remedies}:
                return f"{'; or '.join(map(str, remedies))}."
        places = (str(self.details.get("reason")), *self.details)
        return next((self.reasons[one] for one in places if one in self.reasons), self.remedy)

    def answer_details(self) -> dict[str, JsonValue]:
        """Return the details as an answer has them, with the remedy."""
        return {"remedy": self.find_remedy(), **self.details}
'''
CODES: Final = """
# No other module is loaded yet, so these are the classes above.
CODES: Final[Mapping[str, type[IdentityError]]] = {each.code: each for each in IdentityError.__subclasses__()}
"""
# The codes that a class is not named after: what is called a blockchain on the wire is a ledger in the code.
NAMES: Final = {"BLOCKCHAIN_ERROR": "LedgerUnavailable"}
TEXTS: Final = ("status", "message", "remedy", "reasons")


def write_errors(errors: Mapping[str, Any]) -> str:
    """Return the module. ``errors`` is the content of ``errors.yaml``."""
    return f"{HEADER}{''.join(starmap(_class, _entries(errors).items()))}\n{CODES}"


def write_error_texts(errors: Mapping[str, Any]) -> str:
    """Return the file of the texts that the classes take by their code."""
    texts = {code: {name: entry[name] for name in TEXTS if name in entry} for code, entry in _entries(errors).items()}
    return json.dumps(texts, indent=1) + "\n"


def _entries(errors: Mapping[str, Any]) -> dict[str, Any]:
    return {**errors["codes"], **errors["inside"]}


def _class(code: str, entry: Mapping[str, Any]) -> str:
    name = NAMES.get(code, "".join(word.title() for word in code.split("_")))
    docstring = textwrap.wrap(
        f'    """{entry["meaning"].strip()}"""', 120, subsequent_indent="    ", break_on_hyphens=False
    )
    return "\n".join(["\n", f'class {name}(IdentityError, code="{code}"):', *docstring, ""])
