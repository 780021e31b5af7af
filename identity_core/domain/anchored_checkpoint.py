"""A checkpoint of the ledger's own log that lies on a ledger, in a batch of anchors: what holds an operator to it whose own signature
need not be believed.

It is kept as one JSON text: the body of the checkpoint and its path to the root of the batch. That the root is on the ledger is for
that ledger to say.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from identity_core.codec import strict_json
from identity_core.domain.anchor_proof import AnchorPath, checkpoint_commitment
from identity_core.domain.merkle.checkpoint import Checkpoint
from identity_core.domain.merkle.refusals import Malformed
from identity_core.errors import JsonValue

FORMAT: Final = "identity-anchored-checkpoint/v1"


@dataclass(frozen=True, slots=True)
class AnchoredCheckpoint:
    """``checkpoint`` with the ``path`` of its commitment; the transaction (lower-case hex) and the block that the ledger told say
    where to look for the root."""

    checkpoint: Checkpoint
    path: AnchorPath
    tx_hash: str | None
    block_number: int | None

    def verify(self) -> None:
        """Raises ``Refuted`` unless the path leads from the checkpoint to the root."""
        self.path.verify(checkpoint_commitment(self.checkpoint.text.encode()))

    @property
    def json(self) -> dict[str, JsonValue]:
        """As it is kept."""
        return {
            "format": FORMAT,
            "checkpoint": self.checkpoint.text,
            "txHash": self.tx_hash,
            "blockNumber": self.block_number,
            "anchorDetails": self.path.json,
        }

    def encode(self) -> bytes:
        """The JSON text."""
        return json.dumps(self.json, indent=2).encode() + b"\n"

    @classmethod
    def parse(cls, octets: bytes) -> AnchoredCheckpoint:
        """From its JSON text, whoever wrote it. Raises ``Malformed``."""
        try:
            body = strict_json.loads(octets)
        except strict_json.JsonRefused as error:
            raise Malformed("not an anchored checkpoint") from error
        if not isinstance(body, dict) or body.get("format") != FORMAT:
            raise Malformed("not an anchored checkpoint")
        text, tx_hash, block_number = (body.get(name) for name in ("checkpoint", "txHash", "blockNumber"))
        if not isinstance(tx_hash, str | None) or not (block_number is None or type(block_number) is int):
            raise Malformed("the anchored checkpoint names no transaction or block")
        checkpoint = Checkpoint.parse(text if isinstance(text, str) else "")
        return cls(checkpoint, AnchorPath.parse(body.get("anchorDetails")), tx_hash, block_number)
