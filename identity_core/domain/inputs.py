"""Times in requests, and the part of an invalid input that an error repeats.

Clients, proxies and bug reports store answers. So an answer must not repeat a private key or a token in the wrong member. An input is
repeated only if it resembles the expected form, with at most ``MOST`` characters, and never if a part of it resembles a secret. Left out
on purpose: secrets without a form of their own, such as passwords that resemble the expected form.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from identity_codec.structs import UnsetType
from identity_codec.times import parse
from identity_core.errors import InvalidRequest

MOST: Final = 128
NOT_SHOWN: Final = "(not shown)"

DID: Final = re.compile(r"did:[a-z0-9]{1,32}:", re.ASCII)
# A word such as Ed25519VerificationKey2020: keys and tokens are longer, or not words.
TERM: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}\Z", re.ASCII)
PUBLIC_KEY: Final = re.compile(r"z(?:6Mk|6LS|UC7)", re.ASCII)
URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,31}:[^@]*\Z", re.ASCII)

# Private multikeys (identity_codec.multikey), API keys (domain/callers.py) and JSON web tokens.
_SECRET: Final = re.compile(r"z(?:3u2|3we|48[89])[1-9A-HJ-Za-km-z]{8}|idk_[a-z]+_|eyJ", re.ASCII)


def echoed(text: str, form: re.Pattern[str]) -> str:
    """Return ``text``, cut to ``MOST`` characters, if it begins like ``form`` and no part resembles a secret; else ``NOT_SHOWN``."""
    if form.match(text) is None or _SECRET.search(text) is not None:
        return NOT_SHOWN
    return text[:MOST]


def member_time(text: str, name: str) -> datetime:
    """Return the time of a member or parameter of a request. Raises ``InvalidRequest`` with its name."""
    try:
        return parse(text)
    except ValueError as error:
        raise InvalidRequest(f"{name} is not an RFC 3339 time.", details={"member": name, "reason": "time"}) from error


def optional_time(text: str | UnsetType | None, name: str) -> datetime | None:
    """Return the time of a member that may be missing or null. Raises ``InvalidRequest`` with its name."""
    return member_time(text, name) if isinstance(text, str) else None
