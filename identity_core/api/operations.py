"""What the edge knows of single operations that the document does not say: the purpose of a signature, the price, what is stored."""

from __future__ import annotations

from typing import Final

from identity_core.domain.dids import challenge

# What a signature over a challenge with a purpose may do; no other operation admits a DID that signs.
PURPOSES: Final = {
    "updateDid": challenge.UPDATE,
    "deactivateDid": challenge.DEACTIVATE,
    "rotateDidKey": challenge.ROTATE,
    "recoverDid": challenge.RECOVER,
    "issueToken": challenge.TOKEN,
    "createCredentialSchema": challenge.CREDENTIAL,
    "issueCredential": challenge.CREDENTIAL,
    "importCredential": challenge.CREDENTIAL,
    "setCredentialStatus": challenge.CREDENTIAL,
    "createCredentialOffer": challenge.CREDENTIAL,
    "getCredential": challenge.READ,
    "listCredentials": challenge.READ,
    "createDelegation": challenge.DELEGATE,
    "revokeDelegation": challenge.DELEGATE,
    "deleteDelegation": challenge.DELEGATE,
    "suspendDelegation": challenge.DELEGATE,
    "resumeDelegation": challenge.DELEGATE,
    "revokeIbct": challenge.DELEGATE,
    "verifyProof": challenge.READ,
    "verifyStoredProof": challenge.READ,
    "getProof": challenge.READ,
    "revokeProof": challenge.PROVE,
    "createVerifierChallenge": challenge.READ,
    "requestPresentation": challenge.READ,
    "getPresentation": challenge.READ,
    "listVerificationHistory": challenge.READ,
    "getVerificationStats": challenge.READ,
    "getDashboardTimeline": challenge.READ,
    "eraseRecords": challenge.ERASE,
    "resetDisclosures": challenge.DISCLOSURES,
    "rotateHolderSecret": challenge.HOLDER_SECRET,
    "listDelegations": challenge.READ,
    "getDelegation": challenge.READ,
    "generateDelegatedProof": challenge.PROVE,
    "createDelegatedPresentation": challenge.PROVE,
    "checkDelegatedProof": challenge.READ,
}

# What stays for good; everything else is forgotten when it has expired, or is a line of a log.
KEEPING: Final = frozenset(
    {"createDelegation", "createCredentialSchema", "issueCredential", "importCredential", "updateDid", "rotateDidKey"}
)
# Anyone who has used up a quota can still end what is his.
ENDING: Final = frozenset(
    {
        "deactivateDid",
        "recoverDid",
        "rotateDidKey",
        "revokeDelegation",
        "deleteDelegation",
        "suspendDelegation",
        "revokeIbct",
        "setCredentialStatus",
        "revokeProof",
        "eraseRecords",
    }
)

# One token is about what a proof of a bound takes to make or to check: some milliseconds of a prover. A statement about a large set
# takes longer with each element, and its elements are what makes a body large: 4,096 of them are 20 to 30 kB, and 50 to 100 ms.
USUAL_OCTETS: Final = 4_096
"""A body of no more costs one token: a proof of a bound or an interval, and the request for one."""

OCTETS_A_TOKEN: Final = 512

MCP: Final = "callMcp"
"""Operation name of a Model Context Protocol request in metrics and logs; its rate-limit weight is that of the operation it calls."""

A2A: Final = "callA2a"
"""The same for a request of the Agent2Agent protocol."""

_BY_SIZE: Final = frozenset({"generateDelegatedProof", "createDelegatedPresentation", "checkDelegatedProof", MCP, A2A})
"""Operations with a caller whose rate-limit weight depends on the size of the body. Without a caller it always does."""

_FIRST: Final = {"verifyCredential": 4}
"""Checking an issuer's signature takes 2 ms for six attributes and 16 for 64, in the server's own process."""


def tokens(operation_id: str, body_octets: int, *, needs_caller: bool = False) -> int:
    """Return the cost of a request to its caller's bucket, computed from its bytes before anything is read.

    At least 1; a bucket takes no more than it holds. ``needs_caller``: the operation is closed to unauthenticated clients. A secured
    credential has some 500 bytes at least, so that many credentials in one body cost as much as one by one.
    """
    first = _FIRST.get(operation_id, 1)
    if needs_caller and operation_id not in _BY_SIZE:
        return first
    return first + max(body_octets - USUAL_OCTETS, 0) // OCTETS_A_TOKEN
