"""Where the vectors lie: ``IDENTITY_VECTORS``, and then all of them; else beside the checkout, where absent ones are skipped visibly."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

NAMED = os.environ.get("IDENTITY_VECTORS")
ROOT = Path(NAMED or Path(__file__).parents[2] / "../shared/vectors").resolve()


def vector(path: str) -> Path:
    """The file, or a skip that says which is missing."""
    found = ROOT / path
    if not found.exists():
        if NAMED:
            pytest.fail(f"IDENTITY_VECTORS lacks {path}")
        pytest.skip(f"no vectors here: {path}")
    return found


def vector_json(path: str) -> Any:
    """The parsed file."""
    return json.loads(vector(path).read_bytes())


def match_paths(pattern: str) -> list[str]:
    """The paths that match, for parametrize; one placeholder where there is nothing, so that the skip is seen."""
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern)) or [pattern]
