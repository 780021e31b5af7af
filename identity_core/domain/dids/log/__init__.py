"""Logs that anybody can check with nothing but this package: ``verify`` takes the lines and needs nothing else."""

from identity_core.domain.dids.log.chain import Verified, verify
from identity_core.domain.dids.state import LogInvalid, UnknownLogMethod

__all__ = ["LogInvalid", "UnknownLogMethod", "Verified", "verify"]
