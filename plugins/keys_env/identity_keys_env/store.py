"""The store: a table of digests that is made once, at start-up. The texts of the keys are not kept."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from datetime import datetime

from msgspec import Struct

from identity_core.domain import callers as key_text
from identity_core.domain.callers import ApiKey
from identity_core.plugin import setting

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_DIGEST = re.compile(r"sha256-([0-9a-f]{64})", re.ASCII)


class Entry(Struct, frozen=True):
    """One key. ``length`` is that of its text, None where only the digest was given."""

    name: str
    digest: str
    length: int | None
    rate: float | None = None
    burst: int | None = None


def _shared(text: str) -> Entry:
    # The blanks around a header's value are not part of it, so those around the key cannot be either.
    return _of_text("API_KEY", text.strip(), None, None)


def _read(entry: str) -> Entry:
    # No message shows more than the name: the rest may be a secret.
    name, *rest = entry.strip().split(":")
    if _NAME.fullmatch(name) is None or not 1 <= len(rest) <= 3 or not rest[0]:
        raise ValueError("an API key of the list is written name:key[:rate[:burst]], the name in letters, digits, ._-")
    try:
        rate = float(rest[1]) if len(rest) > 1 else None
        burst = int(rest[2]) if len(rest) > 2 else None
    except ValueError:
        raise ValueError(f"the rate or the burst of the API key {name!r} is not a number") from None
    if (rate is not None and not 0 < rate <= 1e6) or (burst is not None and not 1 <= burst <= 1_000_000):
        raise ValueError(f"the rate or the burst of the API key {name!r} is not from 1 to 1000000")
    match = _DIGEST.fullmatch(rest[0])
    return Entry(name, match[1], None, rate, burst) if match else _of_text(name, rest[0], rate, burst)


def _of_text(name: str, text: str, rate: float | None, burst: int | None) -> Entry:
    if len(text) > key_text.MAX_LENGTH:
        raise ValueError(f"the API key {name!r} is longer than {key_text.MAX_LENGTH} characters")
    if not text or not (text.isascii() and text.isprintable()):
        raise ValueError(f"the API key {name!r} is blank or has characters that no HTTP header carries")
    return Entry(name, key_text.digest_of(text), len(text), rate, burst)


@dataclass(frozen=True, slots=True)
class EnvironmentKeysSettings:
    """``[plugins.env]``. An entry of ``api_keys`` is ``name:key[:rate[:burst]]``; README.md has the form."""

    api_key: str | None = setting(
        None, "One shared key, admin-equivalent (API_KEY).", check=lambda text: text and _shared(text), secret=True
    )
    api_keys: tuple[str, ...] = setting(
        (),
        "More keys, each name:key[:rate[:burst]] (IDENTITY_API_KEYS).",
        check=_read,
        secret=True,
        example='["ci:a-long-random-text"]',
    )

    def __post_init__(self) -> None:
        entries = self.entries
        if len({one.name for one in entries}) < len(entries) or len({one.digest for one in entries}) < len(entries):
            raise ValueError("two API keys have the same name or the same text")

    @property
    def entries(self) -> list[Entry]:
        """The keys, the shared one last. Raises ``ValueError`` for one that cannot be read, and shows no more of it than its name."""
        return [_read(entry) for entry in self.api_keys] + ([_shared(self.api_key)] if self.api_key else [])


class EnvironmentKeys:
    """A ``KeyStore`` whose keys are all admin-equivalent."""

    def __init__(self, settings: EnvironmentKeysSettings, *, created_at: datetime, logger: logging.Logger) -> None:
        entries = settings.entries
        for one in entries:
            if one.length is not None and one.length < key_text.SHORT:
                says = "the API key %s has %d characters and can be guessed; take at least 32"
                logger.warning(says, one.name, one.length)
        self._by_digest = {one.digest: _key(one, created_at) for one in entries}

    @property
    def configured(self) -> bool:
        """Return whether there is any key, so that a first start need not make one."""
        return bool(self._by_digest)

    async def find(self, digest: str) -> ApiKey | None:
        return self._by_digest.get(digest)


def _key(entry: Entry, created_at: datetime) -> ApiKey:
    return ApiKey(
        id=f"env.{entry.name}",
        name=entry.name,
        digest=entry.digest,
        scopes=None,
        allowed_targets=None,
        requests_per_second=entry.rate,
        burst=entry.burst,
        created_at=created_at,
        source="env",
    )
