"""The programs that render, build and install a template. Without them the tests skip; in CI they fail."""

from __future__ import annotations

import importlib.util
import os

import pytest


@pytest.fixture(scope="session")
def tools() -> None:
    """copier renders, setuptools builds without isolation, pip installs: no network anywhere."""
    missing = [name for name in ("copier", "setuptools", "pip") if importlib.util.find_spec(name) is None]
    if missing and not os.environ.get("CI"):
        pytest.skip(f"not installed: {', '.join(missing)}")
    assert missing == []
