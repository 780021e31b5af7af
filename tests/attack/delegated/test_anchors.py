"""``anchor: true`` cannot be unpublished: it needs a service that anchors, and one level of autonomy more (openapi/DECISIONS.md §4.5,
§4.10)."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.attack.conftest import Target
from tests.attack.delegated.scene import People, Scene
from tests.attack.stranger import GENEROUS, Stranger, Wire
from tests.servers import local_server

DISABLED = (501, "ANCHORING_DISABLED")


@pytest.fixture(
    scope="module", params=[{"IDENTITY_ANCHORING_ENABLED": "false"}, {"IDENTITY_EXTENSIONS_DISABLED": "anchoring"}]
)
def people_without_anchoring(request: pytest.FixtureRequest) -> Iterator[People]:
    """A service that does not anchor: by its setting, and without the extension."""
    with local_server(environment=GENEROUS | request.param) as server:
        wire = Wire(server.url)
        yield People.create(Target(wire, Stranger(wire, server.api_key), server.data_dir, 1))
        wire.close()


def test_off_and_asked_for_spends_nothing(people_without_anchoring: People) -> None:
    scene = Scene.create(people_without_anchoring)
    body = scene.body()
    for more in ({}, {"syncWaitMs": 10**9}):
        began = time.monotonic()
        assert scene.ask(body | {"anchor": True} | more).outcome == DISABLED
        # The longest wait is thirty seconds.
        assert time.monotonic() - began < 25
    # Nothing about the token is looked at before, so that this tells nothing about it.
    assert scene.ask(body | {"anchor": True, "ibct": scene.token(type="x")}).outcome == DISABLED
    assert scene.uses == 0
    answer = scene.ask(body | {"anchor": False, "syncWaitMs": 10**9})
    assert answer.status == 201
    assert answer.json["anchor"] is None


def test_one_level_more_where_it_is_on(people: People) -> None:
    for level, pinned, chosen in ((2, 403, 403), (3, 201, 403), (4, 201, 201)):
        scene = Scene.create(people, autonomyLevel=level)
        body = scene.body(ibct=scene.token(action="zkp.prove.age.gte.18"), anchor=True)
        assert scene.ask(body).status == pinned
        refused = scene.ask(scene.body(anchor=True))
        assert refused.status == chosen
        assert refused.status == 201 or refused.code == "AUTONOMY_TOO_LOW"


def test_a_wait_of_nothing_is_always_pending(people: People) -> None:
    scene = Scene.create(people)
    answer = scene.ask(scene.body(anchor=True))
    assert answer.json["anchor"]["status"] == "pending"
    assert set(answer.json["anchor"]) == {"status", "txHash", "blockNumber", "revokedBlock"}
