"""DID syntax (DID Core §3.1), in ASCII, full match, one form.

Left out on purpose: DID URLs with path, query or service parameters; the service never dereferences.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from identity_core.domain.echo import DID, echoed
from identity_core.errors import InvalidDid

MAX_LENGTH = 512

_ID_CHAR = r"(?:[A-Za-z0-9._-]|%[0-9A-Fa-f]{2})"
_DID = re.compile(rf"did:([a-z0-9]+):((?:{_ID_CHAR}*:)*{_ID_CHAR}+)", re.ASCII)
_FRAGMENT = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Did:
    """A parsed DID. Having one is the evidence that the text is well-formed."""

    text: str
    method: str
    identifier: str

    @classmethod
    def parse(cls, text: str) -> Did:
        """Raises ``InvalidDid``."""
        return _parsed(text)

    def __str__(self) -> str:
        return self.text


# One request reads the same few again and again: from its body, its token, and each row that names them.
@lru_cache(maxsize=1024)
def _parsed(text: str) -> Did:
    """``fullmatch`` because ``$`` would let a trailing newline through."""
    match = _DID.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if match is None:
        raise InvalidDid(details={"did": echoed(text, DID)})
    return Did(text, match[1], match[2])
