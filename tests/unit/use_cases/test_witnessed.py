"""What of a witnessed did:webvh log is published, and which approvals are taken."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from identity_core.codec import multikey
from identity_core.crypto import ed25519
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.log import LogInvalid, verify, witness
from identity_core.errors import DidNotFound, InvalidDocument, VersionConflict
from identity_core.ports.witness_files import WitnessFile
from identity_core.store import Store
from identity_core.store.audit import drop_projections
from identity_core.use_cases.dids.read import GetDidLog
from identity_core.use_cases.dids.witnessed import GetPublishedLog, PublishApprovals
from tests.unit.domain.log.test_webvh import first, following

PAIRS = [ed25519.generate(bytes([number]) * 32) for number in (1, 2, 3)]
IDS = [f"did:key:{multikey.encode_public(multikey.ED25519, pair.public)}" for pair in PAIRS]
ONE = first(witness={"threshold": 2, "witnesses": [{"id": each} for each in IDS[:2]]})
TWO = following(ONE)
THREE = following(TWO)
DID = Did.parse(ONE["state"]["id"])
AT = "2026-11-01T00:00:00Z"


def lines(*entries: Any) -> list[bytes]:
    return [json.dumps(one).encode() for one in entries]


def approvals(*given: tuple[int, Any]) -> bytes:
    """A did-witness.json: the number of a witness, and the entry that it approves of."""
    file = None
    for number, entry in given:
        one = witness.approve(None, entry["versionId"], PAIRS[number], AT)
        file = json.dumps([*json.loads(file or b"[]"), *json.loads(one)]).encode()
    assert file is not None
    return file


@dataclass
class Ledger:
    """The lines of one log."""

    kept: list[bytes]
    did: str = ""

    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> list[Any]:
        found = self.kept[after : None if limit is None else after + limit] if did == (self.did or str(DID)) else []
        return [SimpleNamespace(entry=line, version=after + place) for place, line in enumerate(found, 1)]

    async def log_size(self, did: str) -> Any:
        return SimpleNamespace(entries=len(self.kept), octets=sum(map(len, self.kept)))


class Site:
    """A log, and what its place shows."""

    def __init__(self, folder: Path, *entries: Any) -> None:
        self.ledger, self.store = Ledger(lines(*entries)), Store.open(folder)
        self.witness_version: int | None = None
        self.of = DID
        log = GetDidLog(SimpleNamespace(index=self), self.ledger, True)  # type: ignore[arg-type]
        self.published = GetPublishedLog(log, self.store.witness_files)
        self.publish = PublishApprovals(self.ledger, self.store.witness_files)  # type: ignore[arg-type]

    async def head(self, did: str) -> Any:
        return SimpleNamespace(state=SimpleNamespace(witness_version=self.witness_version))

    async def shown(self) -> bytes:
        found = await self.published(self.of)
        octets = await joined(found.pages)
        assert found.octets == len(octets)
        return octets


async def joined(pages: AsyncIterator[bytes]) -> bytes:
    return b"".join([page async for page in pages])


def with_site(folder: Path, story: Any, *entries: Any) -> None:
    async def run() -> None:
        site = Site(folder, *entries)
        try:
            await story(site)
        finally:
            await site.store.close()

    asyncio.run(run())


def test_a_log_is_shown_as_far_as_enough_witnesses_approved(tmp_path: Path) -> None:
    async def story(site: Site) -> None:
        with pytest.raises(DidNotFound):
            await site.shown()
        with pytest.raises(DidNotFound):
            await site.published.witness_file(DID)
        # Each on its own is too few; an approval covers what was before it.
        assert (await site.publish(DID, approvals((0, TWO)))).versions == 0
        with pytest.raises(DidNotFound):
            await site.shown()
        # A reader of the first entry alone passes over what approves of the second.
        assert (await site.publish(DID, approvals((1, ONE)))).versions == 0
        for entry, number, versions, kept in ((ONE, 0, 1, 3), (TWO, 1, 2, 2), (THREE, 1, 2, 3), (THREE, 0, 3, 2)):
            done = await site.publish(DID, approvals((number, entry)))
            assert done.versions == versions
            shown, file = await site.shown(), await site.published.witness_file(DID)
            assert shown == b"".join(line + b"\n" for line in site.ledger.kept[:versions])
            assert verify(shown, witness_file=file).versions == versions
            # Of each witness the newest that this log needs, and those of what comes later.
            assert sum(len(one["proof"]) for one in json.loads(file)) == kept

    with_site(tmp_path, story, ONE, TWO, THREE)


OTHER = following(ONE, state=ONE["state"] | {"alsoKnownAs": ["did:x:y"]})
BAD = json.loads(approvals((1, TWO)))
BAD[0]["proof"][0]["proofValue"] = json.loads(approvals((1, ONE)))[0]["proof"][0]["proofValue"]


@pytest.mark.parametrize(
    "offered",
    [
        b"[]",
        approvals((0, TWO)),
        approvals((2, TWO)),
        approvals((1, OTHER)),
        json.dumps(BAD).encode(),
    ],
    ids=["nothing", "again", "no witness of the log", "another log", "a wrong signature"],
)
def test_what_approves_of_nothing_new_is_refused_and_spoils_nothing(tmp_path: Path, offered: bytes) -> None:
    async def story(site: Site) -> None:
        before = await site.publish(DID, approvals((0, TWO)))
        with pytest.raises(InvalidDocument, match="anything new"):
            await site.publish(DID, offered)
        assert await site.store.witness_files.find(str(DID)) == before

    with_site(tmp_path, story, ONE, TWO)


@pytest.mark.parametrize("offered", [b"", b"junk", b"{}", b'[{"versionId": 1, "proof": []}]', b'[{"proof": []}]'])
def test_what_is_no_witness_file_is_refused(tmp_path: Path, offered: bytes) -> None:
    async def story(site: Site) -> None:
        with pytest.raises(LogInvalid):
            await site.publish(DID, offered)

    with_site(tmp_path, story, ONE)


def test_logs_without_witnesses_are_shown_whole_and_take_no_approvals(tmp_path: Path) -> None:
    plain = first()

    async def story(site: Site) -> None:
        site.ledger.kept = lines(plain)
        assert await site.shown() == lines(plain)[0] + b"\n"
        with pytest.raises(InvalidDocument, match="has no witnesses"):
            await site.publish(DID, approvals((0, ONE)))
        with pytest.raises(DidNotFound):
            await site.publish(Did.parse("did:ids:" + "Qm" + "a" * 44), approvals((0, ONE)))

    with_site(tmp_path, story, ONE)


def witness_list(*numbers: int) -> dict[str, Any]:
    return {"threshold": len(numbers), "witnesses": [{"id": IDS[number]} for number in numbers]}


def test_a_log_is_shown_as_far_as_the_witnesses_of_each_version_approved(tmp_path: Path) -> None:
    plain = first()
    begun = following(following(plain), witness=witness_list(0))
    replaced = following(begun, witness=witness_list(1))
    stopped = following(replaced, witness={})
    free = following(stopped)
    again = following(free, witness=witness_list(2))
    log = [plain, following(plain), begun, replaced, stopped, free, again, following(again)]

    did = Did.parse(plain["state"]["id"])

    async def story(site: Site) -> None:
        site.witness_version, site.ledger.did, site.of = 7, str(did), did

        async def versions() -> int:
            shown = await site.shown()
            kept = await site.store.witness_files.find(str(did))
            assert verify(shown, witness_file=None if kept is None else kept.octets).versions == shown.count(b"\n")
            return shown.count(b"\n")

        # Nobody had to approve of the first two.
        assert await versions() == 2
        await site.publish(did, approvals((0, begun)))
        assert await versions() == 3
        # The list that is replaced approves of the replacement, the next one does not count yet.
        await site.publish(did, approvals((1, begun)))
        assert await versions() == 3
        await site.publish(did, approvals((0, replaced)))
        assert await versions() == 4
        await site.publish(did, approvals((1, stopped)))
        assert await versions() == 6
        await site.publish(did, approvals((2, again)))
        assert await versions() == 7
        site.ledger.kept = lines(*log, following(log[-1]))
        await site.publish(did, approvals((2, log[-1])))
        assert await versions() == 8

    with_site(tmp_path, story, *log)


def test_what_follows_the_last_approval_unwatched_is_shown_without_another_one(tmp_path: Path) -> None:
    stopped = following(ONE, witness={})

    async def story(site: Site) -> None:
        site.witness_version = 2
        await site.publish(DID, approvals((0, stopped), (1, stopped)))
        free = following(stopped)
        site.ledger.kept = lines(ONE, stopped, free, following(free))
        assert await site.shown() == b"".join(line + b"\n" for line in site.ledger.kept)
        site.ledger.kept = lines(ONE, stopped, free, following(free, witness=witness_list(2)))
        assert (await site.shown()).count(b"\n") == 3

    with_site(tmp_path, story, ONE, stopped)


def test_of_two_at_once_one_is_told(tmp_path: Path) -> None:
    async def story(site: Site) -> None:
        files = site.store.witness_files
        stale = await files.find(str(DID))
        await site.publish(DID, approvals((0, ONE)))

        class Stale:
            async def find(self, did: str) -> WitnessFile | None:
                return stale

            replace = files.replace

        with pytest.raises(VersionConflict):
            await replace(site.publish, files=Stale())(DID, approvals((1, ONE)))  # type: ignore[arg-type]
        stale = await files.find(str(DID))
        assert (await site.publish(DID, approvals((1, ONE)))).versions == 1
        with pytest.raises(VersionConflict):
            await replace(site.publish, files=Stale())(DID, approvals((1, ONE)))  # type: ignore[arg-type]

    with_site(tmp_path, story, ONE)


def test_what_approves_of_entries_that_a_rollback_cuts_goes_with_them(tmp_path: Path) -> None:
    row = (
        "INSERT INTO did_versions (did, version_id, printed_second, sequence, block_number, recorded_at, transaction_hash, state, "
        "document, changes) VALUES (:did, 1, 0, :sequence, 1, 0, :octets, :octets, :octets, :octets)"
    )

    async def story(site: Site) -> None:
        database, files = site.store.database, site.store.witness_files
        for sequence, did in ((1, "did:webvh:a"), (2, "did:webvh:b")):
            values = {"did": did, "sequence": sequence, "octets": b"x"}
            await database.write(lambda transaction, values=values: transaction.execute(row, values))
            assert await files.replace(did, None, WitnessFile(1, 1, b"[]"))
        await drop_projections(database, 1)
        assert await files.find("did:webvh:a") is not None
        assert await files.find("did:webvh:b") is None

    with_site(tmp_path, story, ONE)
