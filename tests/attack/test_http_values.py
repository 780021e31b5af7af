"""Values that fit the document and that a database or a library has no form for: refused, and never a fault of ours.

On SQLite and on a server, because they differ in what they can keep.
"""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.conftest import Target
from tests.attack.delegated.scene import PROOFS, People, Scene
from tests.attack.stranger import PREFIX, service
from tests.fault.service_process import service as run_service
from tests.postgres_server import postgres_server

__all__ = ["postgres_server"]

NUL = "a\0b"
LISTS = ["/dids", "/admin/api-keys", "/credential-schemas", "/credentials", "/delegations", "/verifications/history"]
MALFORMED = (400, "INVALID_REQUEST")


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)])
def people(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    folder: Path = tmp_path_factory.mktemp("values") / "data"
    server = request.getfixturevalue("postgres_server") if request.param == "postgresql" else None
    environment = {} if server is None else {"IDENTITY_DATABASE_URL": server.new_database()}
    with run_service(folder, environment=environment) as running:
        yield People.create(Target(running.wire, running.stranger, folder, 1))


@pytest.fixture
def scene(people: People) -> Scene:
    return Scene.create(people)


CURSORS = [
    *(b"\0", b"a\0b", b"2026-01-01T00:00:00Z a\0", b"\n", b"\x7f", b"key_\x1f"),
    *(b"", b"nowhere", b"7", b"1 2", b"2026-01-01T00:00:00Z a", b"2026-01-01 x", b"key-x", b"key_a", b"did:", b"a:b c"),
    *(b"did:ids:absent", b"https://schemas.example/a", b"f" * 32, b"z" * 90),
]


@pytest.mark.parametrize("place", [*LISTS, "/dashboard/timeline"])
def test_a_made_up_cursor_is_refused(people: People, place: str) -> None:
    """A list that answers it with an empty page hides that the rest was never read."""
    key = {"X-API-Key": people.target.stranger.api_key}
    for content in CURSORS:
        cursor = base64.urlsafe_b64encode(content).rstrip(b"=").decode()
        answer = people.target.wire.call("GET", f"{PREFIX}{place}?cursor={cursor}", None, key)
        assert answer.outcome == MALFORMED, content
        assert answer.json["error"]["details"]["parameter"] == "cursor", content


def test_cursor_belongs_to_one_did_and_order(people: People) -> None:
    """The cursors of credentials and permissions belong to their lists too."""
    histories = []
    for _ in range(2):
        one = people.target.stranger.holder()
        assert one.act("update", service()).status == 200
        histories += [f"{one.path()}/history?limit=1&order={order}" for order in ("asc", "desc")]
    scene = Scene.create(people)
    for _ in range(2):
        scene.people.delegate(scene.holder, scene.agent)
        scene.people.issue(scene.holder)
    owned = [f"{PREFIX}/{name}?limit=1&holderDid={scene.holder.did}" for name in ("credentials", "delegations")]
    key = {"X-API-Key": people.target.stranger.api_key}
    places = histories + owned
    cursors = [people.target.wire.call("GET", place, None, key).json["nextCursor"] for place in places]
    for place, cursor in itertools.product(places, cursors):
        answer = people.target.wire.call("GET", f"{place}&cursor={cursor}", None, key)
        assert answer.status == (200 if cursors[places.index(place)] == cursor else 400), (place, cursor)


def test_a_text_with_a_nul_is_kept_or_refused(scene: Scene) -> None:
    """The texts that people write: a server cannot keep every one."""
    key = {"X-API-Key": scene.target.stranger.api_key}
    proof = scene.ask().json["proofId"]
    for place, body in (
        (f"/zkp/proofs/{proof}/revoke", {"reason": NUL}),
        (f"/delegations/{scene.delegation_id}/revoke", {"reason": NUL}),
        (f"/credentials/{scene.credential_id}/status", {"purpose": "suspension", "value": True, "reason": NUL}),
        ("/admin/api-keys", {"name": NUL, "scopes": ["dids:list"]}),
    ):
        answer = scene.target.wire.call("POST", PREFIX + place, body, key)
        assert answer.outcome in ((200, None), (201, None), MALFORMED), place


def test_no_credential_has_a_nul_in_its_name(scene: Scene) -> None:
    asked = scene.ask(scene.body(credentialId=NUL))
    assert asked.outcome in ((404, "CREDENTIAL_NOT_FOUND"), MALFORMED)
    told = scene.target.wire.call("POST", f"{PREFIX}/challenges", {"domain": NUL}, scene.authorize(scene.holder))
    assert told.outcome == MALFORMED
    # The next request on the same connections finds them in order.
    assert scene.ask().status == 201


def test_unchecked_names_are_not_looked_up(scene: Scene) -> None:
    shown = scene.target.wire.call(
        "GET", f"{PREFIX}/credentials/{scene.credential_id}", None, scene.authorize(scene.holder)
    ).json["credential"]
    for change in ({"id": NUL}, {"credentialSchema": shown["credentialSchema"] | {"id": NUL}}, {"issuer": NUL}):
        told = scene.target.wire.call("POST", f"{PREFIX}/credentials/verify", {"credential": shown | change})
        assert told.outcome in ((200, None), MALFORMED), change
        assert told.status == 400 or told.json["verified"] is False
    proof = scene.ask().json["proof"]
    for expected in ({"challenge": "vc1_" + "\0" * 43}, {"schemaId": NUL}, {"domain": NUL}):
        for headers in ({}, scene.authorize(scene.holder)):
            told = scene.target.wire.call("POST", f"{PREFIX}/zkp/proofs/verify", proof | expected, headers)
            assert told.outcome in ((200, None), MALFORMED), expected
            assert told.status == 400 or told.json["verified"] is False


@pytest.mark.parametrize("number", ["1e17", "1e308", "9223372036854775808.0", "1e19"])
def test_an_integer_as_an_exponent_is_no_fault(scene: Scene, number: str) -> None:
    """JSON Schema calls all of them integers."""
    body = json.dumps(scene.body())[:-1].encode() + f', "syncWaitMs": {number}}}'.encode()
    answer = scene.target.wire.call("POST", PROOFS, body, scene.authorize(scene.agent))
    assert answer.outcome == MALFORMED
    proof = scene.ask().json["proofId"]
    revoked = scene.target.wire.call(
        "POST",
        f"{PREFIX}/zkp/proofs/{proof}/revoke",
        f'{{"syncWaitMs": {number}}}'.encode(),
        scene.authorize(scene.agent),
    )
    assert revoked.outcome == MALFORMED
