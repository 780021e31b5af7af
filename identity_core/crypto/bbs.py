"""Old import path of the library ``identity_bbs``. Leaves in 1.2."""

from __future__ import annotations

import sys
import warnings

from identity_bbs import batch, blind, consent, core, disclosure, interface, octets, openings, suite

for module in (batch, blind, consent, core, disclosure, interface, octets, openings, suite):
    sys.modules[module.__name__.replace("identity_bbs", __name__, 1)] = module
warnings.warn(f"{__name__} leaves in 1.2: import identity_bbs", DeprecationWarning, stacklevel=2)
