"""Writes the examples of this extension: Hana's DID in each form, and Rea's DID as a registrar makes it.

python -m plugins.universal.openapi.write_examples            writes examples.yaml
"""

from __future__ import annotations

from typing import Final

from openapi.did_examples import GRACE_END, Telling
from openapi.story import Json
from openapi.write_examples import write
from plugins.universal.openapi.identifier_examples import identifiers
from plugins.universal.openapi.registration_examples import registrations

COMMAND: Final = "plugins.universal.openapi.write_examples"


def tell() -> Json:
    """Return operationId → examples."""
    telling = Telling()
    deactivated = telling.tell()["resolveDid"]["410"]["asW3cResult"]
    shown = identifiers(telling.rotated, GRACE_END)
    for name in ("resolveIdentifier", "resolveIdentifierWithOptions"):
        shown[name]["410"] = {"now": deactivated}
    return shown | registrations()


if __name__ == "__main__":
    write("universal", tell(), COMMAND)
