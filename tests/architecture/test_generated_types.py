"""Who checks types as strictly as we do can use the generated Python client: mypy finds nothing in it."""

import shutil
from pathlib import Path

import pytest
from mypy import api

from openapi.clients import PACKAGE, PYTHON_CLIENT, build_python_client
from tests.made_once import once

CONFIGURATION = Path(__file__).resolve().parents[2] / "pyproject.toml"


def test_the_generated_client_is_strictly_typed(
    types: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The options are those of the cache: ours are strict, too.
    shutil.copytree(types / "cache", tmp_path / "cache")
    client = once(tmp_path_factory, "python-client", build_python_client) / PYTHON_CLIENT
    monkeypatch.chdir(client)
    said, refused, status = api.run(
        ["--config-file", str(CONFIGURATION), "--cache-dir", str(tmp_path / "cache"), PACKAGE]
    )
    assert (refused, status) == ("", 0), said
