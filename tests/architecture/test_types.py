"""mypy finds nothing in what pyproject.toml tells it to read."""

from pathlib import Path


def test_mypy_finds_nothing(types: Path) -> None:
    assert (types / "said").read_text("utf-8") == ""
