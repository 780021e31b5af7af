"""Fixtures of the tests of packages."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.made_once import once
from tests.unit.deploy.packages import PROJECTS, Empty

BUILD = Path(__file__).with_name("build_all.py")


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        done = subprocess.run([sys.executable, BUILD, folder, *PROJECTS], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]

    return once(tmp_path_factory, "packages", make)


@pytest.fixture(scope="session")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the tests' environment has of other authors, and nothing of ours."""

    def make(folder: Path) -> None:
        for place in map(Path, site.getsitepackages()):
            for path in place.iterdir():
                if not path.name.startswith(("identity_", "__editable__")):
                    (folder / path.name).symlink_to(path)

    return once(tmp_path_factory, "packages-of-others", make)


@pytest.fixture
def empty(others: Path, tmp_path: Path) -> Empty:
    folder = tmp_path / "environment"
    venv.EnvBuilder(symlinks=True).create(folder)
    (own,) = folder.glob("lib/python*/site-packages")
    (own / "others.pth").write_text(f"{others}\n")
    dropped = ("IDENTITY_", "API_KEY", "PYTHONPATH", "PIP_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return Empty(folder, kept | {"HOME": str(tmp_path), "PIP_CONFIG_FILE": os.devnull})
