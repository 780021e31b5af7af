"""Every domain separation tag, label and name of the protocol, in one place. None may ever change; a change is a new suite."""

from __future__ import annotations

from typing import Final

SUITE: Final = "identity-bbs-predicates-1"
"""Protocol and version: the curve, the BBS suite, the radix and all that PROTOCOL.md fixes."""
ENVELOPE_VERSION: Final = 1

GENERATOR_DST: Final = b"IDENTITY-SERVICE-ZKPRED-V1_BLS12381G1_XMD:SHA-256_SSWU_RO_GEN_"
"""RFC 9380 §3.1; apart from the BBS generators' tag, so that no generator is known to be a multiple of another."""
CHALLENGE_DST: Final = b"IDENTITY-SERVICE-ZKPRED-V1_XMD:SHA-256_H2S_Y_"
"""The first challenge, y. The second, c, is the BBS challenge and has the draft's own tag."""

DIGIT: Final = b"digit"
"""G_0, G_1 …: one for each digit of the range argument and each index bit of a set argument."""
BLINDING: Final = b"blinding"
"""H, which hides the digits."""
COEFFICIENT: Final = b"coefficient"
"""g, which carries a coefficient of the check polynomial."""
COEFFICIENT_BLINDING: Final = b"coefficient-blinding"
"""h, which hides it."""

STATEMENT: Final = b"IDENTITY-SERVICE-ZKPRED-V1:statement"
PREDICATE: Final = b"IDENTITY-SERVICE-ZKPRED-V1:predicate"
CONTEXT: Final = b"IDENTITY-SERVICE-ZKPRED-V1:context"
IN_RANGE: Final = b"IDENTITY-SERVICE-ZKPRED-V1:in-range"
EQUALS: Final = b"IDENTITY-SERVICE-ZKPRED-V1:equals"
DISCLOSED: Final = b"IDENTITY-SERVICE-ZKPRED-V1:disclosed"
MEMBER_OF: Final = b"IDENTITY-SERVICE-ZKPRED-V1:member-of"
SET: Final = b"IDENTITY-SERVICE-ZKPRED-V1:set"
FIRST_MESSAGE: Final = b"IDENTITY-SERVICE-ZKPRED-V1:first-message"
PRESENTATION: Final = b"IDENTITY-SERVICE-ZKPRED-V1:presentation"
MASKS: Final = b"IDENTITY-SERVICE-ZKPRED-V1:masks"
CREDENTIAL: Final = b"IDENTITY-SERVICE-ZKPRED-V1:credential"
