"""mypy compares the changes of ``replace`` with the fields of a Struct."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api")

ASSIGNS = """
from msgspec import Struct
from identity_codec.values import replace

class Place(Struct, frozen=True):
    name: str

place = replace(Place("here"), name="there")
reveal_type(place)
place.name = "nowhere"
replace(place, other="")
"""


def test_mypy_lets_no_one_assign_a_field(types: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # mypy does not follow editable installations.
    monkeypatch.setenv("MYPYPATH", str(Path("packages/identity_codec").resolve()))
    shutil.copytree(types / "cache", tmp_path / "cache")
    (tmp_path / "assigns.py").write_text(ASSIGNS)
    arguments = [str(tmp_path / "assigns.py"), "--cache-dir", str(tmp_path / "cache"), "--config-file", ""]
    found, _, status = api.run(arguments)
    assert status == 1
    assert 'Revealed type is "assigns.Place"' in found
    assert 'assigns.py:10: error: Property "name" defined in "Place" is read-only' in found
