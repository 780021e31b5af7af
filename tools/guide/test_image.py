"""The image of ``deploy/image``, built without a daemon and run: its root is read-only, its user is not root, its network is loopback.

It needs root (or sudo without a password), a kernel that gives namespaces, mmdebstrap, and a mirror of Debian.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tools.guide.followed import give_up

ROOT = Path(__file__).parents[2]
OWN = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child")
# What a runtime does of the specification: a root that cannot be written to, a volume, and what the image's configuration says.
RUN = """
set -eu
root=$1 data=$2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
touch "$root/dev/null" "$root/dev/urandom"
mount --bind /dev/null "$root/dev/null"
mount --bind /dev/urandom "$root/dev/urandom"
mount --bind "$data" "$root/var/lib/identity"
mount --bind "$data.remembered" "$root/var/lib/identity-checkpoint"
mount -o remount,ro,bind "$root"
ip link set lo up
contained="chroot --userspec=$IMAGE_USER --groups= $root /usr/bin/python3.11 -Ic"
$contained "$CONTAINED" keys create --name probe --admin --json >/mnt/key
$contained "$CONTAINED" serve >"$data.log" 2>&1 &
asked=0
until curl --silent --fail http://127.0.0.1:8080/health >/mnt/health; do
    asked=$((asked + 1))
    if [ $asked -gt 600 ] || ! kill -0 $!; then cat "$data.log" >&2; exit 1; fi
    sleep 0.2
done
grep -E '^(Uid|CapEff)' "$root/proc/$!/status" >/mnt/status
key=$(sed -n 's/.*"apiKey": "\\(.*\\)".*/\\1/p' /mnt/key)
(umask 077; printf %s "$key" >"$root/tmp/key"; chown "$IMAGE_USER" "$root/tmp/key")
$contained "$CONTAINED" probe http://127.0.0.1:8080 --api-key /tmp/key --json >/mnt/probe
kill -TERM $!
wait $!
cat /mnt/health; echo; cat /mnt/status /mnt/probe
"""
# Runs what the image says: its environment and no other, its entry point, and first sees that its root is read-only.
CONTAINED = """
import os, sys
config = {config!r}
for place in ("/", "/usr/local/lib/python3.11/dist-packages", "/etc"):
    try:
        open(place + "/written", "w")
    except OSError as error:
        assert error.errno == 30, error
    else:
        sys.exit("the root can be written to")
os.chdir(config["WorkingDir"])
words = [*config["Entrypoint"], *(sys.argv[1:] or config["Cmd"])]
os.execve(words[0], words, dict(each.split("=", 1) for each in config["Env"]))
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if os.geteuid() != 0:
        give_up("only root may make another root")
    if shutil.which("mmdebstrap") is None:
        give_up("mmdebstrap is not installed (Debian: mmdebstrap)")
    folder = tmp_path_factory.mktemp("image") / "layout"
    command = [sys.executable, "-m", "deploy.image.build", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1500)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == json.loads((folder / "index.json").read_text())["manifests"][0]["digest"]
    return folder


def blob(layout: Path, descriptor: dict[str, Any]) -> bytes:
    """What a descriptor names, held to it."""
    data = (layout / "blobs" / descriptor["digest"].replace(":", "/")).read_bytes()
    assert len(data) == descriptor["size"]
    assert hashlib.sha256(data).hexdigest() == descriptor["digest"].removeprefix("sha256:")
    return data


@pytest.fixture(scope="module")
def unpacked(image: Path) -> tuple[Path, dict[str, Any]]:
    """The root that the layers make, and the configuration of the image."""
    (named,) = json.loads((image / "index.json").read_text())["manifests"]
    manifest = json.loads(blob(image, named))
    config = json.loads(blob(image, manifest["config"]))
    root = image.with_name("root")
    root.mkdir(mode=0o755)
    for descriptor, expected in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        data = gzip.decompress(blob(image, descriptor))
        assert f"sha256:{hashlib.sha256(data).hexdigest()}" == expected
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(root, numeric_owner=True, filter="fully_trusted")
    return root, config["config"]


def test_it_serves_from_a_read_only_root_as_nobody(unpacked: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    root, config = unpacked
    data = tmp_path / "data"
    user, group = map(int, config["User"].split(":"))
    for volume in (data, tmp_path / "data.remembered"):
        volume.mkdir(mode=0o700)
        os.chown(volume, user, group)
    variables = {
        "IMAGE_USER": config["User"],
        "CONTAINED": CONTAINED.format(config=config),
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    }
    command = [*OWN, "sh", "-c", f"mount -t tmpfs tmpfs /mnt\n{RUN}", "sh", str(root), str(data)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    health, uid, capabilities, *told = done.stdout.splitlines()
    assert json.loads(health)["status"] == "ok"
    assert uid.split()[1:] == [str(user)] * 4
    assert int(capabilities.split()[1], 16) == 0
    assert json.loads("\n".join(told))["healthy"] is True
    assert (tmp_path / "data.remembered/data.checkpoint").stat().st_uid == user


def test_nothing_in_it_gives_rights_or_is_a_shell(unpacked: tuple[Path, dict[str, Any]]) -> None:
    root, config = unpacked
    user = int(config["User"].split(":")[0])
    for path in root.rglob("*"):
        about = path.lstat()
        assert about.st_mode & 0o6000 == 0, path
        inside = path.relative_to(root).as_posix()
        assert about.st_uid == (user if f"/{inside}" in config["Volumes"] else 0), path
        assert path.is_symlink() or not about.st_mode & 0o002 or inside == "tmp", path
    assert not [
        name
        for name in ("sh", "bash", "dash", "su")
        if (root / "usr/bin" / name).exists() or (root / "bin" / name).exists()
    ]
