"""A thief edits the key store, or puts an older one in its place: nothing that she writes is a key, and a key that was revoked stays
revoked. Everybody else's keys work on."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from tests.attack.stranger import Answer
from tests.attack.test_index_tampering import Site, ready, site
from tests.attack.thief import Database, identity
from tests.fault.service_process import API_KEY, Running, eventually
from tests.postgres_server import postgres_server

__all__ = ["postgres_server", "site"]

KEYS = "keys.sqlite"
STOLEN = "the thief's own text, forty-three characters"
READ_ONE = {"name": "few rights", "scopes": ["dids:list"], "allowedTargets": None}
ADMIN = {"name": "may do everything", "admin": True, "allowedTargets": None}
REFUSED = (401, "AUTH_FAILED")


def row(database: Database, key_id: str) -> tuple[str, dict[str, Any]]:
    (found,) = database.sql("SELECT digest, record FROM keys_api_keys WHERE id = ?", key_id, file=KEYS)
    return found[0], json.loads(found[1])


def write_key_row(database: Database, key_id: str, digest: str, record: str) -> None:
    sql = "UPDATE keys_api_keys SET digest = ?, record = ? WHERE id = ?"
    database.sql(sql, digest, record, key_id, file=KEYS)


def administer(running: Running, method: str, path: str, body: Any = None) -> Answer:
    return running.wire.call(method, f"/api/v1/admin/api-keys{path}", body, {"X-API-Key": API_KEY})


def create_key(running: Running, **wanted: Any) -> dict[str, Any]:
    answer = administer(running, "POST", "", wanted or READ_ONE)
    assert answer.status == 201, answer.body
    return {"id": answer.json["record"]["id"], "apiKey": answer.json["apiKey"]}


def list_dids(running: Running, text: str) -> tuple[int, str | None]:
    """What a key may do: an administrator's list."""
    return running.wire.call("GET", "/api/v1/admin/api-keys", headers={"X-API-Key": text}, fresh=True).outcome


def edit(database: Database, key_id: str, **members: Any) -> None:
    digest, record = row(database, key_id)
    write_key_row(database, key_id, digest, json.dumps(record | members, ensure_ascii=False, separators=(",", ":")))


def gives_all_scopes(database: Database, key_id: str) -> None:
    edit(database, key_id, scopes=None)


def gives_any_target(database: Database, key_id: str) -> None:
    edit(database, key_id, allowedTargets=None)


def takes_the_expiry_away(database: Database, key_id: str) -> None:
    edit(database, key_id, expiresAt=None)


def belongs_to_another(database: Database, key_id: str) -> None:
    edit(database, key_id, lineage="key_of_somebody")


def leaves_no_json(database: Database, key_id: str) -> None:
    write_key_row(database, key_id, row(database, key_id)[0], "{")


def leaves_other_types(database: Database, key_id: str) -> None:
    edit(database, key_id, requestsPerSecond=[], scopes=[[]])


EDITS: tuple[Callable[[Database, str], None], ...] = (
    *(gives_all_scopes, gives_any_target, takes_the_expiry_away, belongs_to_another),
    *(leaves_no_json, leaves_other_types),
)


def test_no_edit_of_a_row_is_believed_and_no_other_key_suffers(site: Site) -> None:
    with site.serve() as running:
        target = running.stranger.holder().did
        keys = [
            create_key(running, **READ_ONE | {"allowedTargets": [target], "expiresAt": "2999-01-01T00:00:00Z"})
            for _ in EDITS
        ]
        bystander, admin = create_key(running), create_key(running, **ADMIN)
        for change, key in zip(EDITS, keys, strict=True):
            assert list_dids(running, key["apiKey"])[0] == 403
            change(site.database, key["id"])
        inserted(site.database, admin["id"])
        for change, key in zip(EDITS, keys, strict=True):
            eventually(lambda text=key["apiKey"]: list_dids(running, text) == REFUSED, change.__name__)  # type: ignore[misc]
        assert list_dids(running, STOLEN) == REFUSED
        assert list_dids(running, bystander["apiKey"])[0] == 403
        assert list_dids(running, admin["apiKey"])[0] == 200
    with site.serve() as running:
        for change, key in zip(EDITS, keys, strict=True):
            assert list_dids(running, key["apiKey"]) == REFUSED, change.__name__
        assert list_dids(running, STOLEN) == REFUSED
        assert list_dids(running, admin["apiKey"])[0] == 200
        eventually(lambda: ready(running)["keys"] == "degraded", "readiness says that keys were edited")
    said = identity(site.database, "doctor")
    assert said.returncode == 1, said.stdout
    assert f"{len(EDITS) + 1} API keys" in said.stdout
    accepted_by_the_operator(site)


def inserted(database: Database, admin: str) -> None:
    """A row of her own, made after that of an administrator."""
    digest = hashlib.sha256(STOLEN.encode()).hexdigest()
    record = json.dumps(row(database, admin)[1] | {"id": "key_thief", "digest": digest}, separators=(",", ":"))
    sql = "INSERT INTO keys_api_keys (id, digest, record) VALUES (?, ?, ?)"
    database.sql(sql, "key_thief", digest, record, file=KEYS)


def accepted_by_the_operator(site: Site) -> None:
    site.database.sql("DELETE FROM keys_api_keys WHERE id = 'key_thief'", file=KEYS)
    accepted = identity(site.database, "keys", "accept", "--yes")
    assert accepted.returncode == 0, accepted.stderr
    assert "refused or gone" not in identity(site.database, "doctor").stdout
    told = [json.loads(bytes(line))["operation"] for (line,) in site.database.sql("SELECT line FROM audit_lines")]
    assert told.count("acceptApiKeys") == 1


def test_another_digest_on_row_of_administrator_opens_nothing(site: Site) -> None:
    with site.serve() as running:
        admin = create_key(running, **ADMIN)
        _, record = row(site.database, admin["id"])
        mine = hashlib.sha256(STOLEN.encode()).hexdigest()
        write_key_row(site.database, admin["id"], mine, json.dumps(record, ensure_ascii=False, separators=(",", ":")))
        assert list_dids(running, STOLEN) == REFUSED


def test_an_older_key_store_gives_no_revoked_key_back(site: Site) -> None:
    with site.serve() as running:
        revoked, changed, kept = (create_key(running, **ADMIN) for _ in range(3))
        older = site.database.sql("SELECT id, digest, record FROM keys_api_keys", file=KEYS)
        assert administer(running, "DELETE", f"/{revoked['id']}").status == 200
        assert administer(running, "PATCH", f"/{changed['id']}", {"scopes": ["dids:list"]}).status == 200
        later = create_key(running)
    back(site.database, older)
    with site.serve() as running:
        assert ready(running)["keys"] == "degraded"
        assert list_dids(running, revoked["apiKey"]) == REFUSED
        assert list_dids(running, changed["apiKey"]) == REFUSED
        assert list_dids(running, kept["apiKey"])[0] == 200
        said = identity(site.database, "doctor").stdout
        assert all(one["id"] in said for one in (revoked, changed, later)), said


def back(database: Database, older: list[tuple[Any, ...]]) -> None:
    """The rows as they were; of a file nothing else matters."""
    database.sql("DELETE FROM keys_api_keys", file=KEYS)
    for row in older:
        database.sql("INSERT INTO keys_api_keys (id, digest, record) VALUES (?, ?, ?)", *row, file=KEYS)


def forgets_the_note(database: Database) -> None:
    """Where earlier versions noted that they had taken the keys of before over."""
    database.sql("DELETE FROM custodian_keys WHERE name = 'api-keys'", file="custodian.sqlite")


def forgets_the_tags(database: Database) -> None:
    forgets_the_note(database)
    database.sql("DELETE FROM api_key_tags")


def rewrites_the_audit_log(database: Database) -> None:
    forgets_the_tags(database)
    for sequence, line in database.sql("SELECT sequence, line FROM audit_lines"):
        other = re.sub(rb'"(adopt|accept)ApiKeys"', b'"nothing"', bytes(line))
        database.sql("UPDATE audit_lines SET line = ? WHERE sequence = ?", other, sequence)


def forgets_the_log_and_what_is_remembered_of_it(database: Database) -> None:
    forgets_the_tags(database)
    database.sql("DELETE FROM audit_lines")
    database.sql("UPDATE audit_head SET sequence = 0, mac = NULL")
    for note in database.folder.parent.glob("*.checkpoint"):
        note.unlink()


def forgets_that_there_ever_were_tags(database: Database) -> None:
    """As an installation was before rows had tags."""
    forgets_the_log_and_what_is_remembered_of_it(database)
    database.sql("DELETE FROM custodian_keys WHERE name = 'rows'", file="custodian.sqlite")
    database.sql("UPDATE did_versions SET mac = NULL")
    database.sql("DELETE FROM projections")


LOSSES: tuple[Callable[[Database], None], ...] = (
    *(forgets_the_note, forgets_the_tags, rewrites_the_audit_log),
    *(forgets_the_log_and_what_is_remembered_of_it, forgets_that_there_ever_were_tags),
)


def test_nothing_that_a_thief_takes_away_makes_her_keys_good(site: Site) -> None:
    """Everything but the master key is hers: tags, audit log, checkpoint, keys of the custodian."""
    with site.serve() as running:
        key = create_key(running)
        assert list_dids(running, key["apiKey"])[0] == 403
    for loss in LOSSES:
        edit(site.database, key["id"], scopes=None, name=loss.__name__)
        loss(site.database)
        with site.serve() as running:
            assert list_dids(running, key["apiKey"]) == REFUSED, loss.__name__
            assert ready(running)["keys"] == "degraded", loss.__name__


def test_untagged_keys_are_accepted_by_operator(site: Site) -> None:
    with site.serve() as running:
        key = create_key(running, **ADMIN)
    forgets_the_tags(site.database)
    with site.serve() as running:
        assert list_dids(running, key["apiKey"]) == REFUSED
    accepted = identity(site.database, "keys", "accept", "--yes")
    assert accepted.returncode == 0, accepted.stderr
    with site.serve() as running:
        assert list_dids(running, key["apiKey"])[0] == 200
        assert ready(running)["keys"] == "ok"
