"""Use cases of proofs: make on behalf of a holder, verify, read and revoke.

``domain/delegations/README.md`` lists the order of the checks of generateDelegatedProof.
"""
