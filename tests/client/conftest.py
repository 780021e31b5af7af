"""The clients, built once a run into a temporary folder."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openapi import clients
from tests.client.node_application import make_application, run_node
from tests.client.package_cases import Run
from tests.made_once import once


@pytest.fixture(scope="session")
def python_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the generated Python package, which can be imported."""
    target = once(tmp_path_factory, "python-client", clients.build_python_client) / clients.PYTHON_CLIENT
    sys.path.insert(0, str(target))
    yield target
    sys.path.remove(str(target))


@pytest.fixture(scope="session")
def node_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the Node tools. Without npm the tests skip, in CI they fail."""
    if shutil.which("npm") is None and not os.environ.get("CI"):
        pytest.skip("npm is not installed")
    return once(tmp_path_factory, "node-tools", clients.install_node_tools) / clients.NODE_TOOLS


@pytest.fixture(scope="session")
def application(node_tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an application that has installed the packed TypeScript client."""
    return once(tmp_path_factory, "typescript", lambda folder: make_application(folder, node_tools)) / "app"


@pytest.fixture(scope="session")
def do(application: Path) -> Run:
    """Run jobs with that client in Node."""
    return lambda jobs: json.loads(run_node(application, "jobs.mjs", said=json.dumps(jobs)))
