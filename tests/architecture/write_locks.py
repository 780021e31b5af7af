"""Writes the two lock files: `python -m tests.architecture.write_locks` (needs uv; asks the package index).

`requirements.lock` is what a server runs with: the core with its database drivers, and the first-party plugins.
`tests/requirements.lock` adds what the tests and checks want. Both are exact, for every platform, and every file has its SHA-256, so
that `pip install -r` takes nothing else. Versions that fit are kept; `--upgrade` takes the newest.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCKS = {
    "requirements.lock": {".": ["postgresql", "redis"]},
    "tests/requirements.lock": {
        ".": ["checks", "postgresql", "redis", "site", "template", "test"],
        "plugins/did_web": ["test"],
        "plugins/did_webvh": ["test"],
        "plugins/ledger_evm": ["test"],
        "plugins/observability": ["test"],
    },
}

# What does not run with a server.
BESIDE = frozenset({"plugins/kit", "plugins/mcp"})


def local() -> dict[str, str]:
    """Folder of each distribution of this repository, from its root, to its name."""
    files = [ROOT / "pyproject.toml", *sorted(ROOT.glob("p*/*/pyproject.toml"))]
    return {
        file.parent.relative_to(ROOT).as_posix(): tomllib.loads(file.read_text())["project"]["name"] for file in files
    }


def write(lock: str, extras: dict[str, list[str]], options: list[str]) -> None:
    """Resolves everything together and replaces the lock file."""
    distributions = local()
    with tempfile.NamedTemporaryFile("w", suffix=".in") as wanted:
        for folder in sorted(distributions.keys() - (BESIDE if lock == "requirements.lock" else set())):
            chosen = ",".join(extras.get(folder, []))
            wanted.write(f"{ROOT / folder}{f'[{chosen}]' if chosen else ''}\n")
        wanted.flush()
        hidden = [f"--no-emit-package={name}" for name in distributions.values()]
        command = ["uv", "pip", "compile", "--quiet", "--universal", "--python-version=3.11", "--generate-hashes"]
        shown = ["--no-annotate", "--no-header", *hidden, "--output-file", str(ROOT / lock)]
        subprocess.run([*command, *shown, *options, wanted.name], cwd=ROOT, check=True)


if __name__ == "__main__":
    for name, wanted_extras in LOCKS.items():
        write(name, wanted_extras, sys.argv[1:])
