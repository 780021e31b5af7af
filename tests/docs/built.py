"""The site as ``tox -e docs`` builds it, for the tests that look at it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "identity_guide" / "site"


def need_furo() -> None:
    """Skips a module where the extra ``site`` is not installed; in CI it is."""
    if not os.environ.get("CI"):
        pytest.importorskip("furo", reason="pip install 'identity-kernel[site]'")


def build() -> None:
    """Builds the site, anew only what is older than its sources."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-d", ROOT / "docs" / "_build"]
    done = subprocess.run([*command, ROOT / "docs", SITE], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
