"""The reader and writer of a backup: the length of the manifest in eight bytes, the manifest, and the files in its order."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from identity_core.files import settle
from identity_operations.backup.manifest import MOST_BYTES, BackedUpFile, BackupManifest
from identity_operations.backup.seal import BackupInvalid, OperatorKey, SealedReader, SealedWriter

_LENGTH: Final = 8
_PIECE: Final = 1 << 20

Advance = Callable[[int], object]
"""Told how many bytes are done since it was told last."""


def described(path: Path) -> BackedUpFile:
    """Return the description of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return BackedUpFile(path.name, file.tell(), digest)


def write_archive(
    target: BinaryIO, key: OperatorKey, manifest: BackupManifest, folder: Path, *, advance: Advance = lambda data: None
) -> None:
    """Seal the manifest and its files, which lie in ``folder``. Raises ``OSError``."""
    writer = SealedWriter(target, key, random=os.urandom)
    head = manifest.encode()
    writer.write(len(head).to_bytes(_LENGTH, "big") + head)
    for one in manifest.files:
        with (folder / one.name).open("rb") as file:
            while piece := file.read(_PIECE):
                writer.write(piece)
                advance(len(piece))
    writer.end()


def read_archive(
    source: BinaryIO, key: OperatorKey, folder: Path | None, *, advance: Advance = lambda data: None
) -> BackupManifest:
    """Open the seal and compare every file with its hash. With an empty ``folder``, write the files to it (mode 0600, on the disk
    on return). Raises ``BackupInvalid``, ``OSError``; the caller must then remove the files written so far."""
    reader = SealedReader(source, key)
    length = int.from_bytes(reader.read(_LENGTH), "big")
    if length > MOST_BYTES:
        raise BackupInvalid("its manifest is too long")
    manifest = BackupManifest.parse(reader.read(length))
    for one in manifest.files:
        with _open_archive(folder, one.name) as file:
            _copy(reader, one, file, advance)
            if folder is not None:
                settle(file)
    reader.require_end()
    return manifest


def _open_archive(folder: Path | None, name: str) -> BinaryIO:
    if folder is None:
        return open(os.devnull, "wb")
    return os.fdopen(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


def _copy(reader: SealedReader, one: BackedUpFile, file: BinaryIO, advance: Advance) -> None:
    digest, left = hashlib.sha256(), one.size
    while left:
        piece = reader.read(min(left, _PIECE))
        digest.update(piece)
        file.write(piece)
        advance(len(piece))
        left -= len(piece)
    if digest.hexdigest() != one.sha256:
        raise BackupInvalid(f"{one.name} is not what its manifest says")
