"""mypy reads the whole once a run; what it knows then saves most of the time of those who ask it about a change."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.made_once import once

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def types(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what mypy has to say of types (``said``) and its cache (``cache``)."""

    def check(folder: Path) -> None:
        # From an earlier run of mypy here.
        if (ROOT / ".mypy_cache").exists():
            shutil.copytree(ROOT / ".mypy_cache", folder / "cache")
        command = [sys.executable, "-m", "mypy", "--cache-dir", str(folder / "cache")]
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        # One that was killed says nothing else.
        said = f"{done.stdout}{done.stderr}exit status {done.returncode}" if done.returncode else ""
        (folder / "said").write_text(said, encoding="utf-8")

    return once(tmp_path_factory, "mypy", check)
