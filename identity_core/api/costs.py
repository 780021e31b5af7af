"""What a request costs in tokens of its caller's bucket, told from its octets before anything is read.

One token is about what a proof of a bound takes to make or to check: some milliseconds of a prover. A statement about a large set
takes longer with each element, and its elements are what makes a body large: 4,096 of them are 20 to 30 kB, and 50 to 100 ms.
"""

from __future__ import annotations

from typing import Final

USUAL_OCTETS: Final = 4_096
"""A body of no more costs one token: a proof of a bound or an interval, and the request for one."""

OCTETS_A_TOKEN: Final = 512

_BY_SIZE: Final = frozenset({"verifyProof", "generateDelegatedProof"})
_CREDENTIAL: Final = 4
"""Checking an issuer's signature takes 2 ms for six attributes and 16 for 64, in the server's own process."""


def tokens(operation_id: str, body_octets: int) -> int:
    """At least 1; a bucket takes no more than it holds."""
    if operation_id == "verifyCredential":
        return _CREDENTIAL
    if operation_id in _BY_SIZE:
        return 1 + max(body_octets - USUAL_OCTETS, 0) // OCTETS_A_TOKEN
    return 1
