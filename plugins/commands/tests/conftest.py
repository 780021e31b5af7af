"""The running service, and a way to run commands in this process, for the tests of these commands."""

from __future__ import annotations

from tests.unit.cli.conftest import held, here, identity, remote, server, wallet

__all__ = ["held", "here", "identity", "remote", "server", "wallet"]
