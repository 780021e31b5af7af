"""The hook, the settings, and the object that the core gets."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from identity_bbs.bls12381 import select
from identity_core.plugin import BuildContext, Provider, hookimpl
from identity_core.ports.prover import Prover
from identity_prover_bbs.single import SingleProver

# Suite 2 is in bound_credentials, which imports verification.
if TYPE_CHECKING or (find_spec("identity_bound_credentials") and find_spec("identity_verification")):
    from identity_prover_bbs.presenting import BbsProver as BbsProver
else:
    BbsProver = SingleProver


@dataclass(frozen=True, slots=True)
class BbsSettings:
    """``curve`` names a backend (blst, pyblst, py_ecc); empty means the first that works."""

    curve: str = ""


def build(settings: BbsSettings, context: BuildContext) -> SingleProver:
    """Return the prover that the settings ask for. Raises ``BackendUnavailable``."""
    curve = select(settings.curve or None)
    context.logger.info("prover bbs on curve backend %s", curve.name)
    return BbsProver(curve, os.urandom)


@hookimpl
def identity_provide_prover() -> Provider[Prover]:
    """Return the prover ``bbs``; masks come from the operating system's randomness and nowhere else."""
    return Provider("bbs", build, BbsSettings, "zero-knowledge predicates over BBS credentials (experimental)")
