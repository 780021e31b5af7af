"""The contexts that a document can name: those of the wheel, and that of the data model, which PyLD brings."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent / "bundled"

VC_CONTEXT: Final = "https://www.w3.org/ns/credentials/v2"
OURS: Final = {
    "https://www.w3.org/ns/credentials/undefined-terms/v2": _HERE / "undefined-terms-v2.jsonld",
    "https://www.w3.org/ns/credentials/examples/v2": _HERE / "examples-v2.jsonld",
    "https://w3id.org/citizenship/v4rc1": _HERE / "citizenship-v4rc1.jsonld",
}
CONTEXTS: Final = frozenset({VC_CONTEXT, *OURS})
