"""The image's layout and what its configuration says; ``tools/guide/test_image.py`` builds and runs it, which takes minutes."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from deploy.image.build import CHECKPOINT, CONFIG, DATA, LIBRARIES, USER, compiled, of_packages, of_service, of_system
from deploy.image.oci import Entry, layer, of_folder, of_tar, write
from identity_core.settings import load

CREATED = "2026-01-02T03:04:05Z"


def blob(layout: Path, descriptor: dict[str, Any]) -> bytes:
    data = (layout / "blobs" / descriptor["digest"].replace(":", "/")).read_bytes()
    assert (len(data), hashlib.sha256(data).hexdigest()) == (descriptor["size"], descriptor["digest"][7:])
    return data


def members(data: bytes) -> list[tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return archive.getmembers()


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """What pip leaves: a package, scripts of the builder's Python, and where it came from."""
    folder = tmp_path / "packages"
    for name in ("toy/__init__.py", "bin/toy", "toy-1.dist-info/METADATA", "toy-1.dist-info/direct_url.json"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        here = str(tmp_path) if name.endswith(("direct_url.json", "bin/toy")) else "Name: toy"
        path.write_text("WORDS = {'one', 'two', 'three'}\n" if name.endswith(".py") else here)
    record = "../../bin/toy,sha256={0},1\ntoy/__init__.py,sha256=x,2\ntoy-1.dist-info/direct_url.json,sha256={0},3\n"
    (folder / "toy-1.dist-info/RECORD").write_text(record.format(tmp_path))
    return folder


def test_the_layout_is_that_of_the_specification(tmp_path: Path) -> None:
    layers = {"first": layer([Entry("a", 0o644, b"one")], 0), "second": layer([Entry("b", 0o755)], 0)}
    digest = write(tmp_path / "image", "1.0.0", layers, CONFIG, created=CREATED, machine="amd64")
    assert json.loads((tmp_path / "image/oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    index = json.loads((tmp_path / "image/index.json").read_text())
    (named,) = index["manifests"]
    assert (index["schemaVersion"], named["digest"]) == (2, digest)
    assert named["annotations"] == {"org.opencontainers.image.ref.name": "1.0.0"}
    manifest = json.loads(blob(tmp_path / "image", named))
    config = json.loads(blob(tmp_path / "image", manifest["config"]))
    unpacked = [gzip.decompress(blob(tmp_path / "image", one)) for one in manifest["layers"]]
    assert unpacked == list(layers.values())
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(one).hexdigest()}" for one in unpacked]
    assert [one["created_by"] for one in config["history"]] == ["first", "second"]
    assert (config["os"], config["architecture"], config["config"]) == ("linux", "amd64", CONFIG)
    named_files = {one["digest"][7:] for one in (named, manifest["config"], *manifest["layers"])}
    assert {path.name for path in (tmp_path / "image/blobs/sha256").iterdir()} == named_files


def test_it_is_the_same_whoever_builds_it_and_whenever(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another time, order and mode of the files, and what Python compiles under another seed."""
    found = []
    for turn, seed in enumerate((3, 4)):
        folder = tmp_path / f"built-{turn}"
        folder.mkdir()
        for path in sorted(packages.rglob("*"), reverse=bool(turn)):
            if path.is_file():
                copy = folder / path.relative_to(packages)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
                copy.chmod(0o644 if turn else 0o666)
                os.utime(copy, (turn, turn))
        monkeypatch.setenv("PYTHONHASHSEED", str(seed))
        compiled(folder)
        found.append(layer([*of_packages(folder), *of_service()], 7))
        write(tmp_path / f"image-{turn}", "1", {"": found[-1]}, CONFIG, created=CREATED, machine="amd64")
    assert found[0] == found[1]
    assert (tmp_path / "image-0/index.json").read_bytes() == (tmp_path / "image-1/index.json").read_bytes()
    names = [one.name for one in members(found[0])]
    assert names == sorted(names)
    assert f"{LIBRARIES}/toy/__pycache__/__init__.{sys.implementation.cache_tag}.pyc" in names
    assert not [name for name in names if "/bin/toy" in name or name.endswith("direct_url.json")]
    assert str(tmp_path).encode() not in found[0], "nothing says where it was built"
    assert {one.mtime for one in members(found[0])} == {7}


def test_nothing_gets_rights_from_a_layer(tmp_path: Path) -> None:
    """Programs that are setuid are not, devices are left out, and a name that leads elsewhere is a name in the image."""
    archive = tmp_path / "root.tar"
    with tarfile.open(archive, "w") as written:
        for name, kind in (
            ("./usr/bin/su", tarfile.REGTYPE),
            ("./dev/sda", tarfile.BLKTYPE),
            ("./usr/lib/x", tarfile.SYMTYPE),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.mode, info.uid, info.linkname = kind, 0o6755, 1000, "y" if kind == tarfile.SYMTYPE else ""
            written.addfile(info, io.BytesIO() if kind == tarfile.REGTYPE else None)
    su, link = members(layer(of_tar(archive, ("dev/",)), 0))
    assert (su.name, su.mode, su.uid) == ("usr/bin/su", 0o755, 0)
    assert (link.name, link.linkname, link.issym()) == ("usr/lib/x", "y", True)


def test_the_system_has_the_authorities_in_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "root/usr/share/ca-certificates/mozilla"
    folder.mkdir(parents=True)
    (folder / "b.crt").write_text("B\n")
    (folder / "a.crt").write_text("A\n")
    with tarfile.open(tmp_path / "root.tar", "w") as written:
        written.add(tmp_path / "root", ".")
    found = {one.path: one for one in of_system(tmp_path / "root.tar")}
    assert found["etc/ssl/certs/ca-certificates.crt"].content == b"A\nB\n"
    assert f"identity:x:{USER}:{USER}:".encode() in (found["etc/passwd"].content or b"")
    assert not [path for path in found if path.startswith("usr/share/ca-certificates/mozilla/")]


def test_the_configuration_is_one_that_the_service_takes() -> None:
    """Not root, what it writes in volumes, and each variable the name of a setting."""
    assert CONFIG["User"] == f"{USER}:{USER}"
    assert USER > 0
    variables = dict(each.split("=", 1) for each in CONFIG["Env"])
    settings = load(environment=variables)
    assert settings.data_dir == Path("/", DATA)
    assert settings.ledger.checkpoint_path is not None
    assert list(CONFIG["Volumes"]) == [str(settings.data_dir), str(settings.ledger.checkpoint_path.parent)]
    assert list(CONFIG["ExposedPorts"]) == [f"{settings.server.port}/tcp"]
    assert settings.server.host == "0.0.0.0"
    (entry,) = [one for one in of_service() if f"/{one.path}" == CONFIG["Entrypoint"][0]]
    assert entry.mode & 0o111
    written = [one for one in of_service() if one.path in (DATA, CHECKPOINT)]
    assert [(one.owner, one.mode) for one in written] == [(USER, 0o700)] * 2


def test_a_link_of_a_folder_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/link").symlink_to("/etc/passwd")
    (one,) = of_folder(tmp_path / "folder", "opt")
    assert (one.path, one.target, one.content) == ("opt/link", "/etc/passwd", None)
