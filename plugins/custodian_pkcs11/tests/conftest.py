"""One SoftHSM for all tests of the plugin: a process knows one folder of tokens."""

from __future__ import annotations

from tests.softhsm import softhsm

__all__ = ["softhsm"]
