"""A scene for each test, on services that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.attack.conftest import Target
from tests.attack.delegated.scene import People, Scene
from tests.fault.turned_service import Turned, turned_service


@pytest.fixture(scope="session")
def peoples() -> Callable[[Target], People]:
    """The people of a service, made when they are first asked for."""
    known: dict[int, People] = {}

    def find_people(target: Target) -> People:
        if id(target) not in known:
            known[id(target)] = People.create(target)
        return known[id(target)]

    return find_people


@pytest.fixture
def people(peoples: Callable[[Target], People], target: Target) -> People:
    """Those of one process."""
    return peoples(target)


@pytest.fixture
def scene(people: People) -> Scene:
    """One process."""
    return Scene.create(people)


@pytest.fixture(scope="session")
def clockwork(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Turned]:
    """A service whose clock the tests turn."""
    with turned_service(tmp_path_factory.mktemp("clockwork")) as found:
        yield found


@pytest.fixture
def turned(clockwork: Turned) -> Iterator[Turned]:
    """Right again afterwards."""
    yield clockwork
    clockwork.turn(0)


@pytest.fixture
def mortals(turned: Turned) -> People:
    """Those of the service whose clock is turned; new ones, because what they were given in another time is not good."""
    return People.create(Target(turned.running.wire, turned.running.stranger, turned.data_dir, 1))


@pytest.fixture(params=[1, 4], ids=["1_process", "4_processes"])
def crowded(
    request: pytest.FixtureRequest, targets: Callable[[int], Target], peoples: Callable[[Target], People]
) -> People:
    """One process, or four that share the work."""
    return peoples(targets(request.param))
