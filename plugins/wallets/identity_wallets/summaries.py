"""The lines of ``identity --help`` about the commands, which are not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "presentation": "Ask a wallet of OpenID4VP for credentials, and read what it presents.",
}
