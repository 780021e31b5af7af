"""The outer form of a backup: a stream of bytes, sealed chunk by chunk.

    identity-backup 1
    {"seal": "file", "key": "<base64>"}
    box of chunk 0, box of chunk 1, …, box of the last chunk

Each box is that of ``crypto.sealing`` (XChaCha20-Poly1305) over a chunk of 1 MiB, the last one shorter, under a random key of the
file alone; with each box its number is authenticated, and whether it is the last. So chunks cannot be exchanged, left out or cut
off, and no part of a chunk is returned before the whole chunk is verified. The random key stands in the second line, sealed under
the operator's key; the rest of that line is authenticated with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO, Final

from msgspec import Struct

from identity_codec import jcs, sealing, strict_json
from identity_codec.values import Hidden
from identity_tlog.note import base64_decode, base64_encode
from identity_tlog.tree import Malformed

MAGIC: Final = b"identity-backup 1\n"
_ANY_VERSION: Final = b"identity-backup "
CHUNK: Final = 1 << 20
_BOX: Final = CHUNK + sealing.OVERHEAD
MOST_HEADER: Final = 1_024
KEY_FILE_LEAST: Final = 32
# A passphrase is stretched before anything is known to be genuine: what a stranger's file may ask for has bounds.
MOST_OPERATIONS: Final = 64
MOST_MEMORY_BYTES: Final = 2 << 30

_KEY_INFO: Final = b"identity backup: operator's key file, v1"
_KEY_PURPOSE: Final = b"identity backup key v1\n"
_CHUNK_PURPOSE: Final = b"identity backup chunk v1\n"


class BackupInvalid(Exception):
    """An invalid backup: another kind of file, changed, cut off, or sealed under another key. The text states which."""


class OperatorKey(Hidden, Struct, frozen=True):
    """The key that a backup is sealed under: the bytes of a key file, 32 or more of full entropy, or a passphrase."""

    secret: bytes
    is_passphrase: bool
    operations: int = sealing.MODERATE[0]
    memory_bytes: int = sealing.MODERATE[1]

    def __post_init__(self) -> None:
        if not self.secret or (not self.is_passphrase and len(self.secret) < KEY_FILE_LEAST):
            raise ValueError("a passphrase is not empty, and a key file has at least 32 bytes")


class SealedWriter:
    """A writer to ``target``, which the caller opens and closes."""

    def __init__(self, target: BinaryIO, key: OperatorKey, *, random: Callable[[int], bytes]) -> None:
        self._target, self._random = target, random
        self._key = random(sealing.KEY_BYTES)
        self._chunk, self._number = bytearray(), 0
        salt = random(sealing.SALT_BYTES) if key.is_passphrase else b""
        header: dict[str, Any] = {"seal": "file"}
        if key.is_passphrase:
            costs = {"operations": key.operations, "memoryBytes": key.memory_bytes}
            header = {"seal": "passphrase", "salt": base64_encode(salt), **costs}
        box = sealing.seal(_master(key, header), self._key, _KEY_PURPOSE + jcs.canonicalize(header), random=random)
        target.write(MAGIC + jcs.canonicalize(header | {"key": base64_encode(box)}) + b"\n")

    def write(self, data: bytes) -> None:
        """Seal complete chunks of the data so far, if more follows them, and buffer the rest."""
        self._chunk += data
        while len(self._chunk) > CHUNK:
            self._write_chunk(bytes(self._chunk[:CHUNK]), is_last=False)
            del self._chunk[:CHUNK]

    def end(self) -> None:
        """Write the last chunk. Without it the file is one that was cut off."""
        self._write_chunk(bytes(self._chunk), is_last=True)

    def _write_chunk(self, chunk: bytes, *, is_last: bool) -> None:
        data = _chunk_data(self._number, is_last=is_last)
        self._target.write(sealing.seal(self._key, chunk, data, random=self._random))
        self._number += 1


class SealedReader:
    """A reader of ``source``. Raises ``BackupInvalid``: for any change of the written data."""

    def __init__(self, source: BinaryIO, key: OperatorKey) -> None:
        magic = source.read(len(MAGIC))
        if magic != MAGIC:
            newer = magic.startswith(_ANY_VERSION)
            raise BackupInvalid("it was made by a newer version" if newer else "it is not a backup")
        header = _header(source.readline(MOST_HEADER + 1))
        try:
            box = base64_decode(header.pop("key"))
            self._key = sealing.unseal(_master(key, header), box, _KEY_PURPOSE + jcs.canonicalize(header))
        except (sealing.BoxInvalid, Malformed) as error:
            raise BackupInvalid("the key is not the one that it was sealed under, or its head was changed") from error
        self._source = source
        self._ahead = source.read(_BOX + 1)
        self._chunk, self._number, self._is_last = b"", 0, False

    def read(self, size: int) -> bytes:
        """Return exactly ``size`` bytes."""
        parts, lacking = [], size
        while lacking:
            if not self._chunk:
                self._next()
            part, self._chunk = self._chunk[:lacking], self._chunk[lacking:]
            parts.append(part)
            lacking -= len(part)
        return b"".join(parts)

    def require_end(self) -> None:
        """Require that no data follows."""
        if not self._is_last and not self._chunk:
            self._next(may_be_empty=True)
        if self._chunk or not self._is_last:
            raise BackupInvalid("there is more in it than its manifest says")

    def _next(self, *, may_be_empty: bool = False) -> None:
        if self._is_last:
            raise BackupInvalid("it ends before what its manifest says")
        box, self._ahead = self._ahead[:_BOX], self._ahead[_BOX:]
        self._is_last = not self._ahead
        try:
            self._chunk = sealing.unseal(self._key, box, _chunk_data(self._number, is_last=self._is_last))
        except sealing.BoxInvalid as error:
            raise BackupInvalid(f"it was changed or cut off at part {self._number}") from error
        self._ahead += self._source.read(_BOX) if not self._is_last else b""
        self._number += 1
        if not self._chunk and not may_be_empty:
            raise BackupInvalid("it ends before what its manifest says")


def _header(line: bytes) -> dict[str, Any]:
    try:
        header = strict_json.loads(line.removesuffix(b"\n"))
    except strict_json.JsonRefused as error:
        raise BackupInvalid(f"its head is broken: {error.reason}") from error
    match header:
        case {"seal": "file", "key": str(), **rest} if not rest:
            return dict(header)
        case {
            "seal": "passphrase",
            "key": str(),
            "salt": str(),
            "operations": int(operations),
            "memoryBytes": int(memory),
            **rest,
        } if not rest and 1 <= operations <= MOST_OPERATIONS and 8192 <= memory <= MOST_MEMORY_BYTES:
            return dict(header)
    raise BackupInvalid("its head is not that of a backup")


def _master(key: OperatorKey, header: dict[str, Any]) -> bytes:
    """Return the key under which the random one is sealed."""
    if header["seal"] == "file":
        if key.is_passphrase:
            raise BackupInvalid("it is sealed under a key file and not under a passphrase")
        return sealing.derive_key(key.secret, info=_KEY_INFO)
    if not key.is_passphrase:
        raise BackupInvalid("it is sealed under a passphrase and not under a key file")
    try:
        salt = base64_decode(header["salt"])
        return sealing.key_from_passphrase(
            key.secret, salt, operations=header["operations"], memory_bytes=header["memoryBytes"]
        )
    except (ValueError, RuntimeError) as error:
        raise BackupInvalid(f"its passphrase cannot be stretched: {error}") from error


def _chunk_data(number: int, *, is_last: bool) -> bytes:
    return _CHUNK_PURPOSE + number.to_bytes(8, "big") + bytes([is_last])
