"""The JavaScript implementations, installed once a run as the lock file says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.made_once import once
from tools.write_unicode_14 import TABLE

HERE = Path(__file__).parent
SCRIPTS = (
    "verify.mjs",
    "verify_leads.mjs",
    "verify_presentations.mjs",
    "presentation_statement.mjs",
    "presentation_verifier.mjs",
    "stranger.mjs",
    "bbs2023.mjs",
    "did_documents.mjs",
)


@pytest.fixture(scope="session")
def independent(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Any], Any]:
    """Runs a script on cases and gives its verdicts. Without npm the tests skip, in CI they fail."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        if os.environ.get("CI"):
            pytest.fail("node and npm are not installed")
        pytest.skip("node and npm are not installed")

    def install(folder: Path) -> None:
        for name in ("package.json", "package-lock.json", ".npmrc", *SCRIPTS):
            shutil.copy(HERE / name, folder)
        shutil.copy(TABLE, folder)
        subprocess.run([npm, "ci"], cwd=folder, check=True, capture_output=True, timeout=300)

    folder = once(tmp_path_factory, "interop", install)

    def verdicts(script: str, cases: Any) -> Any:
        done = subprocess.run(
            [node, script],
            cwd=folder,
            input=json.dumps(cases),
            check=True,
            capture_output=True,
            text=True,
            timeout=300 + len(cases),
        )
        return json.loads(done.stdout)

    return verdicts
