"""Builds the image of the service from this checkout, as a folder in the OCI layout, without a daemon.

    python -m deploy.image.build dist/image

Three layers: Debian's Python without a shell (mmdebstrap, which needs root or user namespaces), what ``requirements.lock`` names, each
file held to its hash, and the service with its plugins. The Python that runs this must be of the version of the image's, and in its
environment pip. Prints the digest of the manifest.
``SOURCE_DATE_EPOCH`` is the time of everything in it, 0 where it is not set.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from deploy.image.oci import Entry, layer, of_folder, of_tar, write
from identity_core import __version__

ROOT: Final = Path(__file__).resolve().parents[2]
SUITE, PYTHON = "bookworm", (3, 11)
PACKAGES: Final = ("python3.11-minimal", "libpython3.11-stdlib", "ca-certificates", "libstdc++6")
LIBRARIES: Final = "usr/local/lib/python3.11/dist-packages"
# Files that an operator of the service does not read.
LEFT_OUT: Final = (
    "dev/",
    "proc/",
    "sys/",
    "tmp/",
    "usr/share/doc/",
    "usr/share/man/",
    "usr/share/locale/",
    "var/cache/",
    "var/lib/apt/",
    "var/log/",
)
CERTIFICATES: Final = "usr/share/ca-certificates/mozilla/"
# Folders of distributions that do not run with a server.
BESIDE: Final = ("kit", "mcp")
USER: Final = 65532
DATA: Final = "var/lib/identity"
# Apart from the data: it tells when these were put back.
CHECKPOINT: Final = "var/lib/identity-checkpoint"
MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
CONFIG: Final[dict[str, Any]] = {
    "User": f"{USER}:{USER}",
    "Env": [
        "PATH=/usr/local/bin:/usr/bin",
        "LANG=C.UTF-8",
        "PYTHONDONTWRITEBYTECODE=1",
        "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
        f"IDENTITY_DATA_DIR=/{DATA}",
        f"IDENTITY_LEDGER_CHECKPOINT_PATH=/{CHECKPOINT}/data.checkpoint",
        "IDENTITY_SERVER_HOST=0.0.0.0",
        "IDENTITY_LOG_FORMAT=json",
    ],
    "Entrypoint": ["/usr/local/bin/identity"],
    "Cmd": ["serve"],
    "WorkingDir": f"/{DATA}",
    "ExposedPorts": {"8080/tcp": {}},
    "Volumes": {f"/{DATA}": {}, f"/{CHECKPOINT}": {}},
    "StopSignal": "SIGTERM",
    "Labels": {
        "org.opencontainers.image.title": "identity-service",
        "org.opencontainers.image.version": __version__,
        "org.opencontainers.image.licenses": "Apache-2.0",
    },
}
COMMAND: Final = b"#!/usr/bin/python3.11 -I\nfrom identity_core.cli import main\n\nmain()\n"


def run(*words: str | Path, **environment: str) -> None:
    """A command, whose words on standard output are none of ours."""
    subprocess.run(words, check=True, stdout=sys.stderr, env=os.environ | environment)


def of_system(archive: Path) -> list[Entry]:
    """Debian's Python, and the certificates of authorities in the one file that OpenSSL reads."""
    found = list(of_tar(archive, LEFT_OUT))
    mozilla = sorted((one for one in found if one.path.startswith(CERTIFICATES)), key=lambda one: one.path)
    bundle = b"".join(one.content for one in mozilla if one.content is not None)
    return [
        *(one for one in found if one not in mozilla),
        Entry("etc/ssl/certs/ca-certificates.crt", 0o644, bundle),
        Entry("etc/passwd", 0o644, f"root:x:0:0::/:/\nidentity:x:{USER}:{USER}::/{DATA}:/\n".encode()),
        Entry("etc/group", 0o644, f"root:x:0:\nidentity:x:{USER}:\n".encode()),
        Entry("tmp", 0o1777),
        *(Entry(name, 0o755) for name in ("dev", "proc", "sys")),
    ]


def of_packages(folder: Path) -> Iterator[Entry]:
    """What pip has put into ``folder``, without what depends on where it was built: scripts name the Python of the builder, and
    the record of where a package came from (PEP 610) the checkout."""
    for one in of_folder(folder, LIBRARIES):
        inside = one.path.removeprefix(f"{LIBRARIES}/")
        if inside == "bin" or _is_of_the_builder(inside):
            continue
        if inside.endswith(".dist-info/RECORD") and one.content is not None:
            lines = one.content.decode().splitlines(keepends=True)
            kept = (line for line in lines if not _is_of_the_builder(line.split(",", 1)[0].removeprefix("../../")))
            yield replace(one, content="".join(kept).encode())
        else:
            yield one


def _is_of_the_builder(inside: str) -> bool:
    return inside.startswith("bin/") or inside.endswith(".dist-info/direct_url.json")


def of_service() -> Iterator[Entry]:
    """The command, and the folders for which it alone has the right to write."""
    yield Entry("usr/local/bin/identity", 0o755, COMMAND)
    for folder in (DATA, CHECKPOINT):
        yield Entry(folder, 0o700, owner=USER)


def compiled(folder: Path) -> None:
    """The root is read-only, so that Python could not keep what it compiles. The bytes follow from the source alone: its time is not
    in them, and neither is the order of a set."""
    words = ("-q", "--invalidation-mode", "unchecked-hash", "-s", str(folder), "-p", f"/{LIBRARIES}", str(folder))
    run(sys.executable, "-m", "compileall", *words, PYTHONHASHSEED="0")


def build(output: Path, *, mirror: Sequence[str] = ()) -> str:
    """Writes the layout to ``output``, which must not exist; ``mirror`` are words for mmdebstrap. Returns the digest of the manifest."""
    if sys.version_info[:2] != PYTHON:
        raise SystemExit(f"the image has Python {PYTHON[0]}.{PYTHON[1]}: build it with that")
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    with tempfile.TemporaryDirectory(prefix="identity-image-") as scratch:
        system, locked, own = (Path(scratch, name) for name in ("system.tar", "locked", "own"))
        run("mmdebstrap", "--quiet", "--variant=extract", f"--include={','.join(PACKAGES)}", SUITE, system, *mirror)
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps")
        run(*pip, "--require-hashes", "-r", ROOT / "requirements.lock", "--target", locked)
        sources = [
            ROOT,
            *sorted(path.parent for path in ROOT.glob("p*/*/pyproject.toml") if path.parent.name not in BESIDE),
        ]
        copies = [_clean(source, Path(scratch, "sources", source.name)) for source in sources]
        run(*pip, *copies, "--target", own)
        for folder in (locked, own):
            compiled(folder)
        layers = {
            f"mmdebstrap {SUITE} {' '.join(PACKAGES)}": layer(of_system(system), seconds),
            "pip install -r requirements.lock": layer(of_packages(locked), seconds),
            "pip install . ./packages/* ./plugins/*": layer([*of_packages(own), *of_service()], seconds),
        }
    created = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return write(output, __version__, layers, CONFIG, created=created, machine=MACHINES[platform.machine()])


def _clean(source: Path, copy: Path) -> Path:
    """A copy without what was built there before, which setuptools would take along."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        at_top = (
            {"build", "dist", "tests", "tools", "features", "packages", "plugins"}
            if Path(folder) == source
            else set[str]()
        )
        return {
            one
            for one in names
            if one in at_top or one == "__pycache__" or one.startswith(".") or one.endswith(".egg-info")
        }

    shutil.copytree(source, copy, ignore=left_out)
    return copy


def main() -> None:
    """Builds it and prints the digest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="a folder that is made")
    parser.add_argument("--mirror", action="append", default=[], help="another source of Debian's packages")
    options = parser.parse_args()
    if options.output.exists():
        parser.error(f"{options.output} exists already")
    print(build(options.output, mirror=options.mirror))


if __name__ == "__main__":
    main()
