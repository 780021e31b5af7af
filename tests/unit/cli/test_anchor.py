"""``identity anchor``, ``identity proof import`` and the anchor in ``identity proof verify``."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest

from identity_core.api.anchor_render import anchor, details
from identity_core.cli.proof_anchor import Unreachable, check_anchor
from identity_core.domain.errors import ProofInvalid
from identity_core.domain.times import printed
from identity_core.ports.outbox import LeaseLost
from identity_core.ports.proofs import StoredProof
from identity_core.ports.timeline import TimelineEntry, TimelineRow, TimelineWish
from identity_core.settings import load
from identity_core.store import Store
from tests.anchoring import some_proof
from tests.unit.cli.conftest import Commands

T = TypeVar("T")
AT = datetime(2025, 6, 1, tzinfo=UTC)


def record(proof: StoredProof) -> dict[str, Any]:
    """As ``getProof`` shows it."""
    return {
        "proofId": proof.id,
        "delegationId": proof.delegation_id,
        "holderDid": proof.holder,
        "agentDid": proof.agent,
        "credentialId": proof.credential_id,
        "issuerDid": proof.issuer,
        "schemaId": proof.schema_id,
        "predicate": dict(proof.predicate),
        "proof": {
            "proof": proof.proof.proof,
            "publicSignals": list(proof.proof.public_signals),
            "predicateType": proof.proof.predicate_type,
            "proofId": proof.id,
        },
        "challenge": None,
        "domain": None,
        "createdAt": printed(proof.created_at),
        "expiresAt": printed(proof.expires_at),
        "revokedAt": None,
        "revokedBy": None,
        "revocationReason": None,
        "anchor": anchor(proof.anchor),
        "anchorDetails": details(proof),
    }


def old(**change: Any) -> dict[str, Any]:
    return record(some_proof(AT, anchor=None)) | change


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def stored(folder: Path, job: Callable[[Store], Awaitable[T]]) -> T:
    async def opened() -> T:
        store = Store.open(folder, processes=2)
        try:
            return await job(store)
        finally:
            await store.close()

    return asyncio.run(opened())


@pytest.fixture
def data(here: Path) -> Path:
    folder = here / "identity-data"
    folder.mkdir()
    return folder


def anchored(folder: Path) -> dict[str, Any]:
    """The record of a proof that the installation's own ledger has confirmed."""
    from identity_core import bootstrap

    proof = some_proof(datetime.now(UTC))

    async def job() -> dict[str, Any]:
        async with bootstrap.anchor_office(load(overrides={"data_dir": folder})) as office:
            assert office.worker is not None
            from identity_core.store.proofs import add_proof

            await office.store.database.write(lambda transaction: add_proof(transaction, proof))
            async with asyncio.timeout(60):
                while True:
                    with contextlib.suppress(LeaseLost):
                        await office.worker.round()
                    found = await office.store.proofs.get(proof.id)
                    assert found is not None
                    if found.anchor is not None and found.anchor.status.value == "confirmed":
                        return record(found)
                    await asyncio.sleep(0.05)

    return asyncio.run(job())


def test_proofs_from_before_anchoring(identity: Commands, data: Path, here: Path) -> None:
    first, second = old(), old(revokedAt="2025-07-01T00:00:00Z", revocationReason="lost")
    file = lines(here / "old.jsonl", first, second, first)
    assert identity.json("proof", "import", file) == {"given": 3, "imported": 2}
    assert identity.json("proof", "import", file) == {"given": 3, "imported": 0}
    kept = stored(data, lambda store: store.proofs.get(first["proofId"]))
    assert kept is not None
    assert anchor(kept.anchor) == {"status": "pre-phase7", "txHash": None, "blockNumber": None, "revokedBlock": None}
    assert record(kept)["proof"] == first["proof"]
    taken_back = stored(data, lambda store: store.proofs.get(second["proofId"]))
    assert taken_back is not None
    assert taken_back.revocation is not None
    assert identity.json("anchor", "status")["waiting"] == 0
    assert identity.json("anchor", "backfill") == {"queued": 1}
    assert identity.json("anchor", "status")["waiting"] == 1
    assert identity.json("anchor", "retry") == {"queued": 0}


def test_the_history_shows_them(identity: Commands, data: Path, here: Path) -> None:
    imported = old()
    identity.ok("proof", "import", lines(here / "old.jsonl", imported))

    async def row(store: Store) -> TimelineRow:
        event = TimelineEntry(AT, "proof.verified", "done", "test", holder="did:x:hana", proof_id=imported["proofId"])
        await store.timeline.record(event)
        return (await store.timeline.list(TimelineWish(None)))[0]

    shown = {"status": "pre-phase7", "txHash": None, "blockNumber": None, "revokedBlock": None}
    assert anchor(stored(data, row).anchor) == shown


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
    assert stored(data, lambda store: store.proofs.get(good["proofId"])) is None


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
    empty = here / "empty"
    empty.mkdir()
    with pytest.raises(ProofInvalid) as refusal:
        check_anchor(shown, load(overrides={"data_dir": empty}))
    assert "not confirmed" in str(refusal.value.details["reason"])
    shown["anchorDetails"]["ledger"] = "evm:1:0x00"
    with pytest.raises(Unreachable):
        check_anchor(shown, load(overrides={"data_dir": data}))


def test_no_anchor_is_no_fault_unless_a_ledger_is_to_confirm_it(data: Path) -> None:
    assert check_anchor(old(), None) is None
    assert check_anchor("text", None) is None
    with pytest.raises(ProofInvalid):
        check_anchor(old(), load(overrides={"data_dir": data}))
