"""The place of a version in the log, in the answers of resolveDid, and how long an answer counts that awaits the witnesses."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from identity_did_ids import foreign

from identity_codec.values import replace
from identity_core.api.caching import BARE, JSON, LD_JSON, W3C, AnswerCache, resolution
from identity_core.domain.dids.did import Did
from identity_core.ports.ledger import Receipt
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.read import Resolution
from identity_core.wire import ResolveDidQuery
from tests.did_use_cases import MovableClock

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SEEN = datetime(2026, 11, 23, 12, tzinfo=UTC)
DID = Did.parse("did:web:a.example")
STATE = foreign.build_foreign_state(DID, {"@context": ["https://www.w3.org/ns/did/v1"], "id": str(DID)}, AT)
RECEIPT = Receipt(transaction_hash="0" * 64, block_number=3, recorded_at=AT, sequence=17)
NEVER = Resolution(IndexedVersion(STATE, RECEIPT), False, None, 1, None, None)
AWAITED = replace(NEVER, awaits=True)
COSIGNED = replace(NEVER, cosigned=(20, SEEN))


def answered(result: Resolution, media: str, **query: Any) -> Any:
    return resolution(result, media, 0, ResolveDidQuery(**query), AT)


@pytest.mark.parametrize("media", [JSON, LD_JSON, W3C])
@pytest.mark.parametrize(
    ("result", "place"),
    [
        (NEVER, {"index": 16, "treeSize": 17}),
        (AWAITED, {"index": 16, "treeSize": 17}),
        (COSIGNED, {"index": 16, "treeSize": 20, "cosignedAt": "2026-11-23T12:00:00Z"}),
        (replace(NEVER, version=IndexedVersion(STATE, None)), None),
    ],
)
def test_the_place_is_told_as_far_as_it_is_known(result: Resolution, media: str, place: Any) -> None:
    metadata = orjson.loads(answered(result, media).answer.body)["didDocumentMetadata"]
    assert metadata.get("ledger") == place


def test_answer_waiting_for_witnesses_counts() -> None:
    cosigned = [16]
    index: Any = SimpleNamespace(generation=lambda *_: 1)
    cache = AnswerCache(index, MovableClock(), lambda: cosigned[0])
    for media, holds in ((JSON, False), (W3C, False), (BARE, True)):
        cosigned[0] = 16
        cache.keep(str(DID), media, answered(AWAITED, media))
        assert cache.find(str(DID), media) is not None
        cosigned[0] = 17
        assert (cache.find(str(DID), media) is not None) == holds
    for result in (NEVER, COSIGNED):
        cache.keep(str(DID), JSON, answered(result, JSON))
        assert cache.find(str(DID), JSON) is not None


def test_it_is_another_answer_for_who_has_the_one_before() -> None:
    assert answered(NEVER, JSON).etag == answered(AWAITED, JSON).etag != answered(COSIGNED, JSON).etag
    # The bare document is the same.
    assert answered(AWAITED, BARE).etag == answered(COSIGNED, BARE).etag


@pytest.mark.parametrize("media", [JSON, W3C])
def test_metadata_are_revalidated_when_a_version_is_superseded(media: str) -> None:
    """``nextVersionId``, ``nextUpdate`` and ``deactivated`` change after a version does: the tag covers them, and nothing is immutable."""
    newest, superseded = (
        answered(one, media, version_id=1) for one in (NEVER, replace(NEVER, following=NEVER.version))
    )
    assert newest.etag != superseded.etag
    for one in (newest, superseded):
        assert dict(one.answer.headers)["Cache-Control"] == "public, max-age=5"


def test_the_document_of_a_version_is_immutable() -> None:
    newest, superseded = (
        answered(one, BARE, version_id=1) for one in (AWAITED, replace(NEVER, following=NEVER.version))
    )
    assert newest.etag == superseded.etag
    assert "immutable" in dict(newest.answer.headers)["Cache-Control"]
    assert "immutable" not in dict(answered(NEVER, BARE).answer.headers)["Cache-Control"]
