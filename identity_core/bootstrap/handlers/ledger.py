"""The transparency log over the ledger."""

from __future__ import annotations

from identity_core.api.ledger import LedgerHandlers
from identity_core.bootstrap.choices import shows_deactivated
from identity_core.bootstrap.opened import Opened
from identity_core.use_cases.ledger.checkpoints import GetLedgerCheckpoint
from identity_core.use_cases.ledger.entries import GetLedgerBlock, GetLedgerTransaction
from identity_core.use_cases.ledger.get_tile import GetLedgerTile
from identity_core.use_cases.ledger.prove import ProveConsistency, ProveInclusion


def ledger_handlers(opened: Opened) -> LedgerHandlers:
    """The handlers of the tag ``ledger``."""
    desk = opened.logged
    ledger, tree, follower, signer = desk.ledger, desk.tree, desk.follower, desk.signer
    transaction = GetLedgerTransaction(ledger, tree, follower)
    return LedgerHandlers(
        key=signer.key,
        transaction=transaction,
        block=GetLedgerBlock(ledger),
        checkpoint=GetLedgerCheckpoint(follower, signer),
        tile=GetLedgerTile(ledger, tree, follower, shows_deactivated(opened.settings)),
        inclusion=ProveInclusion(tree, follower, signer, transaction),
        consistency=ProveConsistency(tree, follower),
    )
