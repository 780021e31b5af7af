"""The running service, and a way to run commands in this process, for the tests of these commands."""

from __future__ import annotations

from tests.unit.cli.conftest import here, identity, read_wallet, remote, server, wallet

__all__ = ["here", "identity", "read_wallet", "remote", "server", "wallet"]
