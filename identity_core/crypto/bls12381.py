"""Old import path of ``identity_bbs.bls12381``. Leaves in 1.2."""

from __future__ import annotations

import sys
import warnings

from identity_bbs.bls12381 import *  # noqa: F403
from identity_bbs.bls12381 import backend, choice, hedged, keys

for module in (backend, choice, hedged, keys):
    sys.modules[module.__name__.replace("identity_bbs.bls12381", __name__, 1)] = module
warnings.warn(f"{__name__} leaves in 1.2: import identity_bbs.bls12381", DeprecationWarning, stacklevel=2)
