"""The form of the file: README.md describes it. Every rule has its own message, which names the entry, never a value."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from identity_core.domain.callers import ApiKey

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


class FileInvalid(Exception):
    """The file is not TOML, or an entry is not of the form."""


def parse_file(data: bytes, *, modified_ns: int) -> list[ApiKey]:
    """Return the keys of a file; ``modified_ns`` is the age of entries without a time of their own. Raises ``FileInvalid``."""
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileInvalid(f"not a TOML file in UTF-8: {_where(error)}") from None
    written = datetime.fromtimestamp(modified_ns // 1_000_000_000, UTC)
    entries = document.pop("keys", {})
    if document or not isinstance(entries, dict):
        raise FileInvalid("the file has tables [keys.<name>] and nothing else")
    keys = [_parse(name, entry, written) for name, entry in entries.items()]
    if len({key.digest for key in keys}) < len(keys):
        raise FileInvalid("two keys have the same sha256")
    return keys


def _where(error: Exception) -> str:
    # The message of the TOML parser quotes no more than a character, its place is what helps.
    return str(error) if isinstance(error, tomllib.TOMLDecodeError) else "bad UTF-8"


def _parse(name: str, entry: object, written: datetime) -> ApiKey:
    if _NAME.fullmatch(name) is None or not isinstance(entry, dict):
        raise FileInvalid("a key is a table [keys.<name>], its name 1 to 64 letters, digits, '.', '_' or '-'")
    fields = _Fields(name, entry)
    digest = fields.take("sha256", lambda value: isinstance(value, str) and _DIGEST.fullmatch(value), "64 hex digits")
    if digest is None:
        raise FileInvalid(f"[keys.{name}] has no sha256")
    admin = fields.take("admin", lambda value: isinstance(value, bool), "true or false")
    scopes = fields.take("scopes", _is_texts, "a list of texts")
    if bool(admin) == (scopes is not None):
        raise FileInvalid(f"[keys.{name}] must say either admin = true or scopes = [...]")
    targets = fields.take("allowed_targets", _is_texts, "a list of DIDs")
    key = ApiKey(
        id=f"file.{name}",
        name=name,
        digest=digest,
        scopes=None if scopes is None else frozenset(scopes),
        allowed_targets=None if targets is None else frozenset(targets),
        requests_per_second=fields.take("requests_per_second", _is_rate, "a number above 0, at most 1000000"),
        burst=fields.take("burst", _is_burst, "a whole number from 1 to 1000000"),
        created_at=fields.time("created_at") or written,
        expires_at=fields.time("expires_at"),
        revoked_at=fields.time("revoked_at"),
        source="file",
    )
    fields.refuse_the_rest()
    return key


class _Fields:
    """Takes the members of one entry, each once."""

    def __init__(self, name: str, entry: Mapping[str, object]) -> None:
        self._name = name
        self._rest = dict(entry)

    def take(self, member: str, is_right: Callable[[Any], object], wanted: str) -> Any:
        value = self._rest.pop(member, None)
        if value is not None and not is_right(value):
            raise FileInvalid(f"[keys.{self._name}] {member} must be {wanted}")
        return value

    def time(self, member: str) -> datetime | None:
        value = self.take(member, lambda value: isinstance(value, datetime) and value.tzinfo, "a time with a zone")
        return None if value is None else value.astimezone(UTC)

    def refuse_the_rest(self) -> None:
        if self._rest:
            raise FileInvalid(f"[keys.{self._name}] has no member {min(self._rest)!r}")


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_rate(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1e6


def _is_burst(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1_000_000
