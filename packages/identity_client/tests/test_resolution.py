"""The requirements of a verifier for a resolution: a place in the log, and witnesses that had seen it in time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from identity_client import LogPlace, PlaceUnknown, require_place

WITHIN = timedelta(minutes=10)
PLACE = {"index": 16, "treeSize": 20, "cosignedAt": "2026-11-23T12:00:00Z"}


def answer(place: Any, **metadata: Any) -> dict[str, Any]:
    said = {"created": "2026-01-01T00:00:00Z", "updated": "2026-11-23T11:50:00Z"} | metadata
    return {"didDocumentMetadata": said if place is None else said | {"ledger": place}}


def test_required_place_is_returned() -> None:
    seen = datetime(2026, 11, 23, 12, tzinfo=UTC)
    assert require_place(answer(PLACE), cosigned_within=WITHIN) == LogPlace(16, 20, seen)
    alone = {"index": 16, "treeSize": 17}
    assert require_place(answer(alone)) == LogPlace(16, 17, None)
    assert require_place(answer(PLACE, updated="2026-11-23T12:10:00Z"), cosigned_within=WITHIN).index == 16
    first = answer(PLACE, created="2026-11-23T11:55:00Z")
    del first["didDocumentMetadata"]["updated"]
    assert require_place(first, cosigned_within=WITHIN).tree_size == 20


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        (answer(None), "stands in no ledger"),
        (answer({"index": 16, "treeSize": 17}), "no quorum"),
        (answer(PLACE, updated="2026-11-23T11:49:59Z"), "601 seconds apart"),
        (answer(PLACE, updated="2026-11-23T12:10:01Z"), "601 seconds apart"),
        (answer(PLACE | {"treeSize": 16}), "is malformed"),
        (answer(PLACE | {"index": -1}), "is malformed"),
        (answer(PLACE | {"index": True}), "is malformed"),
        (answer(PLACE | {"index": "16"}), "is malformed"),
        (answer(PLACE | {"cosignedAt": "yesterday"}), "not a resolution"),
        (answer(PLACE | {"cosignedAt": 5}), "not a resolution"),
        (answer([]), "not a resolution"),
        ({}, "not a resolution"),
        ({"didDocumentMetadata": None}, "not a resolution"),
    ],
)
def test_unmet_requirement_is_refused(shown: Any, says: str) -> None:
    with pytest.raises(PlaceUnknown, match=says):
        require_place(shown, cosigned_within=WITHIN)
