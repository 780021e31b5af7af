"""The features speak HTTP through the client that openapi-python-client generates from the document, and nothing else.

The client is built once a run into a temporary folder. Servers are real processes on free ports of loopback: one for
ordinary stories, others (started only when a story asks) with small limits or with the fault plugin loaded.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from identity_kit.tests.specification.plain_client import PlainClient
from identity_kit.tests.specification.story import connect

from features.definitions import find_quickly
from features.document import operations
from features.servers import Server, Servers
from features.world import World
from openapi.clients import PACKAGE, PYTHON_CLIENT, build_python_client
from tests.made_once import once

ROOT = Path(__file__).parents[1]
pytest_plugins = [
    "features.steps.anchors",
    "features.steps.answers",
    "features.machine",
    "identity_kit.tests.specification.dids",
    "identity_kit.tests.specification.proofs",
    "identity_kit.tests.specification.results",
    "identity_kit.tests.specification.story",
    "features.steps.backups",
    "features.steps.credentials",
    "features.steps.delegated_proofs",
    "features.steps.delegation_life",
    "features.steps.delegations",
    "features.steps.dids",
    "features.steps.disclosures",
    "features.steps.dry_runs",
    "features.steps.faults",
    "features.steps.holder_secrets",
    "features.steps.joint_proofs",
    "features.steps.quotas",
    "features.steps.requests",
    "features.steps.rotations",
    "features.steps.theft",
    "features.steps.wallet_consents",
    "features.steps.web",
    "features.steps.verifications",
    *(
        f"plugins.{path.parents[1].name}.features.{path.stem}"
        for path in sorted(ROOT.glob("plugins/*/features/*steps.py"))
    ),
]


def pytest_configure(config: pytest.Config) -> None:
    """Tags become two markers, so that `-m` can choose by them."""
    find_quickly()
    config.addinivalue_line("markers", "operation(name): scenarios of this operation")
    config.addinivalue_line("markers", "refusal(status, code): scenarios that end in this refusal")


def pytest_bdd_apply_tag(tag: str, function: Callable[..., object]) -> bool:
    """Refuses every tag that the document does not justify."""
    if tag in {one.operation_id for one in operations()}:
        pytest.mark.operation(tag)(function)
        return True
    status, _, code = tag.partition(":")
    if any(code in one.refusals.get(int(status), ()) for one in operations() if status.isdigit()):
        pytest.mark.refusal(int(status), code)(function)
        return True
    raise ValueError(f"the document knows no tag @{tag}")


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The generated client package."""
    sys.path.insert(0, str(once(tmp_path_factory, "python-client", build_python_client) / PYTHON_CLIENT))
    return importlib.import_module(PACKAGE)


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """The servers of the session, each started when a story first asks for it."""
    with Servers(tmp_path_factory) as running:
        yield running


@pytest.fixture
def plain_client(servers: Servers) -> Iterator[PlainClient]:
    """A client of the specification, and a server with default settings."""
    yield from connected(servers["default"])


@pytest.fixture
def unanchored_client(servers: Servers) -> Iterator[PlainClient]:
    """A client of the specification, and a server without anchoring."""
    yield from connected(servers["unanchored"])


def connected(server: Server) -> Iterator[PlainClient]:
    client = connect(server.url, server.api_key)
    yield client
    client.http.close()


@pytest.fixture
def world(client: ModuleType, servers: Servers) -> Iterator[World]:
    """What one scenario knows."""
    story = World(client, servers)
    yield story
    story.close()
