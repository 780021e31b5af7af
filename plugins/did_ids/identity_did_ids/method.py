"""The method object. Everything particular to ``did:ids`` is here. The rules of changes are in ``evolution`` and ``evidence``, and
the form of entries is in ``chain``, so any program can verify a log with this package.

Your own method must provide the five members of ``DidMethod``: its name, whether its DIDs change, the check of its identifiers, the
draft of the next entry, and the state after an entry.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.resources import files
from typing import Final

from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import DidState
from identity_did_ids.chain import Chain
from identity_did_ids.evolution import Rules


@dataclass(frozen=True, slots=True)
class DidIdsSettings:
    """``[plugins.ids]``. DIDs keep the method name that they were created with, so choose it before the first one."""

    name: str = field(default="ids", metadata={"help": "The method name: lower-case letters and digits."})
    max_grace_days: int = field(default=90, metadata={"help": "The longest grace period of a rotated key, up to 90."})
    strict_grace: bool = field(
        default=True, metadata={"help": "A key in grace may not deactivate, rotate, add or remove keys."}
    )
    strict_evidence: bool = field(
        default=False,
        metadata={
            "help": "New DIDs accept only signatures over challenges that name purpose and body; their logs show the body."
        },
    )
    recovery_window_hours: int = field(
        default=72,
        metadata={
            "help": "How long ago a version may have been replaced that a recovery restores, up to 720; 0: never."
        },
    )

    def __post_init__(self) -> None:
        if re.fullmatch(r"[a-z0-9]{1,32}", self.name, re.ASCII) is None:
            raise ValueError("name must be 1 to 32 lower-case letters and digits")
        if not 0 <= self.max_grace_days <= 90:
            raise ValueError("max_grace_days must be 0 to 90")
        if not 0 <= self.recovery_window_hours <= 720:
            raise ValueError("recovery_window_hours must be 0 to 720")


TRAITS: Final[dict[str, bool]] = json.loads(files(__package__).joinpath("traits.json").read_bytes())


class DidIds(Chain):
    """The DID method ``did:ids``, a ``DescribedDidMethod``: pure, deterministic, without I/O.

    The identifier has 46 characters of base58btc, the multihash of the first entry.
    """

    mutable = True
    pre_rotates = True
    traits = TRAITS
    test_identifiers = ()

    def __init__(self, settings: DidIdsSettings) -> None:
        rules = Rules(
            max_grace=timedelta(days=settings.max_grace_days),
            strict_grace=settings.strict_grace,
            strict_evidence=settings.strict_evidence,
            recovery_window=timedelta(hours=settings.recovery_window_hours),
        )
        super().__init__(settings.name, rules)

    @property
    def name(self) -> str:
        """Return the method name."""
        return self.method

    def expand(self, did: Did) -> DidState | None:
        """Return None: without its log, this identifier is a hash. Raises ``InvalidDid``."""
        self.check(did)
        return None
