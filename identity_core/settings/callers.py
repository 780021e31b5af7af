"""The tables about callers: ``[challenge]``, ``[token]`` and ``[quota]``."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.settings.fields import setting


@dataclass(frozen=True, slots=True)
class Challenges:
    """DIDAuth and RecoveryKey challenges."""

    lifetime_seconds: int = setting(
        300, "How long a challenge is good for at most; it is more than half of it.", least=10, most=3_600
    )
    cap: int = setting(
        4,
        "Open challenges that say the same for one DID, where the signature does not name its challenge; at most 21, and fewer where "
        "many keys may sign.",
        least=1,
        most=64,
    )


@dataclass(frozen=True, slots=True)
class Tokens:
    """The bearer tokens that the service issues."""

    lifetime_seconds: int = setting(600, "How long a token is good for.", least=10, most=86_400)
    key_number: int = setting(
        1,
        "The signing key in use; the ones before and after it verify too. To rotate, raise by one.",
        least=1,
        most=1e6,
    )


@dataclass(frozen=True, slots=True)
class Quota:
    """How much a DID may write that signs in by itself; API keys have no quota. A record counts its body and 1,024 octets, twice
    where an Idempotency-Key keeps the answer. A day ends at midnight UTC."""

    did_records: int = setting(
        100_000, "Delegations, credentials, schemas and changes of one DID in all; 0: no limit.", least=0
    )
    did_octets: int = setting(268_435_456, "Their octets; 0: no limit.", least=0)
    day_records: int = setting(
        100_000, "Writing requests of one DID, and of one address, in a day; 0: no limit.", least=0
    )
    day_octets: int = setting(268_435_456, "Their octets; 0: no limit.", least=0)
