"""The syntax of DIDs (DID Core §3.1): ASCII, one form, at most 512 characters."""

from __future__ import annotations

import re
from typing import Final

MAX_LENGTH: Final = 512

# Characters of the identifier in any order, the last of them no colon; possessive, so that no refusal looks twice.
_DID: Final = re.compile(r"did:([a-z0-9]+):((?:[A-Za-z0-9._:-]++|%[0-9A-Fa-f]{2})++(?<!:))", re.ASCII)


def split_did(text: str) -> tuple[str, str]:
    """Return method and identifier of a DID. Raises ``ValueError`` for any other text."""
    # ``fullmatch``, because ``$`` would let a trailing newline through.
    match = _DID.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if match is None:
        raise ValueError("the text is not a DID")
    return match[1], match[2]
