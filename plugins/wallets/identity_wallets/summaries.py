"""The lines of ``identity --help`` about the commands, which are not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "credential.offer-copy": "Offer a wallet of OpenID4VCI a copy of a credential.",
    "presentation": "Credentials and proofs | Request credentials from a wallet (OpenID4VP), and read what it presents.",
}
