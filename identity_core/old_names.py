"""Import paths of version 1.0 for modules that moved, most of them to other distributions. They will be removed in
1.2."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Final

MODULES_OF_DID_IDS: Final = ("evidence", "evolution", "foreign", "revision")
# Old name to new name, also of the modules below it. An entry comes before that of a package which contains it.
MOVED: Final = {
    "identity_core.bootstrap.storage": "identity_core.bootstrap.ports",
    "identity_core.client.handover": "identity_bound_credentials.handover",
    **{f"identity_core.{one}": f"identity_{one}" for one in ("client", "codec")},
    "identity_core.conformance": "identity_kit.conformance",
    "identity_core.crypto.bbs.octets": "identity_bbs.encoding",
    "identity_core.crypto.bbs": "identity_bbs",
    **{f"identity_core.crypto.{one}": f"identity_bbs.{one}" for one in ("bls12381", "frames")},
    "identity_core.crypto": "identity_codec",
    "identity_core.domain.delegations.action": "identity_client.action",
    "identity_core.domain.delegations.ibct": "identity_core.domain.delegations.delegation",
    **{f"identity_core.domain.dids.{each}": f"identity_did_ids.{each}" for each in MODULES_OF_DID_IDS},
    "identity_core.domain.dids.jwk": "identity_codec.jwk",
    "identity_core.domain.dids.log": "identity_did_ids",
    "identity_core.domain.jose": "identity_codec.jose",
    "identity_core.plugin.provider": "identity_core.plugin.sockets",
    "identity_core.ports.bearer": "identity_core.ports.key_store",
    "identity_core.settings.show": "identity_core.settings.load",
    "identity_core.tracing": "identity_core.plugin.border",
    "identity_core.values": "identity_codec.values",
}


class OldNames(MetaPathFinder, Loader):
    """A finder that returns the moved module for its old name, with a ``DeprecationWarning``.

    An old package is a module without files, else the path finder would load the modules below it again.
    """

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return spec_from_loader(name, self) if name.startswith("identity_core.") and new_name(name) else None

    def exec_module(self, module: ModuleType) -> None:
        old, new = module.__name__, new_name(module.__name__)
        try:
            moved = importlib.import_module(new)
        except ModuleNotFoundError as error:
            raise ImportError(f"{old} is {new} now: in a checkout pip install . ./packages/*/ ./plugins/*/") from error
        if hasattr(moved, "__path__"):
            vars(module).update(__path__=[], __getattr__=partial(getattr, moved))
        else:
            sys.modules[old] = moved
        warnings.warn(f"{old} leaves in 1.2: import {new}", DeprecationWarning, stacklevel=2)


def new_name(name: str) -> str:
    """Return the name of a moved module; an empty string for any other module."""
    return next((new + name[len(old) :] for old, new in MOVED.items() if f"{name}.".startswith(f"{old}.")), "")
