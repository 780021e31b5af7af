"""The site is built by the first process of a run that looks at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.built import SITE, build
from tests.made_once import once


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    once(tmp_path_factory, "site", lambda _: build())
    return SITE
