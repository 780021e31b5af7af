"""BBS signatures and proofs, suite BLS12-381-SHA-256, byte-exact to the fixtures of draft-irtf-cfrg-bbs-signatures-10 (July 2025).

Files follow the draft's sections: ``interface`` (bytes in, bytes out), ``core`` (scalars; what a prover builds upon),
``data`` (the draft's utility operations) and ``suite``, which has the values that pass between them and the two refusals too.
``openings``, ``blind`` and ``consent`` stand beside the draft. Left out on purpose: the SHAKE-256 suite, and the drafts of blind signatures
and pseudonyms.
"""
