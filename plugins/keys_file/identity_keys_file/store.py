"""The store: the keys of the file, read again when the file has changed.

Whether it has changed is one ``stat`` a look-up, about a microsecond; a look-up comes at most every two seconds and key.
"""

from __future__ import annotations

import logging
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from identity_core.domain.callers import ApiKey
from identity_core.files import open_regular, require_own
from identity_keys_file.entries import FileInvalid, parse_file


@dataclass(frozen=True, slots=True)
class FileKeysSettings:
    """``[plugins.file]``."""

    path: Path | None = field(default=None, metadata={"help": "The file of API keys. Default: keys.toml in data_dir."})


class _Seen(Struct, frozen=True):
    """The state of the file, by which a change is found; all zero while there is no file."""

    modified_ns: int = 0
    size: int = 0
    inode: int = 0

    @classmethod
    def from_status(cls, status: os.stat_result) -> _Seen:
        return cls(status.st_mtime_ns, status.st_size, status.st_ino)


class FileKeys:
    """A ``KeyStore``. Raises ``ValueError`` from the constructor for a file that cannot be understood."""

    def __init__(self, path: Path, *, logger: logging.Logger) -> None:
        self._path = path
        self._logger = logger
        self._by_digest: dict[str, ApiKey] = {}
        self._seen = _Seen()
        try:
            self._read()
        except (OSError, FileInvalid) as error:
            raise ValueError(f"{path}: {error}") from error

    @property
    def configured(self) -> bool:
        """Return whether the file had any key when it was last read, so that a first start need not make one."""
        return bool(self._by_digest)

    async def find(self, digest: str) -> ApiKey | None:
        if self._now() != self._seen:
            try:
                self._read()
            except (OSError, FileInvalid) as error:
                # A slip of the editor must not lock everybody out; the last good keys go on until it is mended.
                self._logger.error("%s: %s; the keys that were read before stay in force", self._path, error)
        return self._by_digest.get(digest)

    def _now(self) -> _Seen:
        try:
            return _Seen.from_status(self._path.stat())
        except OSError:
            return _Seen()

    def _read(self) -> None:
        """Take over the file as it is now. What was seen is noted first, so that one fault is reported once."""
        try:
            file = open_regular(self._path)
        except FileNotFoundError:
            if self._by_digest:
                self._logger.warning("%s is gone and its keys with it", self._path)
            self._seen, self._by_digest = _Seen(), {}
            return
        with file:
            status = os.fstat(file.fileno())
            self._seen = _Seen.from_status(status)
            require_own(self._path)
            data = file.read()
        if stat.S_IMODE(status.st_mode) & 0o077:
            self._logger.warning("%s may be read by others than its owner; set its mode to 0600", self._path)
        self._by_digest = {key.digest: key for key in parse_file(data, modified_ns=status.st_mtime_ns)}
