"""``storeSecrets``: private keys that were made here go to the custodian, all of them or none.

Not every custodian keeps every type (a key token has Ed25519 and nothing else), so it is asked before the first one goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from identity_core.domain.custody import KeyRefused
from identity_core.domain.did import Did
from identity_core.domain.keys import KeyPair
from identity_core.errors import InvalidDocument
from identity_core.ports.custodian import Custodian


@dataclass(frozen=True, slots=True)
class KeepSecrets:
    """Hands keys to the custodian under their absolute ids. Raises ``InvalidDocument`` for what it does not keep."""

    custodian: Custodian

    async def __call__(self, did: Did, pairs: Sequence[tuple[str, KeyPair]]) -> None:
        """``pairs`` are (purpose, key)."""
        capabilities = self.custodian.capabilities
        refused = sorted({pair.type for _, pair in pairs} - capabilities)
        if refused:
            raise InvalidDocument(
                "The service's custodian does not keep keys of this type: leave storeSecrets out.",
                details={"types": [*refused], "supported": [*sorted(capabilities - {"sign_bbs"})]},
            )
        for purpose, pair in pairs:
            try:
                await self.custodian.import_key(
                    f"{did}#{pair.public}", pair.type, pair.secret_raw, did=str(did), purpose=purpose
                )
            except KeyRefused as error:
                raise InvalidDocument(str(error), details=error.details) from error
