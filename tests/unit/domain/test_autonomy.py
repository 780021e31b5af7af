"""The levels that requests of agents need, and the ways out that a refusal names."""

from __future__ import annotations

import pytest

from identity_core.domain.delegations.delegation import AutonomyTable
from identity_core.errors import AutonomyTooLow

TABLE = AutonomyTable()


@pytest.mark.parametrize(
    ("pinned", "anchor", "needed"), [(True, False, 2), (False, False, 3), (True, True, 3), (False, True, 4)]
)
def test_proof_needs_autonomy_level(pinned: bool, anchor: bool, needed: int) -> None:
    assert TABLE.required_autonomy(pinned=pinned, anchor=anchor) == needed
    TABLE.check_proof(needed, pinned=pinned, anchor=anchor)
    with pytest.raises(AutonomyTooLow) as refused:
        TABLE.check_proof(needed - 1, pinned=pinned, anchor=anchor)
    assert (refused.value.details["required"], refused.value.details["effective"]) == (needed, needed - 1)


@pytest.mark.parametrize(
    ("level", "pinned", "anchor", "ways"),
    [
        (2, False, False, ["pin", "autonomyLevel 3"]),
        (1, False, False, ["autonomyLevel 3"]),
        (2, True, True, ["anchor: false", "autonomyLevel 3"]),
        (3, False, True, ["pin", "anchor: false", "autonomyLevel 4"]),
        (2, False, True, ["pin the value, and send anchor: false", "autonomyLevel 4"]),
        (0, True, False, ["autonomyLevel 2"]),
    ],
)
def test_every_way_out_is_named_and_works(level: int, pinned: bool, anchor: bool, ways: list[str]) -> None:
    with pytest.raises(AutonomyTooLow) as refused:
        TABLE.check_proof(level, pinned=pinned, anchor=anchor)
    remedies = refused.value.details["remedies"]
    assert isinstance(remedies, list)
    assert len(remedies) == len(ways)
    assert all(way in str(remedy) for way, remedy in zip(ways, remedies, strict=True))


def test_nobody_is_above_the_ceiling() -> None:
    with pytest.raises(AutonomyTooLow) as refused:
        AutonomyTable(ceiling=2).check_proof(5, pinned=False, anchor=False)
    assert refused.value.details["effective"] == 2
    assert "autonomyLevel" not in str(refused.value.details["remedies"])


def test_a_child_needs_the_highest_level_and_metadata_the_first() -> None:
    TABLE.check_delegate(5)
    TABLE.check_metadata(1)
    with pytest.raises(AutonomyTooLow):
        TABLE.check_delegate(4)
    with pytest.raises(AutonomyTooLow):
        TABLE.check_metadata(0)
