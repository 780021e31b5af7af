"""The suite ``identity-bbs-predicates-2``: several credentials of one holder, valid and not revoked, in one proof.

``PROTOCOL-2.md`` beside the package is the protocol and its security argument; the code cites its equations.
"""

from identity_bound_credentials.domain.presented import sign_as_agent

from identity_prover_bbs.suite2.envelope import PresentationEnvelope
from identity_prover_bbs.suite2.prover import PresentationProver
from identity_prover_bbs.suite2.received import ReceivedPresentation, VerifiedPresentation
from identity_prover_bbs.suite2.verifier import PresentationVerifier

__all__ = [
    "PresentationEnvelope",
    "PresentationProver",
    "PresentationVerifier",
    "ReceivedPresentation",
    "VerifiedPresentation",
    "sign_as_agent",
]
