"""getLedgerCheckpoint and getLedgerKey: the log's signature over its tree, and the key to check it with."""

from __future__ import annotations

from dataclasses import dataclass, field

from identity_core.codec import multikey
from identity_core.domain.merkle.checkpoint import Checkpoint, sign_checkpoint
from identity_core.domain.merkle.note import VerifierKey
from identity_core.domain.merkle.tree import Frontier
from identity_core.ports.custodian import Custodian
from identity_core.use_cases.ledger.project import LedgerFollower

CHECKPOINT_KEY = "checkpoint"


@dataclass(slots=True)
class CheckpointSigner:
    """Signs the tree as it is. ``key`` names the log and holds its public key; each tree is signed once in a process."""

    custodian: Custodian
    key: VerifierKey
    _last: tuple[Frontier, bytes] | None = field(default=None)

    @classmethod
    async def open(cls, custodian: Custodian, origin: str) -> CheckpointSigner:
        """With the custodian's key of this name, made at the first start. Raises ``Malformed`` for a bad origin."""
        public = await custodian.generate(CHECKPOINT_KEY, multikey.ED25519, did="-", purpose=CHECKPOINT_KEY)
        return cls(custodian, VerifierKey(origin, multikey.decode_public(public)[1]))

    async def signed(self, frontier: Frontier) -> bytes:
        """The signed note over the tree."""
        if self._last is not None and self._last[0] == frontier:
            return self._last[1]
        checkpoint = Checkpoint(self.key.name, frontier.size, frontier.root)
        signature = await self.custodian.sign(CHECKPOINT_KEY, checkpoint.text.encode())
        note = sign_checkpoint(checkpoint, self.key, signature)
        self._last = (frontier, note)
        return note


@dataclass(frozen=True, slots=True)
class GetLedgerCheckpoint:
    """The signed checkpoint over everything that the ledger holds now."""

    follower: LedgerFollower
    signer: CheckpointSigner

    async def __call__(self) -> bytes:
        return await self.signer.signed(await self.follower.now())
