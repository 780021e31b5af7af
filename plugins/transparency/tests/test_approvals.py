"""The published part of a witnessed did:webvh log, and the approvals that are accepted."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from identity_commands.verify_log import verify
from identity_did_webvh import approvals as witness
from identity_did_webvh.approvals import read_witnesses
from identity_transparency.store import StoredWitnessFiles, WitnessFile
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.approvals import MAX_FILE, LogApprovals, ReadWitnessedLog

from identity_codec import ed25519, multikey
from identity_codec.values import replace
from identity_core.cache import BoundedCache
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import DidNotFound, InvalidDocument, VersionConflict
from identity_core.use_cases.dids.read import GetDidLog
from plugins.did_webvh.tests.test_webvh_log import first, following
from tests.did_use_cases import MovableClock
from tests.events import open_store

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
        return SimpleNamespace(entries=len(self.kept), byte_count=sum(map(len, self.kept)))


class Site:
    """A log, and what its place shows."""

    def __init__(self, folder: Path, *entries: Any) -> None:
        self.ledger, self.store = Ledger(lines(*entries)), open_store(folder)
        self.witness_version: int | None = None
        self.of = DID
        self.log = GetDidLog(SimpleNamespace(index=self, recorded=self.head), self.ledger, True)  # type: ignore[arg-type]
        self.recorded = ReadWitnessedLog(self.ledger, BoundedCache(4))  # type: ignore[arg-type]
        self.files = StoredWitnessFiles(self.store.database, self.store.activity)
        self.approvals = LogApprovals(self.recorded, self.files, MovableClock())

    async def head(self, did: str) -> Any:
        return SimpleNamespace(state=SimpleNamespace(witness_version=self.witness_version))

    async def read_published(self) -> bytes:
        found = await self.approvals.published(self.log, self.of)
        data = await joined(found.pages)
        assert found.byte_count == len(data)
        return data


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
            await site.read_published()
        with pytest.raises(DidNotFound):
            await site.approvals.witness_file(site.log, DID)
        # Each on its own is too few; an approval covers what was before it.
        assert (await site.approvals.publish(DID, approvals((0, TWO)))).versions == 0
        with pytest.raises(DidNotFound):
            await site.read_published()
        # A reader of the first entry alone passes over what approves of the second.
        assert (await site.approvals.publish(DID, approvals((1, ONE)))).versions == 0
        for entry, number, versions, kept in ((ONE, 0, 1, 3), (TWO, 1, 2, 2), (THREE, 1, 2, 3), (THREE, 0, 3, 2)):
            done = await site.approvals.publish(DID, approvals((number, entry)))
            assert done.versions == versions
            shown, file = await site.read_published(), await site.approvals.witness_file(site.log, DID)
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
        witness.approve(None, TWO["versionId"], PAIRS[1], "now"),
    ],
    ids=["nothing", "again", "no witness of the log", "another log", "a wrong signature", "a time that is none"],
)
def test_repeated_approval_is_refused(tmp_path: Path, offered: bytes) -> None:
    async def story(site: Site) -> None:
        before = await site.approvals.publish(DID, approvals((0, TWO)))
        with pytest.raises(InvalidDocument, match="anything new"):
            await site.approvals.publish(DID, offered)
        assert await site.files.find(str(DID)) == before

    with_site(tmp_path, story, ONE, TWO)


@pytest.mark.parametrize("offered", [b"", b"junk", b"{}", b'[{"versionId": 1, "proof": []}]', b'[{"proof": []}]'])
def test_malformed_witness_file_is_refused(tmp_path: Path, offered: bytes) -> None:
    async def story(site: Site) -> None:
        with pytest.raises(LogInvalid):
            await site.approvals.publish(DID, offered)

    with_site(tmp_path, story, ONE)


def test_logs_without_witnesses_are_shown_whole(tmp_path: Path) -> None:
    plain = first()

    async def story(site: Site) -> None:
        site.ledger.kept = lines(plain)
        assert await site.read_published() == lines(plain)[0] + b"\n"
        with pytest.raises(InvalidDocument, match="has no witnesses"):
            await site.approvals.publish(DID, approvals((0, ONE)))
        with pytest.raises(DidNotFound):
            await site.approvals.publish(Did.parse("did:ids:" + "Qm" + "a" * 44), approvals((0, ONE)))

    with_site(tmp_path, story, ONE)


def witness_list(*numbers: int) -> dict[str, Any]:
    return {"threshold": len(numbers), "witnesses": [{"id": IDS[number]} for number in numbers]}


def test_log_is_shown_up_to_last_approved_version(tmp_path: Path) -> None:
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
            shown = await site.read_published()
            kept = await site.files.find(str(did))
            assert verify(shown, witness_file=None if kept is None else kept.encoded).versions == shown.count(b"\n")
            return shown.count(b"\n")

        # The first two needed no approval.
        assert await versions() == 2
        await site.approvals.publish(did, approvals((0, begun)))
        assert await versions() == 3
        # The list that is replaced approves of the replacement, the next one does not count yet.
        await site.approvals.publish(did, approvals((1, begun)))
        assert await versions() == 3
        await site.approvals.publish(did, approvals((0, replaced)))
        assert await versions() == 4
        await site.approvals.publish(did, approvals((1, stopped)))
        assert await versions() == 6
        await site.approvals.publish(did, approvals((2, again)))
        assert await versions() == 7
        site.ledger.kept = lines(*log, following(log[-1]))
        await site.approvals.publish(did, approvals((2, log[-1])))
        assert await versions() == 8

    with_site(tmp_path, story, *log)


def test_unwatched_entries_are_shown_without_approval(tmp_path: Path) -> None:
    stopped = following(ONE, witness={})

    async def story(site: Site) -> None:
        site.witness_version = 2
        await site.approvals.publish(DID, approvals((0, stopped), (1, stopped)))
        free = following(stopped)
        site.ledger.kept = lines(ONE, stopped, free, following(free))
        assert await site.read_published() == b"".join(line + b"\n" for line in site.ledger.kept)
        site.ledger.kept = lines(ONE, stopped, free, following(free, witness=witness_list(2)))
        assert (await site.read_published()).count(b"\n") == 3

    with_site(tmp_path, story, ONE, stopped)


def test_one_of_two_concurrent_approvals_is_reported(tmp_path: Path) -> None:
    async def story(site: Site) -> None:
        files = site.files
        stale = await files.find(str(DID))
        await site.approvals.publish(DID, approvals((0, ONE)))

        class Stale:
            async def find(self, did: str) -> WitnessFile | None:
                return stale

            replace = files.replace

        with pytest.raises(VersionConflict):
            await replace(site.approvals, files=Stale()).publish(DID, approvals((1, ONE)))  # type: ignore[arg-type]
        stale = await files.find(str(DID))
        assert (await site.approvals.publish(DID, approvals((1, ONE)))).versions == 1
        with pytest.raises(VersionConflict):
            await replace(site.approvals, files=Stale()).publish(DID, approvals((1, ONE)))  # type: ignore[arg-type]

    with_site(tmp_path, story, ONE)


def test_rollback_removes_approvals_of_cut_entries(tmp_path: Path) -> None:
    row = (
        "INSERT INTO did_versions (did, version_id, printed_second, sequence, block_number, recorded_at, transaction_hash, state, "
        "document, changes) VALUES (:did, 1, 0, :sequence, 1, 0, :data, :data, :data, :data)"
    )

    async def story(site: Site) -> None:
        database, files = site.store.database, site.files
        for sequence, did in ((1, "did:webvh:a"), (2, "did:webvh:b")):
            values = {"did": did, "sequence": sequence, "data": b"x"}
            await database.write(lambda transaction, values=values: transaction.execute(row, values))
            assert await files.replace(did, None, WitnessFile(1, 1, b"[]"))
        await TransparencyTree(database).drop_projections(1)
        assert await files.find("did:webvh:a") is not None
        assert await files.find("did:webvh:b") is None

    with_site(tmp_path, story, ONE)


def long_log(versions: int, parameter: Any) -> list[Any]:
    """Entries without the hashes and proofs that the ledger has looked at."""
    said: list[dict[str, Any]] = [{"witness": parameter}, *({} for _ in range(versions - 1))]
    return [{"versionId": f"{number}-Qm", "parameters": each} for number, each in enumerate(said, 1)]


def test_witness_that_approves_of_all_leaves_room_for_others(tmp_path: Path) -> None:
    log = long_log(400, {"threshold": 2, "witnesses": [{"id": each} for each in IDS]})

    async def story(site: Site) -> None:
        # More than is kept of one witness, some at a time.
        for part in range(0, 399, 100):
            await site.approvals.publish(DID, approvals_of_all(0, log[part : min(part + 100, 399)]))
        kept = await site.files.find(str(DID))
        assert kept is not None
        of_places = [int(one["versionId"].split("-")[0]) for one in json.loads(kept.encoded)]
        # The first and the newest, and between them each version waits for a bounded number.
        assert (of_places[0], of_places[-1], len(of_places)) == (1, 399, witness.MOST_PENDING)
        assert max(after - before for before, after in pairwise(of_places)) < 40
        # Who approves of the newest version completes nothing that the first has approved of; who does so of an older one does.
        assert (await site.approvals.publish(DID, approvals((1, log[-1])))).versions == 0
        assert (await site.approvals.publish(DID, approvals((2, log[-1])))).versions == 400
        kept = await site.files.find(str(DID))
        assert kept is not None
        assert len(json.loads(kept.encoded)) == 2

    with_site(tmp_path, story, *log)


def test_list_of_sixteen_witnesses_fits(tmp_path: Path) -> None:
    """No list has more, and all of them are asked: what is kept on the way to the last one is still a file that is read."""
    pairs = [ed25519.generate(bytes([100 + number]) * 32) for number in range(16)]
    keys = [multikey.encode_public(multikey.ED25519, pair.public) for pair in pairs]
    first_line = first(witness={"threshold": 16, "witnesses": [{"id": f"did:key:{key}"} for key in keys]})
    log = [first_line]
    while len(log) < 20:
        log.append(following(log[-1]))
    did = Did.parse(first_line["state"]["id"])

    async def story(site: Site) -> None:
        site.ledger.did, site.of = str(did), did
        for pair in pairs[1:]:
            file = b"[]"
            for entry in log:
                file = witness.approve(None, entry["versionId"], pair, AT)[:-1].removesuffix(b"]") + b"," + file[1:]
            assert (await site.approvals.publish(did, file.replace(b",]", b"]"))).versions == 0
        kept = await site.files.find(str(did))
        assert kept is not None
        assert sum(len(one["proof"]) for one in json.loads(kept.encoded)) == 15 * 20
        assert len(kept.encoded) / (15 * 20) * 16 * (witness.MOST_PENDING + 1) < MAX_FILE
        last = witness.approve(None, log[-1]["versionId"], pairs[0], AT)
        assert (await site.approvals.publish(did, last)).versions == len(log)
        shown, published = await site.read_published(), await site.approvals.witness_file(site.log, did)
        assert verify(shown, witness_file=published).versions == len(log)

    with_site(tmp_path, story, *log)


def approvals_of_all(number: int, entries: list[Any]) -> bytes:
    files = [json.loads(approvals((number, entry))) for entry in entries]
    return json.dumps([one for file in files for one in file]).encode()


def test_a_log_is_read_once_and_then_what_is_new_of_it(tmp_path: Path) -> None:
    log = long_log(200, witness_list(0))

    async def story(site: Site) -> None:
        read = list[int]()
        entries = site.ledger.entries

        async def counted(did: str, *, after: int = 0, limit: int | None = None) -> list[Any]:
            # A ledger may give fewer than it is asked for.
            found = (await entries(did, after=after, limit=limit))[:30]
            read.append(len(found))
            return found

        site.ledger.entries = counted  # type: ignore[method-assign]
        site.ledger.kept = lines(*log[:150])
        assert len((await site.recorded(DID)).version_ids) == 150
        assert sum(read) == 150
        read.clear()
        await site.approvals.publish(DID, approvals((0, log[100])))
        assert (await site.read_published()).count(b"\n") == 101
        site.ledger.kept = lines(*log)
        found = await site.recorded(DID)
        assert found.version_ids == tuple(one["versionId"] for one in log)
        assert (len(found.required), sum(found.byte_counts)) == (200, sum(map(len, site.ledger.kept)))
        # What is shown is read as it is sent.
        assert sum(read) <= 1 + 1 + 101 + 51 + 2
        # A chain that was reorganised: another entry instead of the last known one, or fewer.
        site.ledger.kept = lines(*log[:150], log[150] | {"versionId": "151-Qx"})
        assert (await site.recorded(DID)).version_ids[-1] == "151-Qx"
        site.ledger.kept = lines(*log[:20])
        assert len((await site.recorded(DID)).version_ids) == 20
        site.ledger.kept = []
        with pytest.raises(DidNotFound):
            await site.recorded(DID)

    with_site(tmp_path, story, *log)


def test_how_far_a_log_is_approved_is_what_the_rule_says() -> None:
    """Held against every beginning of the log by itself, as a reader would have it."""
    chance = random.Random(7)
    lists = [None, *(read_witnesses(witness_list(*numbers)) for numbers in ((0,), (1,), (0, 1), (0, 1, 2)))]
    lists += [read_witnesses({"threshold": 2, "witnesses": [{"id": each} for each in IDS]})]
    seen = set()
    for _ in range(400):
        length = chance.randrange(1, 9)
        guards: list[Any] = sorted(chance.choices(lists, k=length), key=lists.index)
        approved = [{key for key in IDS if chance.random() < 0.4} for _ in range(length)]
        keys = [{each.removeprefix("did:key:") for each in some} for some in approved]
        expected = max(n for n in range(length + 1) if witness._unapproved(guards[:n], keys[:n]) is None)
        assert witness._count_approved(guards, keys) == expected
        seen.add((length, expected))
    assert len(seen) > 30
