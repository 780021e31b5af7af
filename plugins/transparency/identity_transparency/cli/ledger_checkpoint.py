"""``identity ledger checkpoint``: the signed checkpoint of a log, verified, cosigned by witnesses and kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import httpx

from identity_codec.multibase import base64url_encode
from identity_core.cli.options import FILE
from identity_core.cli.output import Command, failing, show
from identity_tlog.note import Checkpoint, Note
from identity_tlog.proofs import consistency_spans, span_hash
from identity_tlog.tiles import needed, node_from, tile_at
from identity_tlog.tree import Malformed, Refuted
from identity_tlog.witness import Stale, Submission
from identity_transparency.cli.sources import (
    LocalSource,
    LogSource,
    Missing,
    key_option,
    open_source,
    service_did_option,
    service_history_option,
    source_options,
)
from identity_transparency.cli.trust import (
    kept_history,
    opened_checkpoint,
    require_service_log_option,
    trusted_log,
    unchecked,
    unchecked_text,
)
from identity_transparency.http_witness import HttpWitness
from identity_transparency.use_cases.feed import WitnessFailed


def cosigned(url: str, note: bytes, checkpoint: Checkpoint, prove: Callable[[int], list[bytes]]) -> bytes:
    """Return the note with the cosignature of the witness at ``url``; ``prove(old)`` makes the consistency proof from that size.

    Ends the command if the witness does not answer with a cosignature. Raises ``Refuted``: when it has seen another log.
    """
    with failing((WitnessFailed, Malformed), url, "start it, or name another witness", what="the witness"):
        whole = note + asyncio.run(_cosign(url, note, checkpoint, prove))
        if Note.parse(whole).text != checkpoint.text or Note.parse(whole).signatures == Note.parse(note).signatures:
            raise WitnessFailed("it answers without a cosignature")
    return whole


async def _cosign(url: str, note: bytes, checkpoint: Checkpoint, prove: Callable[[int], list[bytes]]) -> bytes:
    old = 0
    async with httpx.AsyncClient(trust_env=False) as http:
        for _ in range(3):
            try:
                return await HttpWitness(http, url).add_checkpoint(Submission(old, tuple(prove(old)), note).encode())
            except Stale as error:
                old = error.size
            if old > checkpoint.size:
                raise Refuted(f"the witness has seen {old} entries, the log shows {checkpoint.size}: it was cut")
    raise Refuted("the log grows faster than the witness cosigns; try again")


@click.command(name="checkpoint", cls=Command)
@source_options
@key_option
@click.option("--witness", "witnesses", multiple=True, help="URL of a witness that must cosign; repeatable.")
@click.option("--save", type=FILE, help="File to write, for a later --held.")
@service_did_option
@service_history_option
@require_service_log_option
def checkpoint(
    key_text: str | None,
    witnesses: Sequence[str],
    save: Path | None,
    service_did: str | None,
    service_history: Path | None,
    needs_service_log: bool,
    **where: Any,
) -> None:
    """Fetch and verify the signed checkpoint; optionally have it cosigned and store it."""
    with open_source(**where) as source:
        note = source.note()
        log = trusted_log(source, note, key_text, service_did, kept_history(service_history))
        found = opened_checkpoint(note, log, source.place).checkpoint
        missing = unchecked(service_did is not None or isinstance(source, LocalSource), needs_service_log, source.place)
        # The keys of the witnesses are not known here.
        missing += ["cosignatures"] * bool(witnesses)
        remedy = "compare the checkpoints: the signer of both has forked the log"
        with failing((Refuted, Malformed, Missing), source.place, remedy):
            for url in witnesses:
                note = cosigned(url, note, found, lambda old: _grown_from(source, old, found.size))
    if save is not None:
        save.write_bytes(note)
    root = base64url_encode(found.root)
    body = {"origin": found.origin, "treeSize": found.size, "rootHash": root, "checkpoint": note.decode()}
    show(body | {"unchecked": missing}, text=lambda shown: str(shown["checkpoint"]).removesuffix("\n"))
    # On stdout there is the note alone, so that a redirected one stays readable.
    click.echo(unchecked_text({"unchecked": missing}).lstrip(), err=True, nl=bool(missing))


def _grown_from(source: LogSource, old: int, new: int) -> list[bytes]:
    """Return the consistency proof, made from tiles."""
    spans = consistency_spans(old, new)
    tiles = {(level, number): source.tile(tile_at(new, level, number)) for level, number in needed(spans)}
    return [span_hash(span, node_from(tiles)) for span in spans]
