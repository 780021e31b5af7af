from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

import jsonschema_rs
import pytest
from identity_api_keys import wire
from identity_api_keys.handlers import ApiKeyHandlers
from identity_api_keys.manage import ApiKeyAdministration
from identity_api_keys.stored_changes import ChangeStored
from identity_kit.conformance.key_store import key

from identity_codec.structs import convert, plain
from identity_codec.values import replace
from identity_core.api import schemas
from identity_core.api.request import Request
from identity_core.domain.callers import Caller, digest_of, fingerprint
from identity_core.domain.dids.did import Did
from identity_core.errors import ApiKeyNotFound, AuthRequired, Forbidden, InvalidRequest
from identity_core.use_cases.auth.authenticate import ApiKeyCache
from identity_core.use_cases.auth.tagged import RecordKeyChange
from identity_core.use_cases.record import Record
from tests.events import Rows
from tests.unit.use_cases.auth.memory_keys import Dice, MemoryKeys, MovingClock

ADMIN = Caller(api_key=key("admin", scopes=None, lineage=None))
SCOPED = Caller(api_key=key("scoped"))
DOCUMENT = json.loads((Path(__file__).parents[3] / "openapi" / "reference.json").read_text())


class World:
    def __init__(self) -> None:
        self.store, self.clock, self.audit, dice = MemoryKeys(), MovingClock(), Rows(), Dice()
        change, fingerprint_of = ChangeStored(self.store, ApiKeyCache(self.clock)), partial(fingerprint, b"secret")
        record = RecordKeyChange(Record(self.audit), fingerprint_of, self.clock)
        administration = ApiKeyAdministration(change, record, self.clock, dice)
        self.handlers = ApiKeyHandlers(administration, fingerprint_of)

    def ask(self, operation: str, body=None, *, key_id: str = "", caller=ADMIN, **query):
        request = Request(request_id="r1", caller=caller, path={"keyId": key_id}, query=wire.ListApiKeysQuery(**query))
        request.operation_id = operation
        if body is not None:
            name = "".join(word.capitalize() for word in operation.split("_"))
            request.body = convert(body, getattr(wire, f"{name}Request"))
        answer = asyncio.run(getattr(self.handlers, operation)(request))
        answer.body = plain(answer.body)
        return answer

    def create(self, **body):
        return self.ask("create_api_key", {"name": "ci", "admin": True} | body).body


def fits(schema: str, body) -> None:
    """The body is what the document promises, no member more and none less."""
    wanted = DOCUMENT["components"]["schemas"][schema]
    schemas.Schemas(DOCUMENT).compile(wanted).validate(body)
    assert set(body) == set(wanted["properties"])


def test_create():
    world = World()
    answer = world.ask(
        "create_api_key",
        {
            "name": "ci",
            "scopes": ["dids:list", "dids:create"],
            "allowedTargets": ["did:ids:abc"],
            "requestsPerSecond": 5,
            "burst": 9,
            "expiresAt": "2027-01-01T01:00:00+01:00",
        },
    )
    assert answer.status == 201
    fits("IssuedApiKey", answer.body)
    record = answer.body["record"]
    fits("ApiKeyRecord", record)
    assert record["scopes"] == ["dids:create", "dids:list"]
    assert (record["admin"], record["requestsPerSecond"], record["burst"]) == (False, 5.0, 9)
    assert record["expiresAt"] == "2027-01-01T00:00:00Z"
    assert record["fingerprint"] == fingerprint(b"secret", digest_of(answer.body["apiKey"]))
    assert record["fingerprint"] not in digest_of(answer.body["apiKey"])
    assert ("Cache-Control", "no-store") in answer.headers
    assert ("Location", f"/api/v1/admin/api-keys/{record['id']}") in answer.headers


def test_the_text_is_in_no_other_answer_and_not_in_the_audit():
    world = World()
    made = world.create()
    key_id = made["record"]["id"]
    answers = [
        world.ask("get_api_key", key_id=key_id).body,
        world.ask("list_api_keys").body,
        world.ask("update_api_key", {"name": "new"}, key_id=key_id).body,
        world.ask("revoke_api_key", key_id=key_id).body,
    ]
    for shown in (*map(json.dumps, answers), repr(world.audit.rows)):
        assert made["apiKey"] not in shown
        assert digest_of(made["apiKey"]) not in shown


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"admin": False},
        {"admin": True, "scopes": []},
        {"scopes": ["dids:creat"]},
        {"scopes": ["zkp:prove"]},
        {"scopes": ["zkp:prove", "*"], "allowedTargets": None},
    ],
)
def test_creation_must_say_admin_or_scopes(body):
    world = World()
    with pytest.raises(InvalidRequest):
        world.ask("create_api_key", {"name": "ci"} | body)
    assert world.store.by_id == {}
    assert world.audit.rows == []


@pytest.mark.parametrize(
    "wrong", [{"allowedTargets": ["did:"]}, {"expiresAt": "2020-01-01T00:00:00Z"}, {"expiresAt": "tomorrow"}]
)
def test_values_that_the_schema_cannot_judge(wrong):
    world = World()
    with pytest.raises(InvalidRequest) as refused:
        world.create(**wrong)
    assert refused.value.details["field"] in wrong
    made = world.create()
    with pytest.raises(InvalidRequest):
        world.ask("update_api_key", wrong, key_id=made["record"]["id"])


def test_get_and_unknown_ids():
    world = World()
    record = world.create()["record"]
    answer = world.ask("get_api_key", key_id=record["id"])
    assert (answer.status, answer.body) == (200, record)
    for operation, body in (("get_api_key", None), ("update_api_key", {"name": "x"}), ("revoke_api_key", None)):
        with pytest.raises(ApiKeyNotFound):
            world.ask(operation, body, key_id="key_nobody")


def test_list_in_pages():
    world = World()
    made = sorted(world.create()["record"]["id"] for _ in range(5))
    seen, cursor = [], None
    while True:
        answer = world.ask("list_api_keys", limit=2, **({"cursor": cursor} if cursor else {}))
        fits("ApiKeyList", answer.body)
        seen += [each["id"] for each in answer.body["items"]]
        cursor = answer.body["nextCursor"]
        if cursor is None:
            break
    assert seen == made
    with pytest.raises(InvalidRequest):
        world.ask("list_api_keys", cursor="!")


def test_update_keeps_what_is_not_named_and_null_clears():
    world = World()
    record = world.create(allowedTargets=["did:ids:abc"], requestsPerSecond=5, burst=9)["record"]
    limited = world.ask("update_api_key", {"scopes": ["dids:list"]}, key_id=record["id"]).body
    assert limited == record | {"admin": False, "scopes": ["dids:list"]}
    cleared = world.ask(
        "update_api_key",
        {"admin": True, "allowedTargets": None, "requestsPerSecond": None, "burst": None, "expiresAt": None},
        key_id=record["id"],
    ).body
    assert cleared == record | {"allowedTargets": None, "requestsPerSecond": None, "burst": None}
    with pytest.raises(InvalidRequest):
        world.ask("update_api_key", {"admin": False}, key_id=record["id"])


def test_rotate():
    world = World()
    record = world.create()["record"]
    answer = world.ask("rotate_api_key", {"graceSeconds": 60}, key_id=record["id"])
    assert answer.status == 201
    fits("RotatedApiKey", answer.body)
    assert answer.body["record"]["lineage"] == record["id"]
    assert answer.body["predecessor"] == record | {"revokedAt": "2026-01-03T00:01:00Z"}
    at_once = world.ask("rotate_api_key", {}, key_id=answer.body["record"]["id"]).body
    assert at_once["predecessor"]["revokedAt"] == "2026-01-03T00:00:00Z"


def test_revoke():
    world = World()
    record = world.create()["record"]
    answer = world.ask("revoke_api_key", key_id=record["id"])
    assert (answer.status, answer.body) == (200, record | {"revokedAt": "2026-01-03T00:00:00Z"})


OPERATIONS = [
    ("create_api_key", {"name": "x", "admin": True}),
    ("list_api_keys", None),
    ("get_api_key", None),
    ("update_api_key", {"name": "x"}),
    ("rotate_api_key", {}),
    ("revoke_api_key", None),
]


@pytest.mark.parametrize(("operation", "body"), OPERATIONS)
@pytest.mark.parametrize(
    "caller",
    [
        SCOPED,
        Caller(api_key=key("nothing", scopes=frozenset())),
        Caller(subject=Did.parse("did:ids:abc")),
        Caller(did=Did.parse("did:ids:abc")),
    ],
)
def test_only_admin_keys_administer(operation, body, caller):
    world = World()
    key_id = world.create()["record"]["id"]
    before = dict(world.store.by_id)
    with pytest.raises(Forbidden):
        world.ask(operation, body, key_id=key_id, caller=caller)
    assert world.store.by_id == before
    assert len(world.audit.rows) == 1


@pytest.mark.parametrize(("operation", "body"), OPERATIONS)
def test_nobody_is_no_admin(operation, body):
    with pytest.raises(AuthRequired):
        World().ask(operation, body, caller=None)


def test_every_change_leaves_a_row_that_says_who_and_what():
    world = World()
    record = world.create()["record"]
    world.ask("update_api_key", {"name": "new"}, key_id=record["id"])
    successor = world.ask("rotate_api_key", {}, key_id=record["id"]).body["record"]
    world.ask("revoke_api_key", key_id=successor["id"])
    world.ask("list_api_keys")
    rows = world.audit.rows
    assert [(row.operation, row.target) for row in rows] == [
        ("create_api_key", record["id"]),
        ("update_api_key", record["id"]),
        ("rotate_api_key", record["id"]),
        ("revoke_api_key", successor["id"]),
    ]
    assert all(row.caller == ADMIN.identity and row.fingerprint == ADMIN.api_key.fingerprint for row in rows)
    assert rows[0].details == {"name": "ci", "fingerprint": record["fingerprint"], "admin": True}
    assert rows[2].details["successor"] == successor["id"]
    json.dumps([dict(row.details) for row in rows])


def test_the_schema_check_of_this_file_bites():
    record = World().create()["record"]
    with pytest.raises(jsonschema_rs.ValidationError):
        fits("ApiKeyRecord", record | {"id": 1})
    assert replace(ADMIN.api_key, name="x").scopes is None
