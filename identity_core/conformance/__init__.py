"""Old import path of ``identity_kit.conformance``. Leaves in 1.2."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings

try:
    kit = importlib.import_module("identity_kit.conformance")
except ModuleNotFoundError as error:
    raise ImportError(f"{__name__} is identity_kit.conformance now: pip install identity-kit") from error

for module in pkgutil.iter_modules(kit.__path__):
    sys.modules[f"{__name__}.{module.name}"] = importlib.import_module(f"{kit.__name__}.{module.name}")
warnings.warn(f"{__name__} leaves in 1.2: import {kit.__name__}", DeprecationWarning, stacklevel=2)
