"""Redaction of texts that leave the installation: known secrets anywhere, and texts in the form of a secret or a name."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
import secrets
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote, quote_plus

GONE: Final = "[redacted]"
SHORTEST: Final = 4
"""A secret of fewer characters cannot be told from the text around it."""

# Every repetition is bounded, or begins at a border of a word: a writer of log lines could make the search take hours.
# The rest of a line behind these belongs to a caller.
_TELLING: Final = "authorization|x-api-key|cookie|didauth|apikey|bearer|password|passphrase|secret"
_HEADER: Final = rf"(?P<header>(?:{_TELLING})[\"']?[ \t]{{0,8}}[:= ][ \t]{{0,8}})[^\n]+"
_LOGIN: Final = r"(?<=://)[^\s/@:]{0,256}:[^\s@]{0,256}(?=@)"
_DID: Final = r"did(?::|%3A)(?P<method>[a-z0-9]{1,64})(?::|%3A)(?P<id>[\w.%:-]+)"
_MAIL: Final = r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"
_KEY: Final = r"idk_[\w-]+"
_JWT: Final = r"eyJ[\w-]+(?:\.[\w-]+){0,4}"
# Keys, signatures, proofs and hashes. A name of a setting or a package has no digit in so many characters, a path no "+" or "=".
_LONG: Final = r"(?<![\w+-])(?=[\w+-]*\d)[\w+-]{24,}={0,2}"
_BASE64: Final = r"(?<![\w+/=-])(?=[\w/-]*[+=])[\w+/=-]{32,}"
_IPV4: Final = r"(?:\d{1,3}\.){3}\d{1,3}"
_IPV6: Final = r"[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,8}(?:\.\d{1,3}){0,3}"
_ADDRESS: Final = rf"(?<![\w.:])(?P<address>{_IPV4}|{_IPV6})(?!\w)"
_FORMS: Final = (_HEADER, _LOGIN, _DID, _MAIL, _KEY, _JWT, _BASE64, _LONG, _ADDRESS)
_PATTERN: Final = re.compile("|".join(_FORMS), re.IGNORECASE)


class Redaction:
    """The replacement of ``known`` secrets, and of texts whose form reveals a secret or name. Within one ``Redaction``, a DID
    always becomes the same name, so its lines can be related. The key of that is not stored. ``replaced`` counts replacements."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        forms = {form for secret in known if len(secret) >= SHORTEST for form in _forms(secret)}
        # The longest first: one secret may be the beginning of another.
        ordered = sorted(forms, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, ordered))) if ordered else None
        self._key = secrets.token_bytes(32)
        self.replaced = 0

    def text(self, text: str) -> str:
        """Return ``text``, redacted."""
        if self._known is not None:
            text, count = self._known.subn(GONE, text)
            self.replaced += count
        return _PATTERN.sub(self._replacement, text)

    def json(self, value: Any) -> Any:
        """Return a JSON value with every text in it redacted, names of members too."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(str(name)): self.json(member) for name, member in value.items()}
            case list() | tuple():
                return list(map(self.json, value))
            case bool() | int() | float() | None:
                return value
        return self.text(str(value))

    def _replacement(self, found: re.Match[str]) -> str:
        whole = found[0]
        if found["address"] is not None and _is_public_form(whole):
            return whole
        self.replaced += 1
        if found["header"] is not None:
            return found["header"] + GONE
        if found["id"] is not None:
            name = hashlib.blake2b(found["id"].encode(), key=self._key, digest_size=4).hexdigest()
            return f"did:{found['method']}:~{name}"
        return GONE


def _is_public_form(text: str) -> bool:
    """Return whether a text in the form of an address is none (a time, a version) or reveals nothing (loopback, unspecified)."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return True
    return address.is_loopback or address.is_unspecified


def _forms(secret: str) -> Iterator[str]:
    """Yield the forms of a secret in a text, in JSON, and in a URL."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield repr(secret)[1:-1]
    yield quote(secret, safe="")
    yield quote(secret)
    yield quote_plus(secret)
