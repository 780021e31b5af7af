"""The doctor counts the credentials in force that are still of suite 1, and says which lists of signed gaps are not published."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from identity_bound_credentials import doctor_credentials
from identity_bound_credentials.domain import gap_shards, status_gaps
from identity_bound_credentials.domain.status_gaps import StatusEpoch
from identity_bound_credentials.ports import GapList
from identity_bound_credentials.store.status_gaps import StoredStatusGaps
from identity_custodian_sealed import SealedSettings, build
from identity_kit.conformance.custodian_holders import REQUEST

from identity_codec.values import replace
from identity_core.bootstrap import SystemClock
from identity_core.domain.credentials.credential import Binding, CredentialStatus
from identity_core.domain.dids.did import Did
from identity_core.extension.declaration import Diagnosis
from identity_core.plugin import BuildContext
from identity_core.ports.credentials import RegisteredSchema
from identity_core.ports.retention import ERASED_HOLDER
from identity_core.settings import Settings, load
from identity_core.store import Store
from tests.credentials import a_credential, a_schema

DAY = timedelta(days=1)


def holding(folder: Path, *changes: dict[str, Any], first: int = 0) -> Settings:
    """An installation with a credential for each of the changes."""

    async def add() -> None:
        store = Store.open(folder)
        await store.credential_schemas.add(RegisteredSchema(a_schema(), datetime.now(UTC), "k"))
        for number, changed in enumerate(changes, first):
            stored = await store.credentials.add(
                a_credential(id=f"urn:c:{number}", **changed), b"box", random=os.urandom
            )
            assert stored is not None
        await store.close()

    asyncio.run(add())
    return load(environment={}, overrides={"data_dir": folder})


def check_credentials(settings: Settings) -> Diagnosis:
    (found,) = doctor_credentials.credentials(settings)
    return found


def test_credentials_of_suite_1_are_listed_with_remedy(tmp_path: Path) -> None:
    other = {"issuer": Did.parse("did:example:other")}
    found = check_credentials(holding(tmp_path, {}, {"valid_until": datetime.now(UTC) + DAY}, other))
    assert (found.state, found.says.partition(":")[0]) == ("warn", "3 in force, of 2 issuers, are of suite 1")
    assert "anew" in found.remedy


def test_reissued_suite_1_credentials_are_not_listed(tmp_path: Path) -> None:
    """As the remedy says, in its order."""
    assert "issue them anew" in check_credentials(holding(tmp_path, {})).remedy
    settings = holding(tmp_path, {"binding": Binding(b"h", b"k", 1, "")}, first=1)
    assert check_credentials(settings).says.startswith("1 in force")

    async def revoke() -> None:
        store = Store.open(tmp_path)
        old = await store.credentials.get("urn:c:0")
        assert old is not None
        assert await store.credentials.set_status(old, CredentialStatus.REVOKED, None, datetime.now(UTC))
        await store.close()

    asyncio.run(revoke())
    assert check_credentials(settings).state == "ok"


def test_expired_revoked_and_erased_credentials_are_ignored(tmp_path: Path) -> None:
    settings = holding(
        tmp_path,
        {"binding": Binding(b"h", b"k", 1, "s")},
        {"valid_until": datetime.now(UTC) - DAY},
        {"status": CredentialStatus.REVOKED},
        {"holder": Did.parse(ERASED_HOLDER)},
    )
    assert check_credentials(settings).state == "ok"


def test_nothing_is_said_of_a_database_that_is_not_there(tmp_path: Path) -> None:
    settings = load(environment={}, overrides={"data_dir": tmp_path / "none"})
    assert list(doctor_credentials.credentials(settings)) == []


def test_a_list_that_is_not_published_for_now_is_told(tmp_path: Path) -> None:
    settings = holding(tmp_path)
    assert list(doctor_credentials.status_lists(settings)) == []
    now = int(datetime.now(UTC).timestamp())
    gap_list = GapList("A" * 22, "did:example:ivo", "did:example:ivo#1", 86_400)
    ends = status_gaps.chain(())

    async def change(*, publishes: int | None, edition: int = 1) -> None:
        store = Store.open(tmp_path)
        if publishes is None:
            await StoredStatusGaps(store.database).give(gap_list, "urn:c:1", 60_000, random=os.urandom)
        else:
            epoch = StatusEpoch(gap_list.issuer, gap_list.method, gap_list.id, now // 86_400, 86_400)
            manifest, shards = gap_shards.publish(epoch, edition, ends, [bytes(80)] * (len(ends) - 1))
            assert await StoredStatusGaps(store.database).publish(manifest, shards, publishes)
        await store.close()

    def check_lists() -> Diagnosis:
        return next(doctor_credentials.status_lists(settings))

    asyncio.run(change(publishes=None))
    assert (check_lists().state, gap_list.id in check_lists().says) == ("warn", True)
    asyncio.run(change(publishes=0))
    assert check_lists().state == "warn", "an edition of an older version is not the list"
    asyncio.run(change(publishes=1, edition=2))
    assert check_lists().state == "ok"
    _, unrecorded = doctor_credentials.status_lists(settings)
    assert (unrecorded.state, gap_list.id in unrecorded.says) == ("warn", True)

    async def record() -> None:
        store = Store.open(tmp_path)
        published = await StoredStatusGaps(store.database).published(gap_list.id, now // 86_400)
        assert published is not None
        digest = hashlib.sha256(published.manifest).digest()
        await StoredStatusGaps(store.database).record(gap_list.id, now // 86_400, digest, 7)
        await store.close()

    asyncio.run(record())
    assert [one.state for one in doctor_credentials.status_lists(settings)] == ["ok"]


def test_secrets_of_holders_that_are_not_kept_are_told(tmp_path: Path) -> None:
    """Against a sealed custodian: what it committed to itself it keeps; what another one did is lost. No custodian is made by looking."""
    log = logging.getLogger("identity")
    context = BuildContext(SystemClock(), log, tmp_path, None)
    points = []
    for _ in range(2):
        (folder := tmp_path / str(len(points))).mkdir()
        custodian: Any = build(SealedSettings(), replace(context, data_dir=folder))
        data = asyncio.run(custodian.commit_holder("s", f"urn:c:{len(points)}", REQUEST))
        points.append(data[:48])
        asyncio.run(custodian.close())
    own = tmp_path / "0"
    settings = holding(own, {"binding": Binding(b"h", points[0], 1, "s")})
    (found,) = doctor_credentials.holders(settings)
    assert found.state == "ok", found
    lost = {"binding": Binding(b"h", points[1], 2, "s", True)}
    (found,) = doctor_credentials.holders(holding(own, lost, first=1))
    assert found.state == "fail"
    assert "1 of 2" in found.says
    assert "urn:c:1" in found.says
    assert "issue another" in found.remedy
    elsewhere = tmp_path / "2"
    elsewhere.mkdir()
    settings = holding(elsewhere, {"binding": Binding(b"h", points[0], 1, "s")})
    (found,) = doctor_credentials.holders(settings)
    assert found.state == "fail", "a custodian that is not there keeps nothing"
    assert not (elsewhere / "custodian.sqlite").exists()
    # As the remedy says, what the custodian keeps is put back.
    assert found.remedy.startswith("Put back what the custodian of holders' secrets keeps")
    for name in ("custodian.sqlite", "custodian.key"):
        shutil.copyfile(own / name, elsewhere / name)
    (elsewhere / "custodian.key").chmod(0o600)
    assert [one.state for one in doctor_credentials.holders(settings)] == ["ok"]


def test_credentials_of_stolen_key_are_listed_by_issuer(tmp_path: Path) -> None:
    custodian: Any = build(SealedSettings(), BuildContext(SystemClock(), logging.getLogger("identity"), tmp_path, None))
    data = asyncio.run(custodian.commit_holder("s", "urn:c:0", REQUEST))
    custodian.reseal_now(compromised=True)
    renewed = asyncio.run(custodian.commit_holder("s@2", "urn:c:1", REQUEST))
    asyncio.run(custodian.close())
    settings = holding(tmp_path, {"binding": Binding(b"h", data[:48], 1, "s")})
    kept, stolen = doctor_credentials.holders(settings)
    assert (kept.state, stolen.state) == ("ok", "warn")
    assert stolen.says.startswith("1 credentials in force")
    assert "1 of did:" in stolen.says
    assert "anew" in stolen.remedy
    settings = holding(tmp_path, {"binding": Binding(b"h", renewed[:48], 2, "s@2", True)}, first=1)
    assert next(iter([one.says for one in doctor_credentials.holders(settings)][1:])).startswith("1 credentials")

    async def forget() -> None:
        store = Store.open(tmp_path)
        await store.database.write(
            lambda writing: writing.execute("UPDATE credentials SET forgotten_at = 1 WHERE holder_secret = 's'")
        )
        await store.close()

    asyncio.run(forget())
    assert [one.state for one in doctor_credentials.holders(settings)] == ["ok"]


def test_wallet_secrets_and_expired_ones_are_ignored(tmp_path: Path) -> None:
    settings = holding(
        tmp_path,
        {"binding": Binding(b"h", b"k" * 48, 1, "")},
        {"binding": Binding(b"h", b"k" * 48, 2, "s", True), "status": CredentialStatus.REVOKED},
        {},
    )
    assert list(doctor_credentials.holders(settings)) == []
