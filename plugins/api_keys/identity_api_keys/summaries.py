"""The lines of ``identity --help`` about the commands, which are not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "keys": "API keys: create, list, change, rotate, revoke.",
    "keys.accept": "Take every key in the key store as it is now.",
}
