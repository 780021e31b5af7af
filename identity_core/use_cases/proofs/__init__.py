"""Use cases of proofs: made on behalf of a holder, verified, read and revoked.

``domain/delegations/README.md`` has the order of checks of generateDelegatedProof.
"""
