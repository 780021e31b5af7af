"""Who is in the story, and what they have by now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from identity_core.client import Client, Signer, ibct

SHOP: Final = "https://shop.example"


@dataclass(slots=True)
class Person:
    """A person with a DID, who asks with an access token that one signature obtains."""

    session: Client
    signer: Signer
    _token: str = ""

    @property
    def did(self) -> str:
        """The DID."""
        return self.signer.did

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer. Raises ``ServiceError`` or ``ServiceUnreachable``."""
        self._token = self._token or self.session.token(self.signer)["access_token"]
        return self.session.call(method, path, body=body, headers={"Authorization": f"Bearer {self._token}"})


@dataclass(slots=True)
class Participants:
    """The people, and what one chapter leaves to the next. ``session`` has the operator's API key."""

    session: Client
    hana: Person = field(init=False)
    ivo: Person = field(init=False)
    aki: Person = field(init=False)
    vera: Person = field(init=False)
    schema_id: str = ""
    statement: dict[str, Any] = field(default_factory=dict)
    credential_id: str = ""
    delegation_id: str = ""
    challenge: str = ""
    request: dict[str, Any] = field(default_factory=dict)
    proved: dict[str, Any] = field(default_factory=dict)
    is_anchored: bool = False

    def person(self, created: Mapping[str, Any]) -> Person:
        """The person who has the keys of a DID that was just created."""
        return Person(self.session, Signer(created["did"], created["keys"]["authentication"]["privateKey"]))

    def token(self, action: str) -> dict[str, str]:
        """A token of Hana's for Aki."""
        wanted = ibct.IbctTemplate(self.aki.did, action, self.delegation_id, timedelta(hours=1))
        return ibct.issue(self.hana.signer, wanted)


def anchor_text(anchor: Mapping[str, Any] | None) -> str:
    """A receipt in words."""
    if anchor is None:
        return "no anchor"
    block = anchor.get("blockNumber")
    return f"anchor {anchor['status']}" + ("" if block is None else f" in block {block}")
