"""What somebody kept of a log from earlier: checkpoints, signed or anchored, and a history with the service's own log in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from identity_tlog.note import Checkpoint, VerifierKey
from identity_tlog.tree import Malformed, Refuted

from identity_core.cli.ledger_sources import opened_checkpoint
from identity_core.cli.output import failing
from identity_core.domain.ledger.anchoring import AnchoredCheckpoint
from identity_core.domain.ledger.checkpoint_keys import CheckpointKeys
from identity_core.domain.ledger.history import LoggedHistory


def kept_history(path: Path | None) -> LoggedHistory | None:
    """What --service-history names; ends the command for a file that is none."""
    if path is None:
        return None
    with failing(Malformed, str(path), "give a history that `identity ledger verify --save` wrote"):
        return LoggedHistory.parse(path.read_bytes())


def kept_checkpoints(held: Sequence[Path], anchored: Sequence[Path], keys: CheckpointKeys) -> list[Checkpoint]:
    """What --held and --anchored name; ends the command for one that is not what it says."""
    signed = [opened_checkpoint(path.read_bytes(), keys, str(path)).checkpoint for path in held]
    return signed + [_anchored(path, keys.present) for path in anchored]


def _anchored(path: Path, key: VerifierKey) -> Checkpoint:
    remedy = "fetch it anew from the operator of the log"
    with failing((Malformed, Refuted), str(path), remedy, what="the anchored checkpoint is not valid"):
        found = AnchoredCheckpoint.parse(path.read_bytes())
        found.verify()
        if found.checkpoint.origin != key.name:
            raise Refuted(f"the checkpoint is of another log, {found.checkpoint.origin}")
    transaction = f", transaction {found.tx_hash} in block {found.block_number}"
    click.echo(f"{path}: on {found.path.ledger} there must be the root {found.path.root.hex()}{transaction}", err=True)
    return found.checkpoint
