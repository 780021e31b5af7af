"""The lines of ``identity --help`` about the commands, which are not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "keys": "Operate beside the data | Create, list, change, rotate and revoke API keys.",
    "keys.accept": "Take every key in the key store as it is now.",
}
