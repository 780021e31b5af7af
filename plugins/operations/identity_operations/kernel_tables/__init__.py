"""The tables of the kernel, as SQLModel classes. ``identity doctor`` compares databases with them, and new steps of
``identity_core/store/migrations`` are generated from them.

The kernel itself creates its tables from these steps and imports none of these classes.
"""

from identity_operations.kernel_tables import credentials, dids, proofs

__all__ = ["credentials", "dids", "proofs"]
