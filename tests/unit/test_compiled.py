from __future__ import annotations

from pathlib import Path

from tests import compiled


def test_each_half_of_the_tests_is_compiled_as_pytest_does(tmp_path: Path, monkeypatch) -> None:
    """Also beside what cannot be collected, which the run tells."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setattr(compiled, "HERE", ())
    monkeypatch.setattr(compiled.sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.chdir(tmp_path)
    good = [tmp_path / "one", tmp_path / "two"]
    for place in good:
        place.mkdir()
        (place / f"test_{place.name}.py").write_text("def test_it():\n    raise AssertionError\n")
    (tmp_path / "test_broken.py").write_text("import nothing_of_that_name\n")
    compiled.main([*map(str, good), str(tmp_path / "test_broken.py")])
    for place in good:
        assert [path.name for path in place.glob("__pycache__/*-pytest-*.pyc")] != [], place
