"""Text of others, before a model reads it: a name, a purpose or a message may have been written to be taken for an instruction.

Removed are invisible characters: controls, bidirectional overrides, zero-width characters, tags (Unicode categories Cc, Cf, Co, Cs, and
the line separators). What people wrote freely is cut; keys and proofs keep their length. Names of credentials, schemas and verifiers are
shown where they have the form of an identifier: other text, which an older version accepted there, is withheld. What stays is data, and
the server's instructions state it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Final

MAX_FREE_TEXT: Final = 300
FREE: Final = frozenset({"purpose", "message", "reason", "revocationReason", "name", "title", "description", "note"})
IDENTIFIERS: Final = frozenset({"credentialIds", "schemaIds", "verifiers"})
WITHHELD: Final = "(withheld: not an identifier)"
_IDENTIFIER: Final = re.compile(rf"[!-~]{{1,{MAX_FREE_TEXT}}}")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


def neutral(value: Any, name: str = "") -> Any:
    """``value`` as JSON with all of its text neutralised; ``name`` is the member that holds it."""
    if isinstance(value, str):
        if name in IDENTIFIERS and _IDENTIFIER.fullmatch(value) is None:
            return WITHHELD
        shown = "".join(one if unicodedata.category(one) not in _UNSEEN else " " for one in value)
        return shown if name not in FREE or len(shown) <= MAX_FREE_TEXT else shown[:MAX_FREE_TEXT] + "…"
    if isinstance(value, dict):
        return {neutral(key): neutral(member, key) for key, member in value.items()}
    if isinstance(value, list):
        return [neutral(member, name) for member in value]
    return value
