"""The servers that stories talk to.

``IDENTITY_TEST_BACKEND`` says on what they stand: ``sqlite`` (the default), ``memory`` (the ledger in memory), ``postgresql`` (a
private server, a database for each kind of server) or ``evm`` (a private chain).
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from features.backends import BACKENDS
from tests.servers import local_server

HERE = Path(__file__).parent

GENEROUS = {
    "IDENTITY_THROTTLE_ADDRESS_PER_SECOND": "10000",
    "IDENTITY_THROTTLE_ADDRESS_BURST": "10000",
    "IDENTITY_THROTTLE_CHALLENGE_PER_SECOND": "10000",
    "IDENTITY_THROTTLE_CHALLENGE_BURST": "10000",
    "IDENTITY_THROTTLE_DID_PER_SECOND": "10000",
    "IDENTITY_THROTTLE_DID_BURST": "10000",
    "IDENTITY_THROTTLE_KEY_PER_SECOND": "10000",
    "IDENTITY_THROTTLE_KEY_BURST": "10000",
    "IDENTITY_PLUGINS_WEBVH_HOST": "id.example",
}
FAULTS = {
    "IDENTITY_PLUGINS_MODULES": "features.faults.plugin,features.faults.prover_plugin",
    "IDENTITY_PLUGINS_DISABLED": "did_ids",
    "IDENTITY_LEDGER_BACKEND": "faulty",
    "IDENTITY_PROVER_BACKEND": "faulty",
    "IDENTITY_PROVER_ENVIRONMENT": "IDENTITY_TEST_FAULT",
}
BREAKABLE = (
    GENEROUS
    | FAULTS
    | {
        "IDENTITY_KEY_STORES": "faulty,sql,env",
        "IDENTITY_CUSTODIAN_BACKEND": "faulty",
        "IDENTITY_PLUGINS_FAILURES_TO_OPEN": "1000",
    }
)
# A delayed call continues when the story lets it, and not before (``tests.servers.PATIENT``).
KINDS: dict[str, dict[str, str]] = {
    # Default settings, for the features of the specification.
    "default": {},
    "unanchored": {"IDENTITY_ANCHORING_ENABLED": "false"},
    "ordinary": GENEROUS,
    # An address has one token, and no second for a long while; a story gets further addresses from the trusted proxy.
    "strict": GENEROUS
    | {
        "IDENTITY_THROTTLE_ADDRESS_PER_SECOND": "0.001",
        "IDENTITY_THROTTLE_ADDRESS_BURST": "1",
        "IDENTITY_THROTTLE_CHALLENGE_PER_SECOND": "0.001",
        "IDENTITY_THROTTLE_CHALLENGE_BURST": "1",
        "IDENTITY_SERVER_TRUSTED_PROXIES": "127.0.0.0/8",
    },
    # Small enough that a DID fills it, and large enough for what stories write before. An address has the same quota: see "strict".
    "frugal": GENEROUS | {"IDENTITY_QUOTA_DAY_RECORDS": "6", "IDENTITY_SERVER_TRUSTED_PROXIES": "127.0.0.0/8"},
    "hidden": GENEROUS | FAULTS | {"IDENTITY_LOG_AFTER_DEACTIVATION": "gone", "IDENTITY_ANCHORING_ENABLED": "false"},
    "remembering": GENEROUS | {"IDENTITY_HISTORY_AFTER_DEACTIVATION": "visible"},
    "faulty": BREAKABLE,
    # What a story needs before the fault has these deadlines too (``World.prepared``).
    "hanging": BREAKABLE
    | {
        "IDENTITY_CUSTODIAN_DEADLINE_SECONDS": "0.3",
        "IDENTITY_LEDGER_DEADLINE_SECONDS": "0.3",
        "IDENTITY_PLUGINS_DEADLINE_SECONDS": "0.3",
        "IDENTITY_PROVER_DEADLINE_SECONDS": "4",
    },
    "web": GENEROUS
    | {
        "IDENTITY_PLUGINS_MODULES": "features.web.plugin",
        "IDENTITY_PLUGINS_DISABLED": "did_web",
        "IDENTITY_PLUGINS_WEB_ENABLED": "true",
        "IDENTITY_PLUGINS_WEB_ALLOW_RANGES": "127.0.0.0/8",
    },
    # A story need not wait a second until the service has noticed, and another until it has noticed the end. The other servers would
    # look 20 times a second for nothing.
    "rolled back": GENEROUS | FAULTS | {"IDENTITY_TEST_WATCH_SECONDS": "0.05"},
    "slow": GENEROUS | FAULTS | {"IDENTITY_KEY_STORES": "slow,env"},
    "busy": GENEROUS | FAULTS | {"IDENTITY_SERVER_MAX_REQUESTS_IN_FLIGHT": "1"},
}


@dataclass(frozen=True)
class Server:
    """Where it listens, the API key that it takes, and the file that tells its fault plugin what to break."""

    url: str
    api_key: str
    fault: Path


class Servers:
    """The servers of a session by kind."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._stack = contextlib.ExitStack()
        self._running: dict[str, Server] = {}
        self._failed: dict[str, BaseException] = {}
        self._backend = BACKENDS[os.environ.get("IDENTITY_TEST_BACKEND", "sqlite")](factory)

    def __enter__(self) -> Servers:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()
        self._backend.close()

    def __getitem__(self, kind: str) -> Server:
        if kind in self._failed:
            raise RuntimeError(f"the {kind} server did not start before") from self._failed[kind]
        if kind not in self._running:
            try:
                self._running[kind] = self._stack.enter_context(_start(kind, self._backend.settings()))
            except SystemExit as error:
                # Every story of this kind would wait for the same failure.
                self._failed[kind] = error
                raise RuntimeError(f"the {kind} server did not start") from error
        return self._running[kind]


@contextlib.contextmanager
def _start(kind: str, backend: Mapping[str, str]) -> Iterator[Server]:
    # A kind that brings its own ledger keeps it.
    environment = {**backend, **KINDS[kind]}
    with tempfile.TemporaryDirectory() as folder:
        fault = Path(folder) / "fault"
        environment["IDENTITY_TEST_FAULT"] = str(fault)
        with local_server(environment=environment, path=HERE.parent) as server:
            yield Server(server.url, server.api_key, fault)
