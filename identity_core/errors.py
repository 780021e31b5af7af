"""All errors of the service, one class per code, made when this module is imported.

``errors.json`` has their members: the code, the HTTP status, a message that is safe for any client, and the remedies.
``errors.pyi`` declares the classes for type checkers and for readers. ``python -m openapi.build`` generates both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from identity_codec.strict_json import JsonValue

_MEMBERS: Final[Mapping[str, Any]] = json.loads(Path(__file__).with_name("errors.json").read_bytes())


class IdentityError(Exception):
    """A refusal or failure with a stable code. ``details`` contains only JSON values and never a secret."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    status: ClassVar[int] = 500
    message: ClassVar[str] = "The request could not be completed."
    remedy: ClassVar[str] = _MEMBERS["InternalError"]["remedy"]
    reasons: ClassVar[Mapping[str, str]] = {}
    """The remedies for values of ``details.reason``, and for details that have a member of the name."""

    def __init__(self, message: str | None = None, *, details: Mapping[str, JsonValue] | None = None) -> None:
        super().__init__(message or self.message)
        self.details: dict[str, JsonValue] = dict(details or {})

    def find_remedy(self) -> str:
        """Return the next step for the client in this case, by the details, else by the code."""
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


_MADE: Final = {
    name: type(name, (IdentityError,), {"__module__": __name__, **members}) for name, members in _MEMBERS.items()
}
globals().update(_MADE)
CODES: Final[Mapping[str, type[IdentityError]]] = {each.code: each for each in _MADE.values()}
