"""What the servers of a session stand on, by the name in ``IDENTITY_TEST_BACKEND``."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from tests.anvil_server import AnvilServer, install_anvil, program_in
from tests.made_once import once
from tests.postgres_server import PostgresServer


class Backend(Protocol):
    """Something that servers are started on."""

    def settings(self) -> Mapping[str, str]:
        """The environment of one more server, which shares nothing with the others."""
        ...

    def close(self) -> None:
        """Ends what was started for it."""
        ...


class Sqlite:
    """Files in each server's own data directory."""

    def __init__(self, _: pytest.TempPathFactory) -> None:
        pass

    def settings(self) -> Mapping[str, str]:
        return {}

    def close(self) -> None:
        """See ``Backend``."""


class Memory(Sqlite):
    """The ledger in memory, everything else in files."""

    def settings(self) -> Mapping[str, str]:
        return {"IDENTITY_LEDGER_BACKEND": "memory"}


class Postgresql:
    """A private PostgreSQL. Each server has a database of its own: the master key that seals its keys lies in its data directory."""

    def __init__(self, _: pytest.TempPathFactory) -> None:
        self._folder = Path(tempfile.mkdtemp())
        self._server = PostgresServer.create(self._folder, connections=200)

    def settings(self) -> Mapping[str, str]:
        return {"IDENTITY_DATABASE_URL": self._server.new_database()}

    def close(self) -> None:
        self._server.stop()
        shutil.rmtree(self._folder)


class Evm:
    """A private chain that makes a block for every transaction. Each server has a contract and an account of its own."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._folder = Path(tempfile.mkdtemp())
        self._chain = AnvilServer(program_in(once(factory, "anvil", install_anvil))).start()

    def settings(self) -> Mapping[str, str]:
        from tests.evm_site import make_site

        made = make_site(self._chain, self._folder).settings
        return {
            "IDENTITY_LEDGER_BACKEND": "evm",
            "IDENTITY_PLUGINS_EVM_RPC_URL": str(made.rpc_url),
            "IDENTITY_PLUGINS_EVM_PRIVATE_KEY": str(made.private_key),
            "IDENTITY_PLUGINS_EVM_CHAIN_ID": str(made.chain_id),
            "IDENTITY_PLUGINS_EVM_CONTRACT": str(made.contract),
            "IDENTITY_PLUGINS_EVM_FROM_BLOCK": str(made.from_block),
            "IDENTITY_PLUGINS_EVM_POLL_SECONDS": str(made.poll_seconds),
        }

    def close(self) -> None:
        self._chain.stop(signal.SIGKILL)
        shutil.rmtree(self._folder)


BACKENDS: Mapping[str, Callable[[pytest.TempPathFactory], Backend]] = {
    "sqlite": Sqlite,
    "memory": Memory,
    "postgresql": Postgresql,
    "evm": Evm,
}
