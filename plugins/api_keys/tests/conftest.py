"""The fixtures of the tests of the kernel's commands, for the tests of this extension."""

from __future__ import annotations

from tests.unit.cli.conftest import here, identity, server

__all__ = ["here", "identity", "server"]
