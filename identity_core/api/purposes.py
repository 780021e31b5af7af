"""What a signature over a challenge with a purpose may do, by operation; no other operation admits a DID that signs."""

from __future__ import annotations

from typing import Final

from identity_core.domain.dids import challenge

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
    "listVerificationHistory": challenge.READ,
    "getVerificationStats": challenge.READ,
    "getDashboardTimeline": challenge.READ,
    "listDelegations": challenge.READ,
    "getDelegation": challenge.READ,
    "generateDelegatedProof": challenge.PROVE,
}
