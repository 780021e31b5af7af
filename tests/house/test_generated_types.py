"""Who checks types as strictly as we do can use the generated Python client: mypy finds nothing in it."""

from pathlib import Path

import pytest
from mypy import api

from openapi.clients import PACKAGE, build_python_client


def test_the_generated_client_is_strictly_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = build_python_client(tmp_path)
    monkeypatch.chdir(client)
    said, refused, status = api.run(["--strict", "--config-file", "", "--cache-dir", str(tmp_path / "cache"), PACKAGE])
    assert (refused, status) == ("", 0), said
