"""Builds the sdist of each project and a wheel from each sdist, one process for all: ``build_all.py OUTPUT PROJECT…``."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from setuptools import build_meta


def build(project: Path, output: Path, scratch: Path) -> None:
    # A checkout may have the name of a plugin.
    copied = scratch / f"{project.parent.name}-{project.name}"

    def skipped(folder: str, names: list[str]) -> set[str]:
        at_top = {
            "tests",
            "tools",
            "features",
            "plugins",
            "build",
            "dist",
            *(one for one in names if one.startswith(".")),
        }
        return {
            one
            for one in names
            if one == "__pycache__" or (Path(folder) == project and (one in at_top or one.endswith(".egg-info")))
        }

    shutil.copytree(project, copied, ignore=skipped)
    os.chdir(copied)
    sdist = output / build_meta.build_sdist(str(output))
    unpacked = scratch / f"{copied.name}-unpacked"
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    (top,) = unpacked.iterdir()
    os.chdir(top)
    build_meta.build_wheel(str(output))


def main(output: Path, projects: list[Path]) -> None:
    scratch = output / "scratch"
    scratch.mkdir()
    with contextlib.redirect_stdout(sys.stderr):
        for project in projects:
            # A checkout may have the name of one of its plugins.
            build(project.resolve(), output, Path(tempfile.mkdtemp(dir=scratch)))
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), [Path(word).resolve() for word in sys.argv[2:]])
