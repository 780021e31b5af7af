"""The services of the attack tests and of the commands, for the tests of this extension."""

from __future__ import annotations

from tests.attack.conftest import target, targets, tmp_path
from tests.unit.cli.conftest import here, identity, remote, server, wallet

__all__ = ["here", "identity", "remote", "server", "target", "targets", "tmp_path", "wallet"]
