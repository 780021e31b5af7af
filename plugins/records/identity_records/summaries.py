"""The lines of ``identity --help`` about the commands, which are not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "audit": "Check and export the audit log.",
    "timeline": "What was done by you, in your name, or about you.",
    "verifications": "The verifications that you asked for, and those of your own proofs.",
}
