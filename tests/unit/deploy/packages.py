"""The packages of the repository, and an environment in which only some of them are installed."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from identity_commands.local_server import LocalServer, local_server
from identity_kit.tests.specification.dids import build_request
from identity_kit.tests.specification.plain_client import PlainClient, did_path
from identity_kit.tests.specification.proofs import build_proof_request, create_parties
from identity_kit.tests.specification.story import PlainStory

ROOT = Path(__file__).parents[3]
PROJECTS = [ROOT, *sorted(path.parent for path in ROOT.glob("p*/*/pyproject.toml"))]


def project(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return found


def plugins() -> set[str]:
    """The names of those that the service loads."""
    found = map(project, PROJECTS)
    return {one["name"] for one in found if "identity.plugins" in one.get("entry-points", {})}


SERVICE = project(ROOT / "packages" / "identity_service")


@dataclass(frozen=True)
class Empty:
    """An environment in which nothing of ours is installed but what a test installs."""

    folder: Path
    variables: dict[str, str]

    def ran(self, program: str, *arguments: str | Path) -> str:
        """What the program of the environment prints. It must succeed."""
        command = [self.folder / "bin" / program, *arguments]
        done = subprocess.run(
            command, env=self.variables, cwd=self.folder, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
        return done.stdout

    def install(self, *names: str | Path) -> None:
        """By pip, which takes ours from the folder of packages and what they require from what is there; anything else fails."""
        pip = ("-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-index", "--no-build-isolation")
        self.ran("python", *pip, "--no-compile", *names)

    def distributions(self) -> set[str]:
        """Ours, by name."""
        asked = "import importlib.metadata as m; print(*(one.name for one in m.distributions(path=[{!r}])))"
        (own,) = self.folder.glob("lib/python*/site-packages")
        return set(self.ran("python", "-P", "-c", asked.format(str(own))).split())

    def uninstall(self, name: str) -> None:
        """Remove a distribution with its metadata, whatever requires it."""
        self.ran("python", "-m", "pip", "--quiet", "--disable-pip-version-check", "uninstall", "--yes", name)

    @contextmanager
    def server(self) -> Iterator[LocalServer]:
        """Run the service of this environment."""

        def start(command: list[str], env: dict[str, str], **named: Any) -> subprocess.Popen[bytes]:
            python = self.folder / "bin" / "python"
            return subprocess.Popen([python, *command[1:]], env=self.variables | env, cwd=self.folder, **named)

        with local_server(popen=start) as server:
            yield server


def run_the_story_of_the_specification(server: LocalServer, http: httpx.Client) -> None:
    """Create, prove, change and deactivate by a client that uses the specification only."""
    client = PlainClient(f"{server.url}/api/v1", server.api_key, http)
    parties = create_parties(client, 5)
    proof = client.request(
        "POST", "/zkp/delegated-proofs", build_proof_request(parties, "gte"), X_API_Key=client.api_key
    )
    assert proof.status_code == 201, proof.text
    for name, subject in (("update", parties.holder), ("rotate", parties.holder), ("deactivate", parties.agent)):
        changed = client.send_signed(*build_request(PlainStory(client, subject=subject), name), subject)
        assert changed.is_success, (name, changed.text)
    assert client.request("GET", did_path(parties.agent.did)).status_code == 410
