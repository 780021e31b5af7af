"""The prover ``bbs`` of identity-service: zero-knowledge predicates over BBS credentials.

``PROTOCOL.md`` beside this file is the protocol and its security argument; the code cites its equations.
"""

from identity_prover_bbs.plugin import BbsProver, BbsSettings, identity_provide_prover

__all__ = ["BbsProver", "BbsSettings", "identity_provide_prover"]
