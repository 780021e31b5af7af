"""A scene for each test, on services that all of them share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.attack.conftest import Target
from tests.attack.delegated.scene import People, Scene


@pytest.fixture(scope="session")
def peoples() -> Callable[[Target], People]:
    """The people of a service, made when they are first asked for."""
    known: dict[int, People] = {}

    def of(target: Target) -> People:
        if id(target) not in known:
            known[id(target)] = People.of(target)
        return known[id(target)]

    return of


@pytest.fixture
def people(peoples: Callable[[Target], People], target: Target) -> People:
    """Those of one process."""
    return peoples(target)


@pytest.fixture
def scene(people: People) -> Scene:
    """One process."""
    return Scene.of(people)


@pytest.fixture(params=[1, 4], ids=["1_process", "4_processes"])
def crowded(
    request: pytest.FixtureRequest, targets: Callable[[int], Target], peoples: Callable[[Target], People]
) -> People:
    """One process, or four that share the work."""
    return peoples(targets(request.param))
