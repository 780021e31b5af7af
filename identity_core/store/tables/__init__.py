"""The tables of the store, as SQLModel classes: what the steps of ``migrations/`` are written from and checked against.

Statements are written by hand beside this, or made by ``records.py``; nothing imports the package but the author of a step,
``identity doctor`` and tests. Times are microseconds since 1970 (UTC) unless a name says seconds; hashes and documents are raw octets.
"""

from __future__ import annotations

from identity_core.store.tables import activity, credentials, dids, proofs
from identity_core.store.tables.model import metadata_of_store

__all__ = ["activity", "credentials", "dids", "metadata_of_store", "proofs"]
