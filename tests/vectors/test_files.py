"""Test data that a variable promises must exist; without it its tests skip."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vectors import files


@pytest.mark.parametrize(("named", "end"), [("/somewhere", pytest.fail.Exception), (None, pytest.skip.Exception)])
def test_absent_file_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str | None, end: type[BaseException]
) -> None:
    monkeypatch.setattr(files, "ROOT", tmp_path)
    monkeypatch.setattr(files, "NAMED", named)
    with pytest.raises(end, match="none"):
        files.vector("bbs/none")
