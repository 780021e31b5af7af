"""The participants of the demo, and the results that each chapter leaves to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from identity_client import Session, Signer, ibct
from identity_commands.remote import TokenCaller

SHOP: Final = "https://shop.example"


@dataclass(slots=True)
class Participants:
    """The people, and the results that one chapter leaves to the next. ``session`` has the operator's API key."""

    session: Session
    hana: TokenCaller = field(init=False)
    ivo: TokenCaller = field(init=False)
    aki: TokenCaller = field(init=False)
    vera: TokenCaller = field(init=False)
    schema_id: str = ""
    statement: dict[str, Any] = field(default_factory=dict)
    credential_id: str = ""
    delegation_id: str = ""
    challenge: str = ""
    request: dict[str, Any] = field(default_factory=dict)
    proved: dict[str, Any] = field(default_factory=dict)
    is_anchored: bool = False

    def person(self, created: Mapping[str, Any]) -> TokenCaller:
        """Return the person who has the keys of a DID that was just created."""
        return TokenCaller(self.session, Signer(created["did"], created["keys"]["authentication"]["privateKey"]))

    def token(self, action: str) -> dict[str, str]:
        """Return a token of Hana's for Aki."""
        wanted = ibct.IbctTemplate(self.aki.did, action, self.delegation_id, timedelta(hours=1))
        return ibct.sign_token(self.hana.signer, wanted)


def anchor_text(anchor: Mapping[str, Any] | None) -> str:
    """Return a receipt in words."""
    if anchor is None:
        return "no anchor"
    block = anchor.get("blockNumber")
    return f"anchor {anchor['status']}" + ("" if block is None else f" in block {block}")
