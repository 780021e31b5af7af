"""Logs that anybody can check with nothing but this package: ``verify`` takes the lines and knows nobody else."""

from identity_core.domain.history import LogInvalid
from identity_core.domain.log.verifier import Verified, verify

__all__ = ["LogInvalid", "Verified", "verify"]
