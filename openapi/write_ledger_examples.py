"""Writes the examples of the extension transparency: the log over the entries of Hana's DID, events, approvals of a did:webvh.

    python -m openapi.write_ledger_examples     writes plugins/transparency/openapi/examples.yaml

The same rules and renderers made them as make the answers, so the proofs in them verify.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from identity_transparency import wire
from identity_transparency.domain.checkpoint_keys import CheckpointKeys, EarlierKey, succession_text
from identity_transparency.ledger_handlers import LedgerHandlers
from identity_transparency.use_cases.project import (
    CheckpointSigner,
    LedgerFollower,
    TransparencyLog,
)
from identity_transparency.use_cases.read import LedgerReads

from identity_codec import ed25519, multikey
from identity_codec.structs import plain
from identity_core.api.request import Answer, Request
from identity_core.bootstrap.ports import SystemClock
from identity_core.ports.ledger import LedgerEntry, LedgerHead
from identity_tlog.note import VerifierKey
from identity_tlog.tiles import TileKey, grown
from identity_tlog.tree import Frontier
from openapi.did_examples import Telling, approvals
from openapi.story import dice
from openapi.write_examples import write

LOG: Final = "identity.example/api/v1/ledger"


class TellingLedger:
    """The entries of the story as a ledger that only reads."""

    def __init__(self, lines: Sequence[LedgerEntry]) -> None:
        self._lines = lines

    async def entries_after(self, sequence: int, limit: int) -> Sequence[LedgerEntry]:
        return self._lines[sequence : sequence + limit]

    async def head(self) -> LedgerHead:
        last = self._lines[-1].receipt
        return LedgerHead(last.sequence, last.block_number)


class TreeInMemory:
    """A tree of less than a tile, of a service whose first log key is the present one."""

    def __init__(self) -> None:
        self._frontier, self._transactions = Frontier(), list[bytes]()
        self._tiles: dict[TileKey, bytes] = {}

    async def frontier(self) -> Frontier:
        return self._frontier

    async def append(self, size: int, leaves: Sequence[bytes], transactions: Sequence[bytes]) -> Frontier:
        self._tiles |= grown(size, self._tiles, leaves)
        self._transactions += transactions
        self._frontier = self._frontier.appended(leaves)
        return self._frontier

    async def tiles(self, wanted: Collection[TileKey]) -> Mapping[TileKey, bytes]:
        return {key: self._tiles[key] for key in wanted if key in self._tiles}

    async def service_did(self) -> str | None:
        return None

    async def begin_service(self, did: str) -> str:
        return did

    async def places(self, transaction: bytes) -> Sequence[int]:
        return [place for place, one in enumerate(self._transactions, 1) if one == transaction]


class OneKey:
    """A custodian of the checkpoint key."""

    def __init__(self) -> None:
        self.pair = ed25519.generate(dice("checkpoint")(32))

    async def sign(self, name: str, message: bytes) -> bytes:
        return self.pair.sign(message)


def replaced_once(key: VerifierKey, signed: ed25519.Ed25519KeyPair, size: int, at: datetime) -> CheckpointKeys:
    """The keys of a log whose second key is ``key``, and took the place of the first when the log had ``size`` entries."""
    old = ed25519.generate(dice("ledger: the first key of checkpoints")(32))
    before = VerifierKey(key.name, old.public)
    one, other = (multikey.encode_public(multikey.ED25519, pair.public) for pair in (old, signed))
    text = succession_text(key.name, one, other, size)
    lines = [before.line(old.sign(text.encode())), key.line(signed.sign(text.encode()))]
    note = f"{text}\n{''.join(lines)}".encode()
    return CheckpointKeys(key, (EarlierKey(before, 1, size, at, is_compromised=False, succession=note),), 2)


def handlers(telling: Telling) -> tuple[LedgerHandlers, LedgerHandlers, Sequence[LedgerEntry]]:
    """The handlers over the story's entries, with the first key of the log and with its second."""
    versions = [version for version in telling.story.versions if version.receipt is not None]
    lines = [
        LedgerEntry(str(version.state.did), version.state.version_id, line, version.receipt)
        for version, line in zip(versions, telling.story.lines, strict=True)
        if version.receipt is not None
    ]
    ledger: Any = TellingLedger(lines)
    tree: Any = TreeInMemory()
    custodian = OneKey()
    follower = LedgerFollower(ledger, tree)
    key = VerifierKey(LOG, custodian.pair.public)
    signer = CheckpointSigner(custodian, CheckpointKeys(key), SystemClock())  # type: ignore[arg-type]
    replaced = replaced_once(key, custodian.pair, 2, lines[-1].receipt.recorded_at)
    key_signer = CheckpointSigner(custodian, replaced, SystemClock())  # type: ignore[arg-type]
    log = TransparencyLog(ledger, tree, follower, signer)
    keys = LedgerReads(TransparencyLog(ledger, tree, follower, key_signer), lambda: None, True)
    return LedgerHandlers(LedgerReads(log, lambda: None, True)), LedgerHandlers(keys), lines


async def tell() -> dict[str, Any]:
    """operationId → examples."""
    telling = Telling()
    telling.tell()
    made, second, lines = handlers(telling)
    first = lines[0].receipt.transaction_hash
    as_text = Request(headers={"accept": "text/plain"}, query=wire.GetLedgerInclusionProofQuery(transaction=first))
    between = Request(query=wire.GetLedgerConsistencyProofQuery(first=3))
    bundle = Request(path={"level": "entries", "tile": "000.p/1"})
    shown = {
        "getLedgerTransaction": await _shown(made.get_ledger_transaction(Request(path={"transactionHash": first}))),
        "getLedgerBlock": await _shown(
            made.get_ledger_block(Request(path={"blockNumber": "1"}, query=wire.GetLedgerBlockQuery()))
        ),
        "getLedgerKey": await _shown(second.get_ledger_key(Request())),
        "getLedgerCheckpoint": await _shown(made.get_ledger_checkpoint(Request(query=wire.GetLedgerCheckpointQuery()))),
        "getLedgerTile": await _shown(made.get_ledger_tile(bundle), "aBundleOfOneEntry"),
        "getLedgerInclusionProof": {
            "200 application/json": (
                await _shown(
                    made.get_ledger_inclusion_proof(Request(query=wire.GetLedgerInclusionProofQuery(transaction=first)))
                )
            )["200"],
            "200 text/plain": (await _shown(made.get_ledger_inclusion_proof(as_text)))["200"],
        },
        "getLedgerConsistencyProof": await _shown(made.get_ledger_consistency_proof(between)),
    }
    return shown | telling.events() | approvals()


async def _shown(asked: Any, name: str = "ofTheStory") -> dict[str, Any]:
    answer: Answer = await asked
    body = (
        answer.body.decode("latin-1" if answer.media_type == "application/octet-stream" else "utf-8")
        if isinstance(answer.body, bytes)
        else plain(answer.body)
    )
    return {"200": {name: body}}


def main() -> None:
    """Writes the file."""
    write("transparency", asyncio.run(tell()), "openapi.write_ledger_examples")


if __name__ == "__main__":
    main()
