"""The services of the attack tests, for the tests of this extension."""

from __future__ import annotations

from tests.attack.conftest import either, target, targets, tmp_path

__all__ = ["either", "target", "targets", "tmp_path"]
