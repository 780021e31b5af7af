"""A thief edits the document index: nothing that she writes is served, signs in or gets signed, and only the DIDs that
she touched are withheld until the operator has them written anew from the ledger."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from nacl.signing import SigningKey

from tests.attack.stranger import LEAVE, Holder, Stranger, public, rotation, service
from tests.attack.thief import Database, edited, identity, moved, operator, token
from tests.fault.service_process import API_KEY, Running, eventually
from tests.fault.service_process import service as running_service
from tests.postgres_server import postgres_server

__all__ = ["postgres_server"]

THIEF = SigningKey(b"\x07" * 32)
OTHER = "https://thief.example/"
WITHHELD = (503, "DID_QUARANTINED")
NUMBERS = count()


@dataclass(frozen=True)
class Site:
    """An installation that is started and stopped: its database, and the arguments of its service."""

    database: Database
    arguments: tuple[str, ...]

    def serve(self) -> Any:
        return running_service(self.database.folder, *self.arguments, environment=self.database.environment)


# The code below is the same: the default run has one process on SQLite.
TWINS = [pytest.param(name, marks=pytest.mark.nightly) for name in ("sqlite-2", "postgresql")]


@pytest.fixture(params=["sqlite", *TWINS])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    url = request.getfixturevalue("postgres_server").new_database() if request.param == "postgresql" else None
    arguments = ("--workers", "2") if request.param == "sqlite-2" else ()
    return Site(Database(tmp_path / "data", url), arguments)


def with_key(document: bytes, victim: Holder) -> bytes:
    """The document with the thief's key in place of the owner's."""
    return document.replace(public(victim.key).encode(), public(THIEF).encode())


# Each takes the database, a DID of two versions and another DID of two versions.
Edit = Callable[[Database, Holder, Holder], None]


def replaces_the_key(database: Database, victim: Holder, _: Holder) -> None:
    database.overwrite(victim.did, 2, document=with_key(database.row(victim.did, 2)["document"], victim))


def replaces_the_key_in_all_versions(database: Database, victim: Holder, _: Holder) -> None:
    for version in (1, 2):
        database.overwrite(
            victim.did, version, document=with_key(database.row(victim.did, version)["document"], victim)
        )


def takes_the_tag_away_too(database: Database, victim: Holder, _: Holder) -> None:
    replaces_the_key(database, victim, victim)
    database.overwrite(victim.did, 2, mac=None)


def makes_a_tag_up(database: Database, victim: Holder, _: Holder) -> None:
    replaces_the_key(database, victim, victim)
    database.overwrite(victim.did, 2, mac=bytes(32))


def sets_another_recovery_key(database: Database, victim: Holder, _: Holder) -> None:
    database.overwrite(victim.did, 2, state=edited(database.row(victim.did, 2)["state"], recovery=public(THIEF)))


def lets_herself_sign_entries(database: Database, victim: Holder, _: Holder) -> None:
    database.overwrite(victim.did, 2, state=edited(database.row(victim.did, 2)["state"], updateKeys=[public(THIEF)]))


def deactivates(database: Database, victim: Holder, _: Holder) -> None:
    database.overwrite(victim.did, 2, state=edited(database.row(victim.did, 2)["state"], deactivated=True))


def copies_the_row_of_another(database: Database, victim: Holder, another: Holder) -> None:
    row = database.row(another.did, 2)
    database.overwrite(victim.did, 2, **{name: row[name] for name in ("state", "document", "changes", "key_id", "mac")})


def puts_the_old_version_in_the_place_of_the_new(database: Database, victim: Holder, _: Holder) -> None:
    row = database.row(victim.did, 1)
    database.overwrite(victim.did, 2, **{name: row[name] for name in ("state", "document", "changes", "key_id", "mac")})


def numbers_the_old_version_as_the_newest(database: Database, victim: Holder, _: Holder) -> None:
    database.sql("DELETE FROM did_versions WHERE did = ? AND version_id = 2", victim.did)
    database.overwrite(victim.did, 1, version_id=2)


def changes_the_transaction(database: Database, victim: Holder, _: Holder) -> None:
    database.overwrite(victim.did, 2, transaction_hash=bytes(32))


EDITS: tuple[Edit, ...] = (
    *(replaces_the_key, replaces_the_key_in_all_versions, takes_the_tag_away_too, makes_a_tag_up),
    *(sets_another_recovery_key, lets_herself_sign_entries, deactivates, copies_the_row_of_another),
    *(puts_the_old_version_in_the_place_of_the_new, numbers_the_old_version_as_the_newest, changes_the_transaction),
)


def of_two_versions(running: Running, number: int) -> list[Holder]:
    made = [operator(running).holder() for _ in range(number)]
    for one in made:
        assert one.act("update", service()).status == 200
    return made


def assert_withheld(running: Running, victim: Holder, edit: str) -> None:
    """Neither the thief nor anybody else gets anything out of what stands in the index."""
    for answer in (
        victim.resolve(),
        victim.resolve("?versionId=2"),
        victim.wire.call("GET", f"/api/v1/dids/{victim.did}/history"),
        victim.ask("update"),
        token(running.wire, victim, THIEF),
        token(running.wire, victim, victim.key),
    ):
        assert answer.outcome == WITHHELD, (edit, answer.body)
        assert public(THIEF).encode() not in answer.body
        assert "retry-after" in answer.headers
        assert answer.json["error"]["details"]["did"] == victim.did


def assert_well(running: Running, holder: Holder) -> None:
    """Everything works for this DID."""
    assert holder.resolve().status == 200
    assert token(running.wire, holder, holder.key).status == 200
    assert holder.act("update", service(f"s{next(NUMBERS)}")).status == 200


def test_no_edit_of_a_row_is_believed_and_no_other_did_suffers(site: Site) -> None:
    with site.serve() as running:
        *victims, another, bystander = of_two_versions(running, len(EDITS) + 2)
        entries = {one.did: one.log() for one in victims}
        # The service runs and has all of them in memory: what a neighbour writes counts at once.
        for edit, victim in zip(EDITS, victims, strict=True):
            edit(site.database, victim, another)
        for edit, victim in zip(EDITS, victims, strict=True):
            assert_withheld(running, victim, edit.__name__)
        assert_well(running, bystander)
        assert_well(running, another)
        eventually(lambda: ready(running)["index"] == "degraded", "readiness says that something is withheld")
    with site.serve() as running:
        for edit, victim in zip(EDITS, victims, strict=True):
            assert_withheld(running, moved(victim, running), edit.__name__)
            assert moved(victim, running).log() == entries[victim.did]
        assert_well(running, moved(bystander, running))
        assert ready(running)["index"] == "degraded"
        eventually(lambda: gauge(running) == len(victims), "the metric says how many are withheld")
        repaired_by_the_operator(site, running, victims)


def repaired_by_the_operator(site: Site, running: Running, victims: list[Holder]) -> None:
    """The tools name what differs; repaired, it is as the ledger has it, for the service that runs meanwhile too."""
    audit = identity(site.database, "ledger", "audit", "--json")
    found = {one["where"] for one in json.loads(audit.stdout)["findings"] if one["kind"] == "index"}
    assert (audit.returncode, found) == (1, {one.did for one in victims}), audit.stderr
    doctor = identity(site.database, "doctor")
    assert f"{len(victims)} DIDs are withheld" in doctor.stdout
    first, *_ = victims
    assert identity(site.database, "ledger", "repair", first.did).returncode == 0
    assert_well(running, moved(first, running))
    repaired = identity(site.database, "ledger", "repair", "--all", "--json")
    assert repaired.returncode == 0, repaired.stdout + repaired.stderr
    assert {one["did"] for one in json.loads(repaired.stdout)["repaired"]} == {one.did for one in victims[1:]}
    for victim in victims:
        assert_well(running, moved(victim, running))
    eventually(lambda: ready(running)["index"] == "ok", "readiness says that nothing is withheld any more")
    audit = identity(site.database, "ledger", "audit", "--json")
    assert (audit.returncode, json.loads(audit.stdout)["findings"]) == (0, [])
    told = [json.loads(bytes(line)) for (line,) in site.database.sql("SELECT line FROM audit_lines")]
    for operation in ("quarantineDid", "repairDid"):
        assert {one["target"] for one in told if one["operation"] == operation} == {one.did for one in victims}


def ready(running: Running) -> dict[str, str]:
    answer = running.wire.call("GET", "/ready", None, {"X-API-Key": API_KEY})
    assert answer.status == 200
    states: dict[str, str] = answer.json["dependencies"]
    return states


def gauge(running: Running) -> float | None:
    lines = running.wire.call("GET", "/metrics", None, {"X-API-Key": API_KEY}).body.decode().splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith("identity_quarantined_dids")), None)


def test_taking_rows_away_brings_no_old_key_back(site: Site) -> None:
    with site.serve() as running:
        rotated, left, gone, cut, early = of_two_versions(running, 5)
        old = rotated.key
        new = SigningKey.generate()
        assert rotated.act("rotate", rotation(rotated.key_id, public(new))).status == 200
        assert left.act("deactivate", LEAVE).status == 200
        late = cut.act("update", service("late")).json["updated"]
        forget(site.database, rotated, left, gone, cut, early)
        assert_nothing_is_undone(running, rotated, old, new, left, gone, cut, late)
        assert_well(running, early)
    # A cursor that claims more than there is does not hide what is missing.
    forget(site.database, rotated, left, gone, cut, early)
    site.database.sql("UPDATE projections SET sequence = 1000000 WHERE name = 'documents'")
    with site.serve() as running:
        rotated, left, gone, cut = (moved(one, running) for one in (rotated, left, gone, cut))
        assert_nothing_is_undone(running, rotated, old, new, left, gone, cut, late)


def forget(database: Database, rotated: Holder, left: Holder, gone: Holder, cut: Holder, early: Holder) -> None:
    """Takes the rotation, the deactivation, a whole DID, the middle of one and the beginning of one away."""
    for one in (rotated, left):
        database.sql("DELETE FROM did_versions WHERE did = ? AND version_id > 2", one.did)
    database.sql("DELETE FROM did_versions WHERE did = ?", gone.did)
    database.sql("DELETE FROM did_versions WHERE did = ? AND version_id = 2", cut.did)
    database.sql("DELETE FROM did_versions WHERE did = ? AND version_id = 1", early.did)


def assert_nothing_is_undone(
    running: Running,
    rotated: Holder,
    old: SigningKey,
    new: SigningKey,
    left: Holder,
    gone: Holder,
    cut: Holder,
    late: str,
) -> None:
    assert token(running.wire, rotated, old).outcome == (401, "AUTH_FAILED")
    assert public(old) not in json.dumps(rotated.resolve().json["didDocument"])
    assert token(running.wire, rotated, new).status == 200
    assert token(running.wire, left, left.key).outcome == (410, "DID_DEACTIVATED")
    assert left.resolve().outcome == (410, "DID_DEACTIVATED")
    assert gone.resolve().status == 200
    assert token(running.wire, gone, gone.key).status == 200
    # The head of this one stands; what is missing behind it is told from what never was.
    assert cut.resolve().status == 200
    assert cut.resolve("?versionId=2").outcome in (WITHHELD, (200, None))
    assert cut.resolve("?versionId=9").outcome == (404, "DID_NOT_FOUND")


def test_an_owner_is_not_believed_either(site: Site) -> None:
    with site.serve() as running:
        hana, mallory = operator(running).holder(), operator(running).holder()
        made = running.wire.call(
            "POST", "/api/v1/admin/api-keys", {"name": "m", "admin": True}, {"X-API-Key": operator(running).api_key}
        ).json
        thief = Stranger(running.wire, made["apiKey"])
        own = thief.holder().did
        site.database.overwrite(hana.did, 1, owner=site.database.row(own, 1)["owner"])
        mine = {"X-API-Key": thief.api_key}
        listed = running.wire.call("GET", "/api/v1/dids", None, mine)
        assert [one["did"] for one in listed.json["items"]] == [own]
        others = running.wire.call("GET", "/api/v1/dids", None, {"X-API-Key": operator(running).api_key}).json["items"]
        assert [one["did"] for one in others] == [mallory.did]


def test_a_row_that_bars_the_way_of_the_next_entry(site: Site) -> None:
    """Anyone who puts a row where the next change of a DID will have its own undoes nothing with it."""
    with site.serve() as running:
        (hana,) = of_two_versions(running, 1)
        size = site.database.sql("SELECT max(sequence) FROM did_versions")[0][0]
        new = SigningKey.generate()
        columns = "printed_second, block_number, recorded_at, transaction_hash, state, document, changes, mac"
        site.database.sql(
            f"INSERT INTO did_versions (did, version_id, sequence, {columns}) "
            f"SELECT 'did:ids:absent', 1, {size + 1}, {columns} FROM did_versions WHERE did = ? AND version_id = 2",
            hana.did,
        )
        assert hana.act("rotate", rotation(hana.key_id, public(new))).status == 200
        for key, outcome in ((hana.key, 401), (new, 200)):
            assert token(running.wire, hana, key).status in (outcome, 503)
    with site.serve() as running:
        hana = moved(hana, running)
        assert token(running.wire, hana, hana.key).status in (401, 503)
        assert identity(site.database, "ledger", "repair", hana.did).returncode == 0
        assert token(running.wire, hana, hana.key).outcome == (401, "AUTH_FAILED")
        assert token(running.wire, hana, new).status == 200


def test_feeds_and_lists_go_on_without_what_was_changed(site: Site) -> None:
    with site.serve() as running:
        first, second, third = of_two_versions(running, 3)
        replaces_the_key(site.database, first, second)
        site.database.sql("DELETE FROM did_versions WHERE did = ? AND version_id = 1", second.did)
        wanted = {(first.did, 1), (second.did, 2), (third.did, 1), (third.did, 2)}
        # A removed row is made anew when a client requests it, or at the next check behind the cursor.
        eventually(lambda: fed(running) - {(second.did, 1)} == wanted, "the feed has what was not changed")


def fed(running: Running) -> set[tuple[str, int]]:
    """Return the versions that a client of the feed receives, page by page."""
    found: set[tuple[str, int]] = set()
    after = -1
    page: dict[str, Any] = {"nextAfter": 0}
    while page["nextAfter"] != after:
        after = page["nextAfter"]
        page = running.wire.call("GET", f"/api/v1/events?limit=2&after={after}").json
        found |= {(one["did"], one["versionId"]) for one in page["items"]}
    return found


@pytest.fixture
def before(site: Site) -> tuple[Site, list[Holder]]:
    """An installation of before there were tags, as migrating it leaves it."""
    with site.serve() as running:
        holders = of_two_versions(running, 4)
    for table in ("did_versions", "projections"):
        site.database.sql(f"UPDATE {table} SET mac = NULL")
    return site, holders


def test_an_installation_of_before_is_compared_and_not_blessed(before: tuple[Site, list[Holder]]) -> None:
    site, (hana, victim, cut, owned) = before
    replaces_the_key(site.database, victim, hana)
    site.database.sql("DELETE FROM did_versions WHERE did = ? AND version_id = 1", cut.did)
    with site.serve() as running:
        assert_withheld(running, moved(victim, running), "replaces_the_key before there were tags")
        for one in (hana, cut, owned):
            assert_well(running, moved(one, running))
        assert site.database.sql("SELECT did FROM did_versions WHERE mac IS NULL GROUP BY did") == [(victim.did,)]
        assert identity(site.database, "ledger", "repair", "--all").returncode == 0
        assert_well(running, moved(victim, running))


def test_the_service_starts_with_a_did_whose_log_no_longer_holds(site: Site) -> None:
    """The same thief at the ledger: she has no key of the log, so what she writes there is a log that does not hold."""
    with site.serve() as running:
        broken, bystander = of_two_versions(running, 2)
        wait_until_logged(running, 4)
    drop_guards(site.database)
    rewrite_entry(site.database, broken)
    site.database.sql("DELETE FROM did_versions WHERE did = ?", broken.did)
    with site.serve() as running:
        broken = moved(broken, running)
        for answer in (broken.resolve(), broken.ask("update"), token(running.wire, broken, THIEF)):
            assert answer.outcome == WITHHELD, answer.body
        assert_well(running, moved(bystander, running))
        refused = identity(site.database, "ledger", "repair", broken.did, "--json")
        assert refused.returncode == 1
        assert json.loads(refused.stdout)["failed"][0]["code"] == "DID_QUARANTINED"


def test_edited_entry_is_not_extended(site: Site) -> None:
    with site.serve() as running:
        broken, _ = of_two_versions(running, 2)
        wait_until_logged(running, 4)
    drop_guards(site.database)
    rewrite_entry(site.database, broken)
    with site.serve() as running:
        broken = moved(broken, running)
        assert broken.act("update", service("more")).outcome == WITHHELD


def wait_until_logged(running: Running, entries: int) -> None:
    """The newest entry of the transparency log is compared at each start: another one than the thief's."""

    def is_logged() -> bool:
        answer = running.wire.call("GET", "/api/v1/ledger/checkpoint")
        return answer.status == 200 and int(answer.body.splitlines()[1]) >= entries

    eventually(is_logged, f"{entries} entries are logged")


def drop_guards(database: Database) -> None:
    if database.url is None:
        for name in ("ledger_entries_are_final", "ledger_entries_stay"):
            database.sql(f"DROP TRIGGER {name}", file="ledger.sqlite")
    else:
        database.sql("DROP TRIGGER ledger_entries_are_final ON ledger_entries")


def rewrite_entry(database: Database, victim: Holder) -> None:
    """The thief's key in the entry that made the DID's second version."""
    file = "ledger.sqlite"
    found = database.sql("SELECT entry FROM ledger_entries WHERE did = ? AND version = 2", victim.did, file=file)
    entry = bytes(found[0][0]).replace(b"https://hana.example/", OTHER.encode())
    assert entry != bytes(found[0][0])
    database.sql("UPDATE ledger_entries SET entry = ? WHERE did = ? AND version = 2", entry, victim.did, file=file)
