"""The line of ``identity --help`` about the command, which is not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {"anchor": "Put commitments to proofs on the ledger: the worker, its state, retries."}
