"""The transparency log over the ledger."""

from __future__ import annotations

from identity_core.api.ledger import LedgerHandlers
from identity_core.bootstrap.choices import shows_deactivated
from identity_core.bootstrap.runtime import Runtime
from identity_core.use_cases.ledger.checkpoints import GetLedgerCheckpoint
from identity_core.use_cases.ledger.entries import GetLedgerBlock, GetLedgerTransaction
from identity_core.use_cases.ledger.get_tile import GetLedgerTile
from identity_core.use_cases.ledger.prove import GetLedgerConsistencyProof, GetLedgerInclusionProof


def ledger_handlers(opened: Runtime) -> LedgerHandlers:
    """The handlers of the tag ``ledger``."""
    log = opened.logged
    ledger, tree, follower, signer = log.ledger, log.tree, log.follower, log.signer
    transaction = GetLedgerTransaction(ledger, tree, follower)
    return LedgerHandlers(
        key=signer.key,
        transaction=transaction,
        block=GetLedgerBlock(ledger),
        checkpoint=GetLedgerCheckpoint(follower, signer),
        tile=GetLedgerTile(ledger, tree, follower, shows_deactivated(opened.settings)),
        inclusion=GetLedgerInclusionProof(tree, follower, signer, transaction),
        consistency=GetLedgerConsistencyProof(tree, follower),
    )
