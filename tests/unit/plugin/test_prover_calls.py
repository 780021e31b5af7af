"""The calls of extensions to a prover: a module that is missing inside them is reported, an extension that is not installed is not."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from identity_core.plugin import build


def offer(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    one = EntryPoint("toy", value, build.PROVER_CALLS)
    monkeypatch.setattr(build, "entry_points", lambda **_: [one])


@pytest.mark.parametrize("value", ["toy_absent", "toy_absent.calls", "toy_calls.absent"])
def test_an_absent_extension_offers_no_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    (tmp_path / "toy_calls").mkdir()
    (tmp_path / "toy_calls" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    offer(monkeypatch, value)
    assert build.calls_taken(object()) == []
    sys.modules.pop("toy_calls", None)


@pytest.mark.parametrize("missing", ["toy_library", "toy_faulty.inner", "toy_faulty_calls"])
def test_a_module_missing_inside_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, missing: str
) -> None:
    (tmp_path / "toy_faulty.py").write_text(f"import {missing}\n")
    monkeypatch.syspath_prepend(tmp_path)
    offer(monkeypatch, "toy_faulty")
    assert build.calls_taken(object()) == []
    assert f"toy takes no prover: {missing} is missing" in caplog.text
