"""Asking in somebody's name: a DID whose keys file is at hand, or whoever has the API key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from identity_core.cli.wallet import Wallet
from identity_core.client import Session, Signer

wallet_option = click.option(
    "--keys",
    "wallet",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="IDENTITY_KEYS",
    show_envvar=True,
    help="Ask as the DID of this keys file (- for standard input); without it, with the API key.",
)


@dataclass(frozen=True, slots=True)
class Ask:
    """Calls the service; with a ``signer`` each call is signed with a challenge for exactly this purpose and body."""

    session: Session
    signer: Signer | None

    @property
    def did(self) -> str | None:
        """The DID that asks."""
        return None if self.signer is None else self.signer.did

    def __call__(
        self, method: str, path: str, purpose: str, body: Any = None, *, query: Mapping[str, Any] | None = None
    ) -> Any:
        """The answer. Raises ``Refused`` or ``Unreachable``."""
        if self.signer is None:
            return self.session.call(method, path, body=body, query=query)
        if body is not None:
            return self.session.signed(method, path, body, self.signer, purpose)
        offer = self.session.challenge(self.signer.did, purpose=purpose, named=True)
        origin = self.session.origin
        header = self.signer.header(offer["challenge"], purpose=purpose, origin=origin, named=True)
        return self.session.call(method, path, query=query, headers={"Authorization": header})


def asks(session: Session, wallet: Path | None) -> Ask:
    """As the DID of ``wallet``, or with the session's API key."""
    return Ask(session, None if wallet is None else Wallet.open(wallet).signer())
