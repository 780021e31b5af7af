"""The handlers of the tag ``ledger``: parse, call, render."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from identity_core.api.negotiation import negotiate
from identity_core.api.request import Answer, Request
from identity_core.codec import multikey
from identity_core.codec.multibase import base64url_encode
from identity_core.domain.merkle.leaf import LogLeaf
from identity_core.domain.merkle.note import VerifierKey
from identity_core.domain.merkle.proof_text import TlogProof
from identity_core.domain.merkle.refusals import Malformed
from identity_core.domain.merkle.tiles import Tile
from identity_core.domain.merkle.tree import leaf_hash
from identity_core.domain.times import printed, printed_exactly
from identity_core.errors import InvalidRequest, TileNotFound
from identity_core.use_cases.ledger.checkpoints import GetLedgerCheckpoint
from identity_core.use_cases.ledger.entries import GetLedgerBlock, GetLedgerTransaction
from identity_core.use_cases.ledger.get_tile import GetLedgerTile
from identity_core.use_cases.ledger.prove import GetLedgerConsistencyProof, GetLedgerInclusionProof, InclusionProof

FOREVER: Final = [("Cache-Control", "public, max-age=31536000, immutable")]
# A ledger on a chain may still move a block that is seconds old.
A_MINUTE: Final = [("Cache-Control", "public, max-age=60")]
A_SECOND: Final = [("Cache-Control", "public, max-age=1")]
TEXT: Final = "text/plain"
PROOF_MEDIA: Final = ("application/json", TEXT)


@dataclass(frozen=True, slots=True)
class LedgerHandlers:
    """getLedgerTransaction, getLedgerBlock, getLedgerKey, getLedgerCheckpoint, getLedgerTile, getLedgerInclusionProof,
    getLedgerConsistencyProof."""

    key: VerifierKey
    transaction: GetLedgerTransaction
    block: GetLedgerBlock
    checkpoint: GetLedgerCheckpoint
    tile: GetLedgerTile
    inclusion: GetLedgerInclusionProof
    consistency: GetLedgerConsistencyProof

    async def get_ledger_transaction(self, request: Request) -> Answer:
        leaf = await self.transaction(request.path["transactionHash"])
        more = {
            "blockNumber": leaf.block_number,
            "recordedAt": printed_exactly(leaf.recorded_at),
            "entry": base64url_encode(leaf.entry),
            "leafHash": base64url_encode(leaf_hash(leaf.encode())),
        }
        return Answer(200, _line(leaf) | more, headers=A_MINUTE)

    async def get_ledger_block(self, request: Request) -> Answer:
        number, after = int(request.path["blockNumber"]), request.query.get("after", 0)
        block = await self.block(number, after=after, limit=request.query.get("limit", 100))
        last = block.entries[-1].sequence if block.entries else block.last
        body = {
            "blockNumber": block.number,
            "firstSequence": block.first,
            "lastSequence": block.last,
            "items": [_line(leaf) for leaf in block.entries],
            "nextAfter": last if last < block.last else None,
        }
        return Answer(200, body, headers=A_MINUTE)

    async def get_ledger_key(self, request: Request) -> Answer:
        body = {
            "origin": self.key.name,
            "verifierKey": str(self.key),
            "publicKeyMultibase": multikey.encode_public(multikey.ED25519, self.key.public),
        }
        return Answer(200, body, headers=A_MINUTE)

    async def get_ledger_checkpoint(self, request: Request) -> Answer:
        return Answer(200, await self.checkpoint(), media_type="text/plain; charset=utf-8", headers=A_SECOND)

    async def get_ledger_tile(self, request: Request) -> Answer:
        try:
            tile = Tile.parse(request.path["level"], request.path["tile"])
        except Malformed as error:
            raise TileNotFound(details={"tile": request.path["tile"][:64]}) from error
        return Answer(200, await self.tile(tile), media_type="application/octet-stream", headers=FOREVER)

    async def get_ledger_inclusion_proof(self, request: Request) -> Answer:
        media, size = negotiate(request.header("accept"), PROOF_MEDIA), request.query.get("size")
        if media == TEXT and size is not None:
            raise InvalidRequest("A proof as text has the checkpoint of now.", details={"parameter": "size"})
        proof = await self.inclusion(request.query["transaction"], size)
        headers = [("Vary", "Accept"), *(A_SECOND if size is None else FOREVER)]
        if media == TEXT and proof.checkpoint is not None:
            kept = TlogProof(proof.leaf.index, proof.hashes, proof.checkpoint, proof.leaf.receipt)
            return Answer(200, kept.encode(), media_type="text/plain; charset=utf-8", headers=headers)
        return Answer(200, _inclusion(proof), headers=headers)

    async def get_ledger_consistency_proof(self, request: Request) -> Answer:
        second = request.query.get("second")
        proof = await self.consistency(request.query["first"], second)
        body = {
            "first": proof.first,
            "second": proof.second,
            "firstRootHash": base64url_encode(proof.first_root),
            "secondRootHash": base64url_encode(proof.second_root),
            "hashes": [base64url_encode(one) for one in proof.hashes],
        }
        return Answer(200, body, headers=A_SECOND if second is None else FOREVER)


def _line(leaf: LogLeaf) -> dict[str, Any]:
    return {
        "sequence": leaf.sequence,
        "did": leaf.did,
        "versionId": leaf.version,
        "timestamp": printed(leaf.recorded_at),
        "transactionHash": leaf.transaction_hash,
    }


def _inclusion(proof: InclusionProof) -> dict[str, Any]:
    return {
        "transactionHash": proof.leaf.transaction_hash,
        "sequence": proof.leaf.sequence,
        "leafIndex": proof.leaf.index,
        "leafHash": base64url_encode(proof.leaf_hash),
        "treeSize": proof.size,
        "rootHash": base64url_encode(proof.root),
        "hashes": [base64url_encode(one) for one in proof.hashes],
        "checkpoint": None if proof.checkpoint is None else proof.checkpoint.decode(),
    }
