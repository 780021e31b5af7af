"""Use cases of proofs: make them on behalf of a holder. The extension ``verification`` verifies them.

``domain/delegations/README.md`` lists the order of the checks of generateDelegatedProof.
"""
