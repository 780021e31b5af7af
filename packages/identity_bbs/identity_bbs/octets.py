"""The former name of ``identity_bbs.encoding``. It will be removed in 1.2."""

from __future__ import annotations

import sys
import warnings

from identity_bbs import encoding

warnings.warn(f"{__name__} leaves in 1.2: import {encoding.__name__}", DeprecationWarning, stacklevel=2)
sys.modules[__name__] = encoding
