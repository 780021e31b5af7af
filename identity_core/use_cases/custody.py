"""This process, as the custodian's other processes see it."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.ports.custodian import AttendedCustodian
from identity_core.use_cases.background import Repeating


@dataclass(slots=True)
class AttendCustodian(Repeating):
    """Tells as long as the process serves that it is there, and whether it opens what is about to be sealed anew."""

    complaint = "a rotation of the seal does not see this process"

    custodian: AttendedCustodian

    async def step(self) -> float:
        return await self.custodian.attend()
