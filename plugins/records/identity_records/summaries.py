"""The lines of ``identity --help`` about the commands, which are not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "audit": "Operate beside the data | Verify and export the audit log.",
    "timeline": "Account | Show what was done by you, in your name, or about you.",
    "verifications": "Account | Show the verifications that you requested, and those of your proofs.",
}
