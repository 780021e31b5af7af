"""A fresh environment beside this one's packages: what is installed into it, this one does not see."""

from __future__ import annotations

import json
import os
import site
import subprocess
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import servers


@dataclass(frozen=True)
class Environment:
    """``python`` runs in it, with what is installed in ``packages``. ``folder`` is a place of its own, so that nothing is imported from
    where a command runs."""

    folder: Path
    python: str
    packages: Path

    @classmethod
    def fresh(cls, folder: Path) -> Environment:
        """An environment without pip, which finds the packages of this one after its own."""
        venv.EnvBuilder(symlinks=True).create(folder)
        (own,) = folder.glob("lib/python*/site-packages")
        lines = [f"import site; site.addsitedir({path!r})\n" for path in site.getsitepackages()]
        (own / "beside.pth").write_text("".join(lines))
        return cls(folder, str(folder / "bin" / "python"), own)

    def install(self, project: Path) -> None:
        """Builds the wheel of ``project`` and installs it; its requirements must be met by what is there."""
        pip = [self.python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        self._run(*pip, "install", "--no-index", "--no-build-isolation", str(project))

    def run(self, *arguments: str, settings: Mapping[str, str] | None = None) -> str:
        """``python`` with these arguments; what it prints. It must succeed."""
        return self._run(self.python, *arguments, settings=settings)

    def identity(self, *arguments: str, settings: Mapping[str, str] | None = None) -> Any:
        """The JSON that ``identity … --json`` prints. It is forked, and finds the same packages in the same order."""
        done = servers.run(*arguments, "--json", environment=_variables(settings) | {"PYTHONPATH": str(self.packages)})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def _run(self, *command: str, settings: Mapping[str, str] | None = None) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=_variables(settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
        return done.stdout


def _variables(settings: Mapping[str, str] | None) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    return inherited | dict(settings or {})
