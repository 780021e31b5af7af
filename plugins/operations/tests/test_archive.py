"""The sealed file of a backup: what was written comes out, and nothing else does, whatever was done to it."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from identity_operations.backup import seal
from identity_operations.backup.archive import described, read_archive, write_archive
from identity_operations.backup.manifest import FORMAT, BackedUpFile, BackupManifest
from identity_operations.backup.seal import CHUNK, MAGIC, BackupInvalid, OperatorKey, SealedReader, SealedWriter
from msgspec import UNSET

from identity_codec import ed25519, sealing
from identity_codec.values import replace
from identity_tlog.note import Checkpoint, VerifierKey, base64_encode, sign_checkpoint
from identity_tlog.tree import EMPTY_ROOT

KEY = OperatorKey(bytes(range(32)), is_passphrase=False)
OTHER = OperatorKey(bytes(32), is_passphrase=False)
# The least that libsodium takes.
PHRASE = OperatorKey(b"correct horse", is_passphrase=True, operations=1, memory_bytes=8192)
PAIR = ed25519.generate(bytes(32))
LOG = VerifierKey("log.example", PAIR.public)
BOX = CHUNK + sealing.OVERHEAD


def sealed(data: bytes, key: OperatorKey = KEY) -> bytes:
    target = io.BytesIO()
    writer = SealedWriter(target, key, random=os.urandom)
    for at in range(0, len(data), 700_001):
        writer.write(data[at : at + 700_001])
    writer.end()
    return target.getvalue()


def read_sealed(data: bytes, size: int, key: OperatorKey = KEY) -> bytes:
    reader = SealedReader(io.BytesIO(data), key)
    found = reader.read(size)
    reader.require_end()
    return found


def body_at(data: bytes) -> int:
    """Return where the boxes begin."""
    return data.index(b"\n", len(MAGIC)) + 1


@pytest.mark.parametrize("size", [1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 5])
@pytest.mark.parametrize("key", [KEY, PHRASE], ids=["file", "passphrase"])
def test_sealed_archive_is_opened(size: int, key: OperatorKey) -> None:
    data = os.urandom(size)
    assert read_sealed(sealed(data, key), size, key) == data


def test_nothing_of_it_can_be_read_without_the_key() -> None:
    data = sealed(b"attack at dawn" * 100)
    assert b"attack" not in data
    assert KEY.secret not in data
    for wrong in (OTHER, PHRASE):
        with pytest.raises(BackupInvalid, match="key"):
            SealedReader(io.BytesIO(data), wrong)
    with pytest.raises(BackupInvalid, match="under a passphrase"):
        SealedReader(io.BytesIO(sealed(b"x", PHRASE)), KEY)


def test_every_flipped_bit_is_found() -> None:
    data = sealed(b"some bytes.")
    for at in range(len(data)):
        broken = bytearray(data)
        broken[at] ^= 1
        with pytest.raises(BackupInvalid):
            read_sealed(bytes(broken), 11)


def test_a_flipped_bit_far_in_is_found() -> None:
    data = sealed(bytes(3 * CHUNK + 9))
    for at in (body_at(data), body_at(data) + BOX + 7, len(data) - 1):
        broken = bytearray(data)
        broken[at] ^= 0x80
        with pytest.raises(BackupInvalid, match="changed or cut off"):
            read_sealed(bytes(broken), 3 * CHUNK + 9)


def swapped(data: bytes) -> bytes:
    start = body_at(data)
    first, second = data[start : start + BOX], data[start + BOX : start + 2 * BOX]
    return data[:start] + second + first + data[start + 2 * BOX :]


def without_one(data: bytes) -> bytes:
    start = body_at(data)
    return data[:start] + data[start + BOX :]


@pytest.mark.parametrize(
    "harm",
    [
        lambda data: data[:-1],
        lambda data: data[: body_at(data) + 2 * BOX],
        lambda data: data[: body_at(data)],
        lambda data: data[: len(MAGIC) + 5],
        lambda data: b"",
        lambda data: data + b"\0",
        lambda data: data + data[body_at(data) : body_at(data) + BOX],
        swapped,
        without_one,
    ],
    ids=["octet_less", "chunk_less", "no_chunks", "half_a_head", "empty", "octet_more", "chunk_more", "swapped", "gap"],
)
def test_cut_added_or_moved_bytes_are_found(harm: Callable[[bytes], bytes]) -> None:
    with pytest.raises(BackupInvalid):
        read_sealed(harm(sealed(bytes(2 * CHUNK + 9))), 2 * CHUNK + 9)


def test_a_chunk_of_another_backup_is_found() -> None:
    one, other = sealed(bytes(2 * CHUNK)), sealed(bytes(2 * CHUNK))
    mixed = one[: body_at(one) + BOX] + other[body_at(other) + BOX :]
    with pytest.raises(BackupInvalid, match="part 1"):
        read_sealed(mixed, 2 * CHUNK)


def test_more_than_was_asked_for_is_found() -> None:
    with pytest.raises(BackupInvalid, match="more in it"):
        read_sealed(sealed(b"12345"), 4)
    with pytest.raises(BackupInvalid, match="more in it"):
        read_sealed(sealed(bytes(CHUNK + 1)), CHUNK)
    with pytest.raises(BackupInvalid, match="ends before"):
        read_sealed(sealed(b"12345"), 6)


@pytest.mark.parametrize(
    ("head", "says"),
    [
        (b"identity-backup 2\n{}", "newer version"),
        (b"PK\x03\x04 something else entirely", "not a backup"),
        (MAGIC + b"[]\n", "not that of a backup"),
        (MAGIC + b'{"seal":"file"}\n', "not that of a backup"),
        (MAGIC + b'{"seal":"file","key":"AA==","x":1}\n', "not that of a backup"),
        (MAGIC + b'{"seal":"file","key":"A"}\n', "key is not"),
        (MAGIC + b"{" + b" " * 4000 + b"}\n", "head is broken"),
        (MAGIC + b'{"seal":"file","seal":"file","key":""}\n', "head is broken"),
    ],
)
def test_heads_of_other_files(head: bytes, says: str) -> None:
    with pytest.raises(BackupInvalid, match=says):
        SealedReader(io.BytesIO(head), KEY)


@pytest.mark.parametrize(
    "costs",
    [
        {"operations": 1 << 40, "memoryBytes": 8192},
        {"operations": 1, "memoryBytes": 1 << 50},
        {"operations": 0, "memoryBytes": 8192},
        {"operations": 1, "memoryBytes": 1},
        {"operations": 1, "memoryBytes": 8192, "salt": "AA=="},
    ],
)
def test_a_head_cannot_make_its_reader_work_without_end(costs: dict[str, Any]) -> None:
    header = {"seal": "passphrase", "salt": base64_encode(bytes(16)), "key": base64_encode(bytes(80)), **costs}
    with pytest.raises(BackupInvalid, match=r"not that of a backup|cannot be stretched"):
        SealedReader(io.BytesIO(MAGIC + json.dumps(header).encode() + b"\n"), PHRASE)


def test_costs_are_authenticated() -> None:
    data = sealed(b"x", PHRASE)
    assert b'"operations":1' in data
    with pytest.raises(BackupInvalid):
        read_sealed(data.replace(b'"operations":1', b'"operations":2'), 1, PHRASE)


@pytest.mark.parametrize(("secret", "is_passphrase"), [(b"", True), (b"", False), (bytes(31), False)])
def test_a_weak_key_is_refused(secret: bytes, is_passphrase: bool) -> None:
    with pytest.raises(ValueError, match="at least 32"):
        OperatorKey(secret, is_passphrase)


# BackupManifest and files


def note(key: VerifierKey = LOG) -> bytes:
    checkpoint = Checkpoint(key.name, 0, EMPTY_ROOT)
    return sign_checkpoint(checkpoint, key, PAIR.sign(checkpoint.text.encode()))


def manifest(*files: BackedUpFile) -> BackupManifest:
    return BackupManifest(
        format=FORMAT,
        created_at="2026-01-02T00:00:00Z",
        version="1.0.0",
        ledger="sql",
        custodian="sealed",
        schema={"store_migrations": 13},
        verifier_key=str(LOG),
        checkpoint=note().decode(),
        audit_lines=3,
        audit_link=bytes(32).hex(),
        files=files,
        holders="pkcs11",
    )


@pytest.fixture
def content(tmp_path: Path) -> Path:
    folder = tmp_path / "content"
    folder.mkdir()
    (folder / "ledger.sqlite").write_bytes(os.urandom(CHUNK + 12_345))
    (folder / "custodian.key").write_bytes(bytes(range(32)))
    (folder / "keys.sqlite").write_bytes(b"")
    return folder


def archived(content: Path) -> bytes:
    target = io.BytesIO()
    write_archive(target, KEY, manifest(*map(described, sorted(content.iterdir()))), content)
    return target.getvalue()


def crafted(head: dict[str, Any], files: bytes = b"") -> io.BytesIO:
    """Make an archive with the operator's key, and no code of the service but the seal."""
    data = json.dumps(head).encode()
    return io.BytesIO(sealed(len(data).to_bytes(8, "big") + data + files))


def test_files_come_out_as_they_were(content: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    read = read_archive(io.BytesIO(archived(content)), KEY, target)
    assert read == manifest(*map(described, sorted(content.iterdir())))
    assert {path.name: path.read_bytes() for path in target.iterdir()} == {
        path.name: path.read_bytes() for path in content.iterdir()
    }
    assert {path.stat().st_mode & 0o777 for path in target.iterdir()} == {0o600}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "../evil.sqlite",
            "/tmp/evil.sqlite",
            "a/b.sqlite",
            "..",
            ".",
            "",
            "evil",
            "x.sqlite-wal",
            "limits.lock",
            ".x.key",
        ),
        *(
            "A.sqlite",
            "x.sqlite\n",
            "x\0.sqlite",
            "x.sqlite/",
            "..\\x.sqlite",
            "ö.sqlite",
            "custodian.key/../../x.key",
            7,
            None,
        ),
    ],
)
def test_no_name_leads_out_of_the_folder(content: Path, tmp_path: Path, name: Any) -> None:
    head = json.loads(manifest(*map(described, sorted(content.iterdir()))).encode())
    head["files"][0]["name"] = name
    target = tmp_path / "deep" / "target"
    target.mkdir(parents=True)
    with pytest.raises(BackupInvalid, match="manifest is broken"):
        read_archive(crafted(head, bytes(2 * CHUNK)), KEY, target)
    assert sorted(tmp_path.rglob("*")) == sorted([*content.iterdir(), content, target, target.parent])


def test_a_file_is_listed_once(content: Path, tmp_path: Path) -> None:
    files = [described(path) for path in sorted(content.iterdir())]
    with pytest.raises(BackupInvalid, match="listed twice"):
        read_archive(crafted(json.loads(manifest(*files, files[0]).encode())), KEY, tmp_path)


def test_a_file_that_is_not_its_hash_is_refused(content: Path, tmp_path: Path) -> None:
    files = [replace(described(content / "custodian.key"), sha256="0" * 64)]
    with pytest.raises(BackupInvalid, match=r"custodian\.key is not what its manifest says"):
        read_archive(crafted(json.loads(manifest(*files).encode()), bytes(range(32))), KEY, tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": 2}, "newer version"),
        ({"format": "1"}, "no format"),
        ({"files": []}, "manifest is broken"),
        ({"files": [{"name": "x.key", "size": -1, "sha256": "0" * 64}]}, "manifest is broken"),
        ({"files": [{"name": "x.key", "size": 1, "sha256": "zz"}]}, "manifest is broken"),
        ({"files": [{"name": "x.key", "size": True, "sha256": "0" * 64}]}, "manifest is broken"),
        ({"schema": {"store_migrations": "13"}}, "manifest is broken"),
        ({"auditLines": -1}, "manifest is broken"),
        ({"auditLink": "00"}, "manifest is broken"),
        ({"checkpoint": "none"}, "manifest is broken"),
        ({"checkpoint": note().decode().replace("log.example\n0", "log.example\n9")}, "manifest is broken"),
        ({"verifierKey": str(VerifierKey("other.example", PAIR.public))}, "manifest is broken"),
        ({"version": "1" * 500}, "manifest is broken"),
        ({"createdAt": "yesterday"}, "manifest is broken"),
        ({"format": 0}, "no format"),
        *(
            ({name: value}, "manifest is broken")
            for name in ("createdAt", "schema", "verifierKey", "checkpoint", "auditLines", "auditLink", "files")
            for value in (None, True, [1], {"a": "b"}, "x")
        ),
    ],
)
def test_manifests_that_are_none(content: Path, tmp_path: Path, change: dict[str, Any], says: str) -> None:
    head = json.loads(manifest(described(content / "custodian.key")).encode())
    with pytest.raises(BackupInvalid, match=says):
        read_archive(crafted(head | change), KEY, tmp_path)
    assert not (tmp_path / "x.key").exists()


def test_the_manifest_has_a_bound(tmp_path: Path) -> None:
    with pytest.raises(BackupInvalid, match="too long"):
        read_archive(io.BytesIO(sealed((1 << 60).to_bytes(8, "big"))), KEY, tmp_path)
    with pytest.raises(BackupInvalid, match="manifest is broken"):
        read_archive(io.BytesIO(sealed((2).to_bytes(8, "big") + b"[1")), KEY, tmp_path)


def test_a_box_of_chunk_size_is_what_the_reader_takes() -> None:
    assert len(sealed(bytes(CHUNK))) - body_at(sealed(bytes(CHUNK))) == seal.CHUNK + sealing.OVERHEAD


def test_a_manifest_of_before_names_no_keeper_of_holders_secrets(content: Path) -> None:
    whole = manifest(*map(described, sorted(content.iterdir())))
    assert BackupManifest.parse(whole.encode()) == whole
    read = json.loads(whole.encode())
    assert read.pop("holders") == "pkcs11"
    before = BackupManifest.parse(json.dumps(read).encode())
    assert before == replace(whole, holders=UNSET)
    assert "holders" not in json.loads(before.encode())
    for wrong in (7, None, "x" * 101):
        with pytest.raises(BackupInvalid):
            BackupManifest.parse(json.dumps({**read, "holders": wrong}).encode())
