"""Requests to wallets as they are kept."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from identity_wallets.domain.presentation import (
    CredentialSet,
    PresentationQuery,
    WantedClaim,
    WantedCredential,
)
from identity_wallets.store import StoredPresentation
from identity_wallets.use_cases.requests import KeptRequests

from identity_codec import sealing
from identity_core.errors import PresentationNotFound

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
END = NOW + timedelta(minutes=10)
SECRET = bytes(32)


class Kept:
    """The rows."""

    def __init__(self) -> None:
        self.rows: dict[str, StoredPresentation] = {}

    async def add(self, request_id: str, row: StoredPresentation, now: datetime) -> None:
        self.rows[request_id] = row

    async def find(self, request_id: str) -> StoredPresentation | None:
        return self.rows.get(request_id)


class Clock:
    """Stands still."""

    def now(self) -> datetime:
        return NOW


def keep_requests(rows: Kept) -> KeptRequests:
    typed: Any = rows
    clock: Any = Clock()
    return KeptRequests(typed, SECRET, lambda size: bytes(range(size)), clock)


def test_a_request_comes_back_as_it_was_kept() -> None:
    rows = Kept()
    claims = (WantedClaim(("age",), "years", (18, "18", True)), WantedClaim(("a", "18"), "adult"))
    one = WantedCredential("age", "urn:x", ("did:ids:x",), claims, (("adult",),))
    sets = (CredentialSet((("age",), ("b", "c"))), CredentialSet((("b",),), False))
    for secret in (None, bytes(range(1, 33))):
        query = PresentationQuery("id", "did:ids:vera", "nonce", "https://shop.example/", (one,), END, secret, sets)
        asyncio.run(keep_requests(rows).keep(query, "owner"))
        assert asyncio.run(keep_requests(rows).find("id"))[0] == query
        assert "x01" not in repr(query)


def test_one_of_before_claim_sets_is_answered_as_it_was_asked() -> None:
    rows = Kept()
    plain = orjson.dumps(["did:ids:vera", "nonce", None, [["age", "urn:x", [], [["age"]]]]])
    box = sealing.seal(SECRET, plain, b"identity: presentation request, v1\nid", random=lambda size: bytes(size))
    rows.rows["id"] = StoredPresentation("owner", box, END)
    query, _ = asyncio.run(keep_requests(rows).find("id"))
    assert query == PresentationQuery(
        "id", "did:ids:vera", "nonce", None, (WantedCredential("age", "urn:x", (), (WantedClaim(("age",)),)),), END
    )
    (wanted,) = query.wanted
    wanted.check({"vct": "urn:x", "age": 3}, NOW, None, None)
    with pytest.raises(ValueError, match="not disclosed"):
        wanted.check({"vct": "urn:x"}, NOW, None, None)


def test_a_request_of_another_id_is_not_opened() -> None:
    rows = Kept()
    asyncio.run(keep_requests(rows).keep(PresentationQuery("id", "did:ids:vera", "n", None, (), END), "owner"))
    rows.rows["other"] = rows.rows["id"]
    with pytest.raises(PresentationNotFound):
        asyncio.run(keep_requests(rows).find("other"))


@pytest.mark.parametrize("value", [2**53, -(2**53), 2**63, 1.5, None])
def test_value_that_cannot_be_signed_is_refused(value: Any) -> None:
    """A request with it would be stored, and no wallet could read it."""
    WantedCredential("age", "urn:x", (), (WantedClaim(("age",), "age", (2**53 - 1, -(2**53) + 1)),)).check_claims()
    with pytest.raises(ValueError, match="integers up to 2\\^53 - 1"):
        WantedCredential("age", "urn:x", (), (WantedClaim(("age",), "age", ("18", value)),)).check_claims()
