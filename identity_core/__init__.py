"""An identity service: DID lifecycle, delegated zero-knowledge proofs, and a plugin for every part."""

__version__ = "1.0.0"
