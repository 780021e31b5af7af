"""The fixtures of the tests of the kernel's commands, store and attacks, for the tests of this extension."""

from __future__ import annotations

from tests.attack.conftest import target, targets, tmp_path
from tests.unit.cli.conftest import here, identity, remote, server, wallet
from tests.unit.store.conftest import new_stored_database, postgres_server, store, url

__all__ = [
    "here",
    "identity",
    "new_stored_database",
    "postgres_server",
    "remote",
    "server",
    "store",
    "target",
    "targets",
    "tmp_path",
    "url",
    "wallet",
]
