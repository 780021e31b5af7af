"""``identity anchor``, ``identity proof import`` and the anchor in ``identity proof verify``."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest
from identity_anchoring.batches import LeaseLost
from identity_anchoring.commands import anchor_administration
from identity_commands.proof_anchor import LedgerUnreachable, check_anchor
from identity_kit.conformance.prover_cases import BbsIssuer
from identity_records.queries import TimelineQuery
from identity_records.store import StoredTimeline, TimelineEntry, TimelineRow
from identity_transparency.opening import transparency_log
from identity_transparency.use_cases.project import TransparencyLog
from identity_verification.handlers import record as proof_record
from identity_verification.store import StoredProofs

from identity_codec import multikey
from identity_codec.multibase import base64url_decode
from identity_codec.structs import plain
from identity_codec.values import replace
from identity_core.api.proofs import anchor
from identity_core.domain.proofs.stored import StoredProof
from identity_core.errors import ProofInvalid
from identity_core.ports.ledger import AnchoringLedger, AnchorTransaction
from identity_core.settings import SettingsError, load
from identity_core.store import Store
from identity_tlog.anchored import AnchoredCheckpoint, AnchorPath, checkpoint_commitment, root_and_paths
from identity_tlog.note import Checkpoint
from tests.anchoring import add_proofs, some_proof
from tests.events import open_store, write_rows
from tests.unit.cli.conftest import Commands

T = TypeVar("T")
AT = datetime(2025, 6, 1, tzinfo=UTC)


def record(proof: StoredProof) -> dict[str, Any]:
    """As ``getProof`` shows it."""
    shown: dict[str, Any] = plain(proof_record(proof))
    return shown


def old(**change: Any) -> dict[str, Any]:
    return record(some_proof(AT, anchor=None)) | change


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def stored(folder: Path, job: Callable[[Store], Awaitable[T]]) -> T:
    async def run_job() -> T:
        store = open_store(folder, processes=2)
        try:
            return await job(store)
        finally:
            await store.close()

    return asyncio.run(run_job())


def in_log(folder: Path, job: Callable[[TransparencyLog], Awaitable[T]]) -> T:
    async def run_job() -> T:
        async with transparency_log(load(overrides={"data_dir": folder})) as desk:
            return await job(desk)

    return asyncio.run(run_job())


async def anchor_of(desk: TransparencyLog, root: bytes) -> AnchorTransaction:
    assert isinstance(desk.ledger, AnchoringLedger)
    told = await desk.ledger.anchor_status(root)
    assert told is not None
    return told


@pytest.fixture
def data(here: Path) -> Path:
    folder = here / "identity-data"
    folder.mkdir()
    asyncio.run(open_store(folder).close())
    return folder


def anchored(folder: Path) -> dict[str, Any]:
    """The record of a proof that the installation's own ledger has confirmed."""
    proof = some_proof(datetime.now(UTC))
    stored(folder, lambda store: add_proofs(store, [proof]))

    async def job() -> None:
        async with anchor_administration(load(overrides={"data_dir": folder})) as office:
            assert office.worker is not None
            async with asyncio.timeout(60):
                while True:
                    with contextlib.suppress(LeaseLost):
                        await office.worker.round()
                    receipt = await office.outbox.receipt(proof.id)
                    assert receipt is not None
                    if receipt.status.value == "confirmed":
                        return
                    await asyncio.sleep(0.05)

    asyncio.run(job())
    found = stored(folder, lambda store: StoredProofs.from_store(store).get(proof.id))
    assert found is not None
    return record(found)


def test_proofs_from_before_anchoring(identity: Commands, data: Path, here: Path) -> None:
    first, second = old(), old(revokedAt="2025-07-01T00:00:00Z", revocationReason="lost")
    file = lines(here / "old.jsonl", first, second, first)
    assert identity.json("proof", "import", file) == {"given": 3, "imported": 2}
    assert identity.json("proof", "import", file) == {"given": 3, "imported": 0}
    kept = stored(data, lambda store: StoredProofs.from_store(store).get(first["proofId"]))
    assert kept is not None
    assert plain(anchor(kept.anchor)) == {
        "status": "pre-phase7",
        "txHash": None,
        "blockNumber": None,
        "revokedBlock": None,
    }
    assert record(kept)["proof"] == first["proof"]
    taken_back = stored(data, lambda store: StoredProofs.from_store(store).get(second["proofId"]))
    assert taken_back is not None
    assert taken_back.revocation is not None
    assert identity.json("anchor", "status")["waiting"] == 0
    assert identity.json("anchor", "backfill") == {"queued": 1}
    status = identity.json("anchor", "status")
    assert status["waiting"] == 1
    assert datetime.fromisoformat(status["oldest"]) <= datetime.now(UTC)
    assert status["oldest"].endswith("Z")
    assert identity.json("anchor", "retry") == {"queued": 0}


def test_the_history_shows_them(identity: Commands, data: Path, here: Path) -> None:
    imported = old()
    identity.ok("proof", "import", lines(here / "old.jsonl", imported))

    async def row(store: Store) -> TimelineRow:
        event = TimelineEntry(AT, "proof.verified", "done", "test", holder="did:x:hana", proof_id=imported["proofId"])
        await write_rows(store, (event,))
        return (await StoredTimeline(store.database).list(TimelineQuery(None)))[0]

    shown = {"status": "pre-phase7", "txHash": None, "blockNumber": None, "revokedBlock": None}
    assert plain(anchor(stored(data, row).anchor)) == shown


@pytest.mark.parametrize(
    "bad",
    [
        [],
        old(anchor={"status": "confirmed", "txHash": "aa", "blockNumber": 1, "revokedBlock": None}),
        old(proofId="another"),
        old(proof="text"),
        old(createdAt="yesterday"),
        old(holderDid=7),
        old(holderDid="x" * 3000),
        old(predicate=None),
        old(proof={"proof": "x", "publicSignals": [1], "predicateType": "gte", "proofId": "x"}),
    ],
)
def test_one_bad_line_imports_nothing(identity: Commands, data: Path, here: Path, bad: Any) -> None:
    good = old()
    file = lines(here / "old.jsonl", good, bad)
    assert "line 2" in identity.refused("proof", "import", file)[0]
    assert stored(data, lambda store: StoredProofs.from_store(store).get(good["proofId"])) is None


def test_a_misspelt_directory_is_seen(identity: Commands, here: Path) -> None:
    assert "data directory" in identity.refused("anchor", "status", "--data-dir", here / "nowhere", status=2)[0]


def test_the_anchor_is_followed_offline_and_on_the_ledger(identity: Commands, data: Path) -> None:
    shown = anchored(data)
    settings = load(overrides={"data_dir": data})
    offline = check_anchor(shown, None)
    assert offline is not None
    assert (offline["ledger"], offline["onLedger"]) == ("sql", None)
    asked = check_anchor(shown, settings)
    assert asked is not None
    assert (asked["onLedger"], asked["txHash"]) == (True, shown["anchor"]["txHash"])


@pytest.mark.parametrize("member", ["salt", "root", "path", "index", "proof"])
def test_an_anchor_of_something_else_is_refused(identity: Commands, data: Path, member: str) -> None:
    shown = anchored(data)
    if member == "proof":
        shown["proof"]["proof"] = "another"
    else:
        shown["anchorDetails"][member] = {"path": ["A" * 43], "index": 1}.get(member, "A" * 43)
    with pytest.raises(ProofInvalid):
        check_anchor(shown, None)


def test_a_root_that_the_ledger_never_saw(identity: Commands, data: Path, here: Path) -> None:
    shown = anchored(data)
    other = here / "other"
    other.mkdir()
    # An empty ledger knows of nothing, so it refutes nothing.
    with pytest.raises(LedgerUnreachable, match="is empty"):
        check_anchor(shown, load(overrides={"data_dir": other}))
    in_log(other, lambda desk: desk.ledger.append("did:key:zHana", b"entry", expected_version=0))
    with pytest.raises(ProofInvalid) as refusal:
        check_anchor(shown, load(overrides={"data_dir": other}))
    assert "not confirmed" in str(refusal.value.details["reason"])
    shown["anchorDetails"]["ledger"] = "evm:1:0x00"
    with pytest.raises(LedgerUnreachable):
        check_anchor(shown, load(overrides={"data_dir": data}))


def test_a_directory_that_is_not_there_is_no_ledger(identity: Commands, data: Path, here: Path) -> None:
    """Not one that denies the proof, and none is made."""
    pytest.importorskip("identity_prover_bbs")
    file = lines(here / "proof.json", old())
    key = multikey.encode_public(multikey.BLS12381G2, BbsIssuer().key.public_key)
    words = ("proof", "verify", file, "--issuer-key", key, "--ledger", "--signature-only")
    said = identity.refused(*words, "--data-dir", "nowhere", status=2)
    assert said[:2] == ["error: there is no such data directory", f"  at: {here / 'nowhere'}"]
    assert "--data-dir" in said[2]
    assert not (here / "nowhere").exists()
    # Where it is there, the next thing is the proof itself, which is none.
    assert "the proof is not valid" in identity.refused(*words, "--data-dir", data)[0]


def test_ledger_that_cannot_be_chosen_leaves_proof_unchecked(data: Path) -> None:
    shown = anchored(data)
    with pytest.raises(SettingsError, match=r"ledger\.backend names nope"):
        check_anchor(shown, load(overrides={"data_dir": data, "ledger.backend": "nope"}))


def test_no_anchor_is_no_fault_unless_a_ledger_is_to_confirm_it(data: Path) -> None:
    assert check_anchor(old(), None) is None
    assert check_anchor("text", None) is None
    with pytest.raises(ProofInvalid):
        check_anchor(old(), load(overrides={"data_dir": data}))


def test_the_log_is_held_to_the_checkpoint_that_was_anchored(identity: Commands, data: Path, here: Path) -> None:
    assert "no checkpoint is anchored" in identity.refused("anchor", "checkpoint")[0]

    async def grow(desk: TransparencyLog, version: int) -> None:
        await desk.ledger.append("did:key:zHana", b"entry", expected_version=version)

    in_log(data, lambda desk: grow(desk, 0))
    anchored(data)
    body = identity.json("anchor", "checkpoint", "--save", here / "anchored")
    assert body == json.loads((here / "anchored").read_text())
    assert body["checkpoint"].splitlines()[1] == "1"
    # The root is what the ledger has.
    details = body["anchorDetails"]
    told = in_log(data, lambda desk: anchor_of(desk, base64url_decode(details["root"])))
    assert (told.state, told.transaction_hash, told.block_number) == ("confirmed", body["txHash"], body["blockNumber"])
    assert f"transaction  {body['txHash']}" in identity.ok("anchor", "checkpoint")
    # The log grew from it, and another log did not.
    in_log(data, lambda desk: grow(desk, 1))
    # Its entries are not entries of DIDs, so there is nothing to compare in the index.
    words = ("ledger", "audit", "--no-index", "--anchored", here / "anchored")
    assert (identity.json(*words)["sound"], identity.json(*words)["held"]) == (True, 1)
    shutil.copytree(data, here / "other")
    for file in ("ledger.sqlite", "identity.sqlite"):
        for name in (file, f"{file}-wal", f"{file}-shm"):
            (here / "other" / name).unlink(missing_ok=True)
    in_log(here / "other", lambda desk: desk.ledger.append("did:key:zMallory", b"entry", expected_version=0))
    result = identity(*words, "--data-dir", here / "other", "--json")
    assert result.exit_code == 1
    assert [one["kind"] for one in json.loads(result.stdout)["findings"]] == ["fork"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda kept: kept.update(checkpoint=kept["checkpoint"].replace("\n1\n", "\n2\n")), "does not lead"),
        (lambda kept: kept["anchorDetails"].update(root="A" * 43), "does not lead"),
        (lambda kept: kept["anchorDetails"].pop("path"), "not a list of hashes"),
        (lambda kept: kept.pop("anchorDetails"), "not an object"),
        (lambda kept: kept.update(checkpoint=7), "three lines"),
        (lambda kept: kept.update(txHash=7), "no transaction"),
        (lambda kept: kept.update(blockNumber=True), "no transaction or block"),
        (lambda kept: kept.update(format="else"), "not an anchored checkpoint"),
    ],
)
def test_an_anchored_checkpoint_that_is_none(
    identity: Commands, data: Path, here: Path, change: Callable[[Any], object], says: str
) -> None:
    checkpoint = Checkpoint("127.0.0.1:8080/api/v1/ledger", 1, bytes(32))
    root, (path, _) = root_and_paths([checkpoint_commitment(checkpoint.text.encode()), bytes(32)])
    kept = AnchoredCheckpoint(
        checkpoint, AnchorPath("sql", root, 0, 2, tuple(path), "2025-06-01T00:00:00Z"), "ab" * 32, 5
    )
    assert AnchoredCheckpoint.parse(kept.encode()) == kept
    body = json.loads(kept.encode())
    change(body)
    (here / "anchored").write_text(json.dumps(body))
    words = ("ledger", "audit", "--anchored", here / "anchored")
    assert says in identity.refused(*words)[0]
    (here / "anchored").write_bytes(b"{")
    assert "not an anchored checkpoint" in identity.refused(*words)[0]
    elsewhere = replace(kept, checkpoint=replace(checkpoint, origin="else.example/api/v1/ledger"))
    root, (path, _) = root_and_paths([checkpoint_commitment(elsewhere.checkpoint.text.encode()), bytes(32)])
    elsewhere = replace(elsewhere, path=AnchorPath("sql", root, 0, 2, tuple(path), "2025-06-01T00:00:00Z"))
    (here / "anchored").write_bytes(elsewhere.encode())
    assert "another log" in identity.refused(*words)[0]
