"""``identity ledger``: the transparency log, checked from outside and from inside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from identity_core.cli.ledger_audit import audit, export
from identity_core.cli.ledger_repair import accept_rollback, repair
from identity_core.cli.ledger_sources import (
    LocalSource,
    LogSource,
    Missing,
    key_option,
    opened,
    opened_checkpoint,
    source_options,
    verifier_key,
)
from identity_core.cli.ledger_verify import verify
from identity_core.cli.ledger_witness import cosigned, witness
from identity_core.cli.output import as_json, fail, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.cli.remote import add_command
from identity_core.codec.multibase import base64url_encode
from identity_core.domain.merkle.proofs import consistency_spans, span_hash
from identity_core.domain.merkle.refusals import Malformed, Refuted
from identity_core.domain.merkle.tiles import needed, node_from, tile_at


@click.group(name="ledger", cls=OpenGroup)
def command() -> None:
    """The transparency log over the ledger: verify, audit, repair, export, witness."""


@command.command(name="checkpoint")
@source_options
@key_option
@click.option("--witness", "witnesses", multiple=True, help="URL of a witness that shall cosign it.")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Keep it, for a later --held.")
@as_json
def checkpoint(
    key_text: str | None, witnesses: Sequence[str], save: Path | None, json_output: bool, **where: Any
) -> None:
    """Fetch the signed checkpoint, verify it, have it cosigned, keep it."""
    with opened(**where) as source:
        trusted = source.key if isinstance(source, LocalSource) and not key_text else verifier_key(key_text)
        note = source.note()
        found = opened_checkpoint(note, trusted, source.place).checkpoint
        try:
            for url in witnesses:
                note = cosigned(url, note, found, lambda old: _grown_from(source, old, found.size))
        except (Refuted, Malformed, Missing) as error:
            fail(str(error), source.place, "compare the checkpoints: whoever signed both has forked the log")
    if save is not None:
        save.write_bytes(note)
    body = {
        "origin": found.origin,
        "treeSize": found.size,
        "rootHash": base64url_encode(found.root),
        "checkpoint": note.decode(),
    }
    show(body, json_output=json_output, text=lambda shown: str(shown["checkpoint"]).removesuffix("\n"))


def _grown_from(source: LogSource, old: int, new: int) -> list[bytes]:
    """The consistency proof, made from tiles."""
    spans = consistency_spans(old, new)
    tiles = {(level, number): source.tile(tile_at(new, level, number)) for level, number in needed(spans)}
    return [span_hash(span, node_from(tiles)) for span in spans]


for one in (verify, audit, repair, export, witness, accept_rollback):
    command.add_command(one)
add_command(
    command,
    "key",
    "getLedgerKey",
    "Show the key that the log's checkpoints are verified with. Compare it with what others were shown.",
    text=lambda body: str(body["verifierKey"]),
    anonymous=True,
)
