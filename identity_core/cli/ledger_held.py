"""Checkpoints that somebody kept from earlier, to hold a log to: signed by it, or anchored on a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from identity_core.cli.ledger_sources import opened_checkpoint
from identity_core.cli.output import fail
from identity_core.domain.anchored_checkpoint import AnchoredCheckpoint
from identity_core.domain.merkle.checkpoint import Checkpoint
from identity_core.domain.merkle.note import VerifierKey
from identity_core.domain.merkle.refusals import Malformed, Refuted

held_option = click.option(
    "--held",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="A checkpoint that you kept from earlier; the log must have grown from it.",
)
anchored_option = click.option(
    "--anchored",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="The same of a checkpoint that is anchored, as `identity anchor checkpoint` gives it; look for its root yourself.",
)


def kept_checkpoints(held: Sequence[Path], anchored: Sequence[Path], key: VerifierKey) -> list[Checkpoint]:
    """What --held and --anchored name; ends the command for one that is not what it says."""
    signed = [opened_checkpoint(path.read_bytes(), key, str(path)).checkpoint for path in held]
    return signed + [_anchored(path, key) for path in anchored]


def _anchored(path: Path, key: VerifierKey) -> Checkpoint:
    try:
        found = AnchoredCheckpoint.parse(path.read_bytes())
        found.verify()
        if found.checkpoint.origin != key.name:
            raise Refuted(f"the checkpoint is of another log, {found.checkpoint.origin}")
    except (Malformed, Refuted) as error:
        fail(f"the anchored checkpoint is not valid: {error}", str(path), "fetch it anew from whoever runs the log")
    transaction = f", transaction {found.tx_hash} in block {found.block_number}"
    click.echo(f"{path}: on {found.path.ledger} there must be the root {found.path.root.hex()}{transaction}", err=True)
    return found.checkpoint
