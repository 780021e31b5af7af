"""The description of a backup's content: JSON (RFC 8259), sealed with the rest of it."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from identity_transparency.remembered import Remembered
from msgspec import UNSET, Meta, Struct, UnsetType

from identity_codec import jcs, strict_json
from identity_codec.times import parse
from identity_operations.backup.seal import BackupInvalid
from identity_tlog.note import VerifierKey, open_checkpoint
from identity_tlog.tree import Malformed, Refuted

FORMAT: Final = 1
MOST_BYTES: Final = 1 << 20
MOST_FILES: Final = 256

Text = Annotated[str, Meta(max_length=100)]


class BackedUpFile(Struct, frozen=True):
    """A file by its name, its size in bytes and their SHA-256 in hex. A name is not a path, so a backup cannot write outside the
    folder of the restore."""

    name: Annotated[str, Meta(pattern=r"\A[a-z0-9_][a-z0-9_-]{0,99}\.(?:sqlite|key)\Z")]
    size: Annotated[int, Meta(ge=0)]
    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class BackupManifest(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The manifest of a backup: the members of the JSON.

    - ``version``: the version of identity-service that made it.
    - ``ledger``, ``custodian``: names of the plugins; ``holders``: that of the custodian of holders' secrets (absent in older backups).
    - ``schema``: the number of the last step, by table of migrations.
    - ``checkpoint``, ``audit_lines``, ``audit_link``: the end of log and audit log. The checkpoint is a note, signed by ``verifier_key``,
      which also has the name of the log; the link is in hex.
    """

    format: int
    created_at: str
    version: Text
    ledger: Text
    custodian: Text
    schema: dict[str, int]
    verifier_key: str
    checkpoint: str
    audit_lines: int
    audit_link: str
    files: Annotated[tuple[BackedUpFile, ...], Meta(min_length=1, max_length=MOST_FILES)]
    holders: Text | UnsetType = UNSET

    @property
    def key(self) -> VerifierKey:
        """Return the key of the log."""
        return VerifierKey.parse(self.verifier_key)

    @property
    def remembered(self) -> Remembered:
        """Return the end of log and audit log, in the form in which it is remembered, which checks it."""
        end = Remembered(self.checkpoint.encode(), self.audit_lines, bytes.fromhex(self.audit_link))
        return Remembered.parse(end.encode())

    def encode(self) -> bytes:
        """Return the JSON."""
        return jcs.canonicalize(msgspec.to_builtins(self))

    @classmethod
    def parse(cls, data: bytes) -> BackupManifest:
        """Return the manifest of the JSON. Raises ``BackupInvalid``."""
        try:
            read = strict_json.loads(data)
        except strict_json.JsonRefused as error:
            raise BackupInvalid(f"its manifest is broken: {error.reason}") from error
        if not isinstance(read, dict) or type(read.get("format")) is not int or read["format"] < 1:
            raise BackupInvalid("its manifest has no format")
        if read["format"] > FORMAT:
            raise BackupInvalid("it was made by a newer version")
        try:
            manifest = msgspec.convert(read, cls)
            parse(manifest.created_at)
            if len({one.name for one in manifest.files}) != len(manifest.files):
                raise Malformed("a file is listed twice")
            open_checkpoint(manifest.remembered.note, manifest.key)
        except (AttributeError, KeyError, TypeError, ValueError, Refuted) as error:
            raise BackupInvalid(f"its manifest is broken: {type(error).__name__} {error}") from error
        return manifest
