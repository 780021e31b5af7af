"""The lines of ``identity --help`` about the commands, which are not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "ledger.evm": "Deploy and inspect the contract of the ledger plugin evm.",
}
