"""``identity anchor``: the worker of anchoring alone, what it has to do, and what an operator may have it do again."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from identity_codec.times import printed
from identity_core.cli.options import FILE, Whole, of_installation, opened_part, refuse_absent
from identity_core.cli.output import fail, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.settings import Settings

if TYPE_CHECKING:
    from identity_core.bootstrap import AnchorAdministration

T = TypeVar("T")


@click.group(name="anchor", cls=OpenGroup)
def command() -> None:
    """Put commitments to proofs on the ledger, beside or instead of the server's own worker."""


def with_anchoring(settings: Settings, job: Callable[[AnchorAdministration], Coroutine[Any, Any, T]]) -> T:
    """Runs ``job`` on the outbox of the installation."""
    from identity_core import bootstrap

    refuse_absent(settings, "name the one of the service with --data-dir; `identity serve` makes it")
    with opened_part(bootstrap.anchor_administration(settings)) as (runner, anchoring):
        return runner.run(job(anchoring))


def _ledger_name(anchoring: AnchorAdministration) -> str:
    """Empty for a ledger that cannot anchor."""
    return "" if anchoring.worker is None else anchoring.worker.seal.ledger_name


@command.command()
@of_installation
def worker(settings: Settings) -> None:
    """Work until SIGTERM or Ctrl-C. Any number may run: one at a time holds the lease, the others take over when it is gone.

    Set anchoring.worker = false for servers that are not to do it themselves.
    """

    async def work(anchoring: AnchorAdministration) -> None:
        if anchoring.worker is None:
            what = f"the ledger {settings.ledger.backend} cannot anchor"
            fail(what, "ledger.backend", "choose one that can", status=2)
        ended = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
        anchoring.worker.begin()
        show({"ledger": _ledger_name(anchoring)}, text="anchoring on {ledger}")
        try:
            await ended.wait()
        finally:
            await anchoring.worker.close()

    with_anchoring(settings, work)


@command.command()
@of_installation
def status(settings: Settings) -> None:
    """Show what waits, and why. Ends with 1 when a batch waits for something that a person has to do."""

    async def look(anchoring: AnchorAdministration) -> dict[str, Any]:
        name = _ledger_name(anchoring)
        work = await anchoring.store.outbox.work(name)
        oldest = None if work.oldest is None else printed(work.oldest)
        return {"ledger": name or None, **asdict(work), "oldest": oldest}

    body = with_anchoring(settings, look)
    show(body, text=_text)
    if body["trouble"]:
        raise click.exceptions.Exit(1)


@command.command()
@of_installation
def retry(settings: Settings) -> None:
    """Queue every anchor that failed again, in new batches."""
    count = with_anchoring(settings, lambda anchoring: anchoring.store.outbox.retry(datetime.now(UTC)))
    show({"queued": count}, text="{queued} queued again")


@command.command()
@click.option("--limit", type=Whole(1, 1_000_000), default=10_000, help="The most proofs to queue.")
@of_installation
def backfill(settings: Settings, limit: int) -> None:
    """Queue imported proofs from before anchoring existed (`pre-phase7`), the oldest first."""
    count = with_anchoring(settings, lambda anchoring: anchoring.store.outbox.backfill(datetime.now(UTC), limit))
    show({"queued": count}, text="{queued} queued")


@command.command()
@click.option("--save", type=FILE, help="Keep it, for --anchored of `identity ledger`.")
@of_installation
def checkpoint(settings: Settings, save: Path | None) -> None:
    """Show the newest checkpoint of the ledger's log that is anchored, with its path to the root that the ledger has.

    Publish it: `identity ledger verify` and `audit` hold the log to it with --anchored.
    """
    found = with_anchoring(
        settings, lambda anchoring: anchoring.store.outbox.anchored_checkpoint(_ledger_name(anchoring))
    )
    if found is None:
        remedy = "one goes along with every batch of proofs; anchor one"
        fail("no checkpoint is anchored", str(settings.data_dir), remedy)
    if save is not None:
        save.write_bytes(found.encode())
    lines = (
        f"log          {found.checkpoint.origin}",
        f"entries      {found.checkpoint.size}",
        f"ledger       {found.path.ledger}",
        f"root         {found.path.root.hex()}",
        f"block        {found.block_number}",
        f"transaction  {found.tx_hash}",
    )
    show(found.json, text=lambda _: "\n".join(lines))


def _text(body: dict[str, Any]) -> str:
    lines = [
        f"ledger     {body['ledger'] or 'none that anchors'}",
        f"waiting    {body['waiting']} proofs" + (f", the oldest since {body['oldest']}" if body["oldest"] else ""),
        f"undecided  {body['undecided']} batches",
        f"revoking   {body['revoking']} anchors",
    ]
    if body["trouble"]:
        lines.append(f"trouble    {body['trouble']}")
    return "\n".join(lines)
