"""The store: a table of digests that is made once, at start-up. The texts of the keys are not kept."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from datetime import datetime

from identity_core.domain import key_text
from identity_core.domain.caller import ApiKey

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_DIGEST = re.compile(r"sha256-([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class EnvironmentKeysSettings:
    """``[plugins.env]``. An entry of ``api_keys`` is ``name:key[:rate[:burst]]``; README.md has the form."""

    api_key: str | None = field(
        default=None, repr=False, metadata={"help": "One shared key, admin-equivalent (API_KEY).", "secret": True}
    )
    api_keys: tuple[str, ...] = field(
        default=(),
        repr=False,
        metadata={"help": "More keys, each name:key[:rate[:burst]] (IDENTITY_API_KEYS).", "secret": True},
    )


class EnvironmentKeys:
    """A ``KeyStore`` whose keys are all admin-equivalent."""

    def __init__(self, settings: EnvironmentKeysSettings, *, created_at: datetime, logger: logging.Logger) -> None:
        keys = [_parse(entry, created_at, logger) for entry in settings.api_keys]
        if settings.api_key:
            # The blanks around a header's value are not part of it, so those around the key cannot be either.
            digest = _digest_of(settings.api_key.strip(), "API_KEY", logger)
            keys.append(_key("API_KEY", digest, None, None, created_at))
        self._by_digest = {key.digest: key for key in keys}
        if len(self._by_digest) < len(keys) or len({key.id for key in keys}) < len(keys):
            raise ValueError("two API keys have the same name or the same text")

    @property
    def configured(self) -> bool:
        """Whether there is any key, so that a first start need not make one."""
        return bool(self._by_digest)

    async def find(self, digest: str) -> ApiKey | None:
        """See ``KeyStore``."""
        return self._by_digest.get(digest)


def _parse(entry: str, created_at: datetime, logger: logging.Logger) -> ApiKey:
    # No message shows more than the name: the rest may be a secret.
    name, *rest = entry.strip().split(":")
    if _NAME.fullmatch(name) is None or not 1 <= len(rest) <= 3 or not rest[0]:
        raise ValueError("an API key of the list is written name:key[:rate[:burst]], the name in letters, digits, ._-")
    match = _DIGEST.fullmatch(rest[0])
    digest = match[1] if match else _digest_of(rest[0], name, logger)
    try:
        rate = float(rest[1]) if len(rest) > 1 else None
        burst = int(rest[2]) if len(rest) > 2 else None
    except ValueError:
        raise ValueError(f"the rate or the burst of the API key {name!r} is not a number") from None
    if (rate is not None and not 0 < rate <= 1e6) or (burst is not None and not 1 <= burst <= 1_000_000):
        raise ValueError(f"the rate or the burst of the API key {name!r} is not from 1 to 1000000")
    return _key(name, digest, rate, burst, created_at)


def _digest_of(text: str, name: str, logger: logging.Logger) -> str:
    if len(text) > key_text.MAX_LENGTH:
        raise ValueError(f"the API key {name!r} is longer than {key_text.MAX_LENGTH} characters")
    if not text or not (text.isascii() and text.isprintable()):
        raise ValueError(f"the API key {name!r} is blank or has characters that no HTTP header carries")
    if len(text) < key_text.SHORT:
        logger.warning("the API key %s has %d characters and can be guessed; take at least 32", name, len(text))
    return key_text.digest_of(text)


def _key(name: str, digest: str, rate: float | None, burst: int | None, created_at: datetime) -> ApiKey:
    return ApiKey(
        id=f"env.{name}",
        name=name,
        digest=digest,
        scopes=None,
        allowed_targets=None,
        requests_per_second=rate,
        burst=burst,
        created_at=created_at,
        source="env",
    )
