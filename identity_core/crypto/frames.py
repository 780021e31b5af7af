"""Old import path of ``identity_bbs.frames``. Leaves in 1.2."""

from __future__ import annotations

import warnings

from identity_bbs.frames import frame, number, optional, scalar

__all__ = ["frame", "number", "optional", "scalar"]
warnings.warn(f"{__name__} leaves in 1.2: import identity_bbs.frames", DeprecationWarning, stacklevel=2)
