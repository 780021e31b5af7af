"""The handlers of the tag ``ledger``: parse, call, render."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from identity_codec.multibase import base64url_encode
from identity_codec.times import printed, printed_exactly
from identity_core.api.errors import negotiate
from identity_core.api.request import Answer, Request
from identity_core.errors import InvalidRequest, TileNotFound
from identity_tlog.proofs import TlogProof
from identity_tlog.tiles import Tile
from identity_tlog.tree import Malformed, leaf_hash
from identity_transparency import wire
from identity_transparency.use_cases.read import InclusionProof, LedgerReads

FOREVER: Final = [("Cache-Control", "public, max-age=31536000, immutable")]
# A ledger on a chain may still move a block that is seconds old.
A_MINUTE: Final = [("Cache-Control", "public, max-age=60")]
A_SECOND: Final = [("Cache-Control", "public, max-age=1")]
TEXT: Final = "text/plain"
PROOF_MEDIA: Final = ("application/json", TEXT)


class LedgerHandlers(Struct, frozen=True):
    """getLedgerTransaction, getLedgerBlock, getLedgerKey, getLedgerCheckpoint, getLedgerTile, getLedgerInclusionProof,
    getLedgerConsistencyProof."""

    reads: LedgerReads

    async def get_ledger_transaction(self, request: Request) -> Answer:
        leaf = await self.reads.transaction(request.path["transactionHash"])
        body = wire.LedgerTransaction(
            transaction_hash=leaf.transaction_hash,
            block_number=leaf.block_number,
            sequence=leaf.sequence,
            did=leaf.did,
            version_id=leaf.version,
            timestamp=printed(leaf.recorded_at),
            recorded_at=printed_exactly(leaf.recorded_at),
            entry=base64url_encode(leaf.entry),
            leaf_hash=base64url_encode(leaf_hash(leaf.encode())),
        )
        return Answer(200, body, headers=A_MINUTE)

    async def get_ledger_block(self, request: Request) -> Answer:
        return Answer(200, await self.reads.block(int(request.path["blockNumber"]), request.query), headers=A_MINUTE)

    async def get_ledger_key(self, request: Request) -> Answer:
        return Answer(200, await self.reads.key(), headers=A_MINUTE)

    async def get_ledger_checkpoint(self, request: Request) -> Answer:
        note = await self.reads.checkpoint(request.query)
        return Answer(200, note, media_type="text/plain; charset=utf-8", headers=A_SECOND)

    async def get_ledger_tile(self, request: Request) -> Answer:
        try:
            tile = Tile.parse(request.path["level"], request.path["tile"])
        except Malformed as error:
            raise TileNotFound(details={"tile": request.path["tile"][:64]}) from error
        return Answer(200, await self.reads.tile(tile), media_type="application/octet-stream", headers=FOREVER)

    async def get_ledger_inclusion_proof(self, request: Request) -> Answer:
        query: wire.GetLedgerInclusionProofQuery = request.query
        media, size = negotiate(request.header("accept"), PROOF_MEDIA), query.size
        if media == TEXT and size is not None:
            raise InvalidRequest("A proof as text has the checkpoint of now.", details={"parameter": "size"})
        proof = await self.reads.inclusion(query)
        headers = [("Vary", "Accept"), *(A_SECOND if size is None else FOREVER)]
        if media == TEXT and proof.checkpoint is not None:
            kept = TlogProof(proof.leaf.index, proof.hashes, proof.checkpoint, proof.leaf.receipt)
            return Answer(200, kept.encode(), media_type="text/plain; charset=utf-8", headers=headers)
        return Answer(200, _inclusion(proof), headers=headers)

    async def get_ledger_consistency_proof(self, request: Request) -> Answer:
        query: wire.GetLedgerConsistencyProofQuery = request.query
        return Answer(200, await self.reads.consistency(query), headers=A_SECOND if query.second is None else FOREVER)


def _inclusion(proof: InclusionProof) -> wire.LedgerInclusionProof:
    return wire.LedgerInclusionProof(
        transaction_hash=proof.leaf.transaction_hash,
        sequence=proof.leaf.sequence,
        leaf_index=proof.leaf.index,
        leaf_hash=base64url_encode(proof.leaf_hash),
        tree_size=proof.size,
        root_hash=base64url_encode(proof.root),
        hashes=tuple(map(base64url_encode, proof.hashes)),
        checkpoint=None if proof.checkpoint is None else proof.checkpoint.decode(),
    )
