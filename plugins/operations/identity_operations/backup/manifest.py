"""The description of a backup's content: JSON (RFC 8259), sealed with the rest of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from identity_transparency.remembered import Remembered

from identity_codec import jcs, strict_json
from identity_codec.times import parse, printed
from identity_codec.values import value_class
from identity_operations.backup.seal import BackupInvalid
from identity_tlog.note import VerifierKey, open_checkpoint
from identity_tlog.tree import Malformed, Refuted

FORMAT: Final = 1
MOST_BYTES: Final = 1 << 20
MOST_FILES: Final = 256

# One name, no path: nothing in a backup can be written elsewhere than into the folder that it is restored to.
_NAME: Final = re.compile(r"[a-z0-9_][a-z0-9_-]{0,99}\.(?:sqlite|key)", re.ASCII)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


@value_class
class BackedUpFile:
    """A file by its name, its octets and their SHA-256 in hex."""

    name: str
    size: int
    sha256: str


@value_class
class BackupManifest:
    """``version`` is that of identity-service which made it, ``ledger`` and ``custodian`` the names of the plugins,
    ``holders`` that of the custodian that keeps the secrets of holders (None in backups of before). ``schema`` has for each
    table of migrations the number of its last step. ``remembered`` is the end of log and audit log, its checkpoint signed by ``key``,
    which also has the name of the log."""

    created_at: datetime
    version: str
    ledger: str
    custodian: str
    holders: str | None
    schema: Mapping[str, int]
    key: VerifierKey
    remembered: Remembered
    files: tuple[BackedUpFile, ...]

    def encode(self) -> bytes:
        """The JSON."""
        end = self.remembered
        return jcs.canonicalize(
            {
                "format": FORMAT,
                "createdAt": printed(self.created_at),
                "version": self.version,
                "ledger": self.ledger,
                "custodian": self.custodian,
                **({} if self.holders is None else {"holders": self.holders}),
                "schema": dict(self.schema),
                "verifierKey": str(self.key),
                "checkpoint": end.note.decode(),
                "auditLines": end.audit_lines,
                "auditLink": end.audit_link.hex(),
                "files": [{"name": one.name, "size": one.size, "sha256": one.sha256} for one in self.files],
            }
        )

    @classmethod
    def parse(cls, octets: bytes) -> BackupManifest:
        """Raises ``BackupInvalid``."""
        try:
            read = strict_json.loads(octets)
        except strict_json.JsonRefused as error:
            raise BackupInvalid(f"its manifest is broken: {error.reason}") from error
        if not isinstance(read, dict) or type(read.get("format")) is not int or read["format"] < 1:
            raise BackupInvalid("its manifest has no format")
        if read["format"] > FORMAT:
            raise BackupInvalid("it was made by a newer version")
        try:
            manifest = _manifest(read)
            open_checkpoint(manifest.remembered.note, manifest.key)
        except (AttributeError, KeyError, TypeError, ValueError, Refuted) as error:
            raise BackupInvalid(f"its manifest is broken: {type(error).__name__} {error}") from error
        return manifest


def _manifest(read: dict[str, Any]) -> BackupManifest:
    schema = read["schema"]
    if not all(type(number) is int for number in schema.values()):
        raise ValueError("a step has a number")
    link = bytes.fromhex(read["auditLink"])
    # It goes through the form in which it is remembered, which checks it.
    remembered = Remembered.parse(Remembered(read["checkpoint"].encode(), read["auditLines"], link).encode())
    return BackupManifest(
        created_at=parse(read["createdAt"]),
        version=_text(read["version"]),
        ledger=_text(read["ledger"]),
        custodian=_text(read["custodian"]),
        holders=_text(read["holders"]) if "holders" in read else None,
        schema=schema,
        key=VerifierKey.parse(read["verifierKey"]),
        remembered=remembered,
        files=_files(read["files"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > 100:
        raise ValueError("a text is expected")
    return value


def _files(read: Any) -> tuple[BackedUpFile, ...]:
    if not isinstance(read, list) or not 0 < len(read) <= MOST_FILES:
        raise ValueError("files are listed")
    files = tuple(BackedUpFile(one["name"], one["size"], one["sha256"]) for one in read)
    for one in files:
        if not isinstance(one.name, str) or _NAME.fullmatch(one.name) is None:
            raise Malformed(f"no file of a backup is called {one.name!r}")
        if type(one.size) is not int or one.size < 0 or _DIGEST.fullmatch(one.sha256) is None:
            raise Malformed(f"size or hash of {one.name} is none")
    if len({one.name for one in files}) != len(files):
        raise Malformed("a file is listed twice")
    return files
