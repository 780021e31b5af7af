"""An image as the OCI Image Format Specification 1.1 lays it out in a folder, written without a daemon.

The same files give the same bytes, whenever and by whomever they are written: a layer is sorted, belongs to root unless it says
otherwise, has one time, and no file in it is setuid.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

_MEDIA = "application/vnd.oci.image"
_INDEX, _MANIFEST = f"{_MEDIA}.index.v1+json", f"{_MEDIA}.manifest.v1+json"
_CONFIG, _LAYER = f"{_MEDIA}.config.v1+json", f"{_MEDIA}.layer.v1.tar+gzip"
_SETUID_AND_SETGID = 0o6000


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, folder or link of a layer. ``path`` is relative to the root; of a link ``target`` is where it leads."""

    path: str
    mode: int
    content: bytes | None = None
    target: str | None = None
    owner: int = 0

    def header(self, seconds: int) -> tarfile.TarInfo:
        """As tar has it."""
        info = tarfile.TarInfo(self.path)
        info.mode, info.uid, info.gid, info.mtime = self.mode & ~_SETUID_AND_SETGID, self.owner, self.owner, seconds
        if self.target is not None:
            info.type, info.linkname, info.mode = tarfile.SYMTYPE, self.target, 0o777
        elif self.content is None:
            info.type = tarfile.DIRTYPE
        else:
            info.size = len(self.content)
        return info


def of_folder(folder: Path, place: str) -> Iterator[Entry]:
    """Everything in ``folder``, for ``place`` in the image. Of the modes only that a file is executable is kept."""
    for path in folder.rglob("*"):
        name = f"{place}/{path.relative_to(folder).as_posix()}"
        if path.is_symlink():
            yield Entry(name, 0o777, target=os.readlink(path))
        elif path.is_dir():
            yield Entry(name, 0o755)
        else:
            yield Entry(name, 0o755 if path.stat().st_mode & 0o111 else 0o644, path.read_bytes())


def of_tar(archive: Path, left_out: Sequence[str]) -> Iterator[Entry]:
    """Everything in a tar of a root but what begins with one of ``left_out``, and devices. A hard link is a file of its own."""
    with tarfile.open(archive) as opened:
        for member in opened:
            name = member.name.removeprefix("./")
            if name in (".", "") or name.startswith(tuple(left_out)):
                continue
            found = Entry(name, member.mode)
            if member.issym():
                yield replace(found, target=member.linkname)
            elif member.isdir():
                yield found
            elif (file := opened.extractfile(member)) is not None:
                yield replace(found, content=file.read())


def layer(entries: Iterable[Entry], seconds: int) -> bytes:
    """An uncompressed layer; of two entries of one path the later counts."""
    by_path = {entry.path: entry for entry in entries}
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for _, entry in sorted(by_path.items()):
            archive.addfile(entry.header(seconds), None if entry.content is None else io.BytesIO(entry.content))
    return written.getvalue()


def write(
    folder: Path, name: str, layers: Mapping[str, bytes], config: Mapping[str, Any], *, created: str, machine: str
) -> str:
    """Writes the layout to ``folder``, which must not exist. ``layers`` are uncompressed, each under the words that its history says of it.
    Returns the digest of the manifest, by which the image is known."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def blob(data: bytes, kind: str) -> dict[str, Any]:
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}

    described = {
        "created": created,
        "architecture": machine,
        "os": "linux",
        "config": config,
        "rootfs": {
            "type": "layers",
            "diff_ids": [f"sha256:{hashlib.sha256(one).hexdigest()}" for one in layers.values()],
        },
        "history": [{"created": created, "created_by": words} for words in layers],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": blob(_encoded(described), _CONFIG),
        "layers": [blob(gzip.compress(one, 6, mtime=0), _LAYER) for one in layers.values()],
    }
    found = blob(_encoded(manifest), _MANIFEST)
    named = {**found, "annotations": {"org.opencontainers.image.ref.name": name}}
    (folder / "index.json").write_bytes(_encoded({"schemaVersion": 2, "mediaType": _INDEX, "manifests": [named]}))
    (folder / "oci-layout").write_bytes(_encoded({"imageLayoutVersion": "1.0.0"}))
    return str(found["digest"])


def _encoded(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
