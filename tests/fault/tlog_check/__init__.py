"""A verifier of consistency proofs that is not ours: ``tlog`` of golang.org/x/mod, copied from the Go toolchain."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.made_once import once

HERE = Path(__file__).parent
TLOG = "src/cmd/vendor/golang.org/x/mod/sumdb/tlog"


def build(factory: pytest.TempPathFactory) -> Path:
    """Return the program, built once a run. Skip where there is no Go, or fail where ``CI`` is set."""
    if shutil.which("go") is None:
        if os.environ.get("CI"):
            pytest.fail("go is missing")
        pytest.skip("go is missing")

    def make(folder: Path) -> None:
        root = subprocess.run(["go", "env", "GOROOT"], check=True, capture_output=True, text=True).stdout.strip()
        shutil.copytree(Path(root) / TLOG, folder / "tlog")
        shutil.copy(HERE / "main.go", folder)
        (folder / "go.mod").write_text("module check\n\ngo 1.19\n")
        environment = os.environ | {"GOFLAGS": "-mod=mod", "GOCACHE": str(folder / "cache"), "GOPROXY": "off"}
        subprocess.run(["go", "build", "-o", "check", "."], cwd=folder, env=environment, check=True)

    return once(factory, "tlog_check", make) / "check"


def check(program: Path, proofs: Sequence[dict[str, Any]]) -> list[str]:
    """Return "ok" or the reason of the refusal for each proof (``First``, ``Second``; ``FirstRoot``, ``SecondRoot`` and ``Hashes`` in
    base64)."""
    done = subprocess.run([program], input=json.dumps(proofs), capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()
