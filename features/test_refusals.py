"""The rows of the refusal table against a service that runs."""

from __future__ import annotations

from types import ModuleType

import pytest

from features.refusals import TABLE, Row, sampled
from features.servers import Servers
from features.world import World


@pytest.mark.parametrize(("row", "operation_id"), sampled(), ids=str)
def test_refusal(world: World, row: Row, operation_id: str) -> None:
    row.check(world, operation_id)


@pytest.mark.nightly
@pytest.mark.parametrize("row", TABLE, ids=str)
def test_refusal_of_every_operation(client: ModuleType, servers: Servers, row: Row) -> None:
    failed = {}
    for operation in row.operations():
        world = World(client, servers)
        try:
            row.check(world, operation.operation_id)
        except AssertionError as error:
            failed[operation.operation_id] = str(error)
        finally:
            world.close()
    assert failed == {}
