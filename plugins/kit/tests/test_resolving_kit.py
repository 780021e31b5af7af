"""The kit for methods that look elsewhere passes a good one and fails those that are broken on purpose, where their fault lies."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from _pytest.outcomes import Failed
from identity_did_ids import foreign
from identity_kit.conformance.resolving import Opened, Outside, ResolvingDidMethodConformance

from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.state import DidState, LogInvalid
from identity_core.errors import InvalidDid, InvalidDocument, PluginUnavailable

NOW = datetime(2026, 1, 2, tzinfo=UTC)
DID, ABSENT, AWAY = (Did.parse(f"did:shelf:{name}") for name in ("hana", "absent", "away"))
STRANGE, LOOSE = Did.parse("did:shelf:strange"), Did.parse("did:shelf:loose")
DOCUMENT: dict[str, Any] = {
    "@context": ["https://www.w3.org/ns/did/v1"],
    "id": str(DID),
    "authentication": [f"{DID}#1"],
    "more": {"any": [1]},
}
SHELF: dict[str, Any] = {
    "hana": DOCUMENT,
    "strange": DOCUMENT,
    "loose": DOCUMENT | {"id": str(LOOSE), "authentication": "x"},
}


class Shelf:
    """Documents on a shelf: as good a world outside as any."""

    name = "shelf"
    mutable = False

    def check(self, did: Did) -> None:
        if did.method != self.name or not did.identifier.isalnum() or not did.identifier.isascii():
            raise InvalidDid

    def expand(self, did: Did) -> DidState | None:
        return None

    def draft(self, state: Any, change: Any, at: datetime, *, signer: str) -> Any:
        raise InvalidDocument

    def apply(self, state: Any, entry: bytes) -> DidState:
        raise LogInvalid

    async def resolve(self, did: Did) -> DidState | None:
        await asyncio.sleep(0)
        if did == AWAY:
            raise PluginUnavailable
        members = SHELF.get(did.identifier)
        return None if members is None else foreign.build_foreign_state(did, members, NOW)


class NotKnown(Shelf):
    """Says that there is nothing when it could not look."""

    async def resolve(self, did: Did) -> DidState | None:
        return None if did == AWAY else await super().resolve(did)


class Trims(Shelf):
    """Shows only what it understands."""

    async def resolve(self, did: Did) -> DidState | None:
        if did != DID:
            return await super().resolve(did)
        return foreign.build_foreign_state(did, {name: DOCUMENT[name] for name in ("@context", "id")}, NOW)


class Credulous(Shelf):
    """Shows a document of another DID."""

    async def resolve(self, did: Did) -> DidState | None:
        return await super().resolve(DID if did == STRANGE else did)


class Forgetful(Shelf):
    """Refuses once, and shows it the second time."""

    def __init__(self) -> None:
        self._seen: set[Did] = set()

    async def resolve(self, did: Did) -> DidState | None:
        if did in self._seen and did == LOOSE:
            return None
        self._seen.add(did)
        return await super().resolve(did)


class Eager(Shelf):
    """Looks where it must not."""

    def expand(self, did: Did) -> DidState | None:
        return foreign.build_foreign_state(did, DOCUMENT, NOW) if did == DID else None


class Trusting(Shelf):
    """Takes the keys of a stranger's document for keys that sign in here."""

    async def resolve(self, did: Did) -> DidState | None:
        from identity_did_ids.chain import Chain
        from identity_did_ids.evolution import Rules
        from identity_kit.conformance.controller import BIRTH, Controller, WalletSigner

        from identity_codec.values import replace

        state = await super().resolve(did)
        if state is None:
            return None
        signer = WalletSigner("x")
        draft = Chain("ids", Rules()).draft(None, Controller("x").creation(signer), BIRTH, signer=signer.multikey)
        own = draft.after(signer.sign(draft)).document

        class Both(DidDocument):
            def to_json(self) -> Any:
                return DOCUMENT

        return replace(state, document=Both(own.did, own.methods, own.relationships))


class Anything(Shelf):
    """Takes every identifier for its own."""

    def check(self, did: Did) -> None:
        return None


class Shared(Shelf):
    """All callers wait for the first one, and fall with it."""

    def __init__(self) -> None:
        self._look_up: asyncio.Task[Any] | None = None

    async def resolve(self, did: Did) -> DidState | None:
        if did != DID:
            return await super().resolve(did)
        if self._look_up is None:
            self._look_up = asyncio.create_task(super().resolve(did))
        return await self._look_up  # type: ignore[no-any-return]


class Scribe(Shelf):
    """Reads an entry though it has no log."""

    def apply(self, state: Any, entry: bytes) -> DidState:
        return foreign.build_foreign_state(DID, DOCUMENT, NOW)


def shelf(make: Callable[[], Shelf]) -> Opened:
    @contextlib.asynccontextmanager
    async def open_outside() -> AsyncIterator[Outside]:
        yield Outside(make(), DID, DOCUMENT, ABSENT, AWAY, STRANGE, (LOOSE,))

    return open_outside


class TestShelf(ResolvingDidMethodConformance):
    @pytest.fixture
    def outside(self) -> Opened:
        return shelf(Shelf)


BROKEN = {
    NotKnown: "test_not_to_know_is_not_nothing",
    Trims: "test_published_version_is_shown",
    Credulous: "test_a_document_of_another_did_is_not_shown",
    Forgetful: "test_invalid_version_is_refused",
    Eager: "test_the_identifier_alone_tells_nothing",
    Trusting: "test_nobody_signs_in_with_what_was_found",
    Anything: "test_an_identifier_that_is_none_of_it",
    Shared: "test_many_at_once",
    Scribe: "test_nothing_is_written_here",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_the_kit_fails_what_is_broken(broken: type[Shelf]) -> None:
    more = ("did:shelf:..",) if broken is Anything else ()
    with pytest.raises((AssertionError, Failed, asyncio.CancelledError)):
        getattr(ResolvingDidMethodConformance(), BROKEN[broken])(shelf(broken), *more)
