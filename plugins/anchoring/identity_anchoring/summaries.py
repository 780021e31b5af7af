"""The line of ``identity --help`` about the command, which is not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {"anchor": "Operate beside the data | Anchor commitments to proofs: the worker, its state, retries."}
