"""Every tag and label of suite 2 that the prover hashes. None may ever change; a change is a new suite.

Those of commitments, consents and pseudonyms are in ``identity_bbs``, those of a consent's message the domain's.
"""

from __future__ import annotations

from typing import Final

from identity_bound_credentials.domain.question import SUITE_2

from identity_bbs.openings import TAG

SUITE: Final = SUITE_2
ENVELOPE_VERSION: Final = 2

GENERATOR_DST: Final = b"IDENTITY-SERVICE-ZKPRED-V2_BLS12381G1_XMD:SHA-256_SSWU_RO_GEN_"
CHALLENGE_DST: Final = b"IDENTITY-SERVICE-ZKPRED-V2_XMD:SHA-256_H2S_Y_"
"""The first challenge, y. The second, c, is the BBS challenge and has the draft's own tag."""

STATEMENT: Final = TAG + b"statement"
PART: Final = TAG + b"part"
FORM: Final = TAG + b"form"
IN_RANGE: Final = TAG + b"in-range"
EQUALS: Final = TAG + b"equals"
MEMBER_OF: Final = TAG + b"member-of"
NOT_EQUAL: Final = TAG + b"not-equal"
CLASS: Final = TAG + b"class"
SET: Final = TAG + b"set"
CONTEXT: Final = TAG + b"context"
INIT: Final = TAG + b"init"
DISCLOSED: Final = TAG + b"disclosed"
PSEUDONYM: Final = TAG + b"shown-pseudonym"
FIRST_MESSAGE: Final = TAG + b"first"
PRESENTATION: Final = TAG + b"presentation"
WEIGHTS: Final = TAG + b"weights"
MASKS: Final = TAG + b"masks"
WITNESS: Final = TAG + b"witness"
