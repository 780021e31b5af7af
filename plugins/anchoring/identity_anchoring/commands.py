"""The commands ``identity anchor``: run the anchoring worker alone, show its work, and repeat parts of it."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from identity_commands.options import opened_part
from msgspec import Struct, structs

from identity_codec.times import printed
from identity_core.cli.options import FILE, Whole, of_installation
from identity_core.cli.output import fail, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.settings import Settings

if TYPE_CHECKING:
    from identity_anchoring.outbox import StoredOutbox
    from identity_anchoring.worker import AnchorWorker

T = TypeVar("T")


@click.group(name="anchor", cls=OpenGroup)
def command() -> None:
    """Write commitments to proofs to the ledger, in addition to or in place of the server's own worker."""


class AnchorAdministration(Struct, frozen=True):
    """The outbox and its worker, None if the ledger records no digests, without a server around them."""

    outbox: StoredOutbox
    worker: AnchorWorker | None

    @property
    def ledger_name(self) -> str:
        """Return the name of the ledger; empty for one that cannot anchor."""
        return "" if self.worker is None else self.worker.seal.ledger_name


@contextlib.asynccontextmanager
async def anchor_administration(settings: Settings) -> AsyncIterator[AnchorAdministration]:
    """Open both beside a running service. Raises ``StartError``."""
    from identity_transparency.opening import log_beside

    from identity_anchoring.extension import anchor_worker
    from identity_anchoring.outbox import StoredOutbox
    from identity_core.bootstrap import SystemClock
    from identity_core.use_cases.record import Record

    async with log_beside(settings) as (log, store):
        outbox = StoredOutbox(store.database, secrets.token_bytes)
        worker = anchor_worker(settings, log, outbox, Record(store.activity), SystemClock())
        yield AnchorAdministration(outbox, worker)


def with_anchoring(settings: Settings, job: Callable[[AnchorAdministration], Coroutine[Any, Any, T]]) -> T:
    """Run ``job`` on the outbox of the installation."""
    with opened_part(settings, anchor_administration) as (runner, anchoring):
        return runner.run(job(anchoring))


@command.command()
@of_installation
def worker(settings: Settings) -> None:
    """Anchor proofs until SIGTERM or Ctrl-C. Several workers may run: one holds the lease, and another takes over when
    it ends.

    Set anchoring.worker = false for servers that must not anchor themselves.
    """

    async def work(anchoring: AnchorAdministration) -> None:
        if anchoring.worker is None:
            what = f"the ledger {settings.ledger.backend} cannot anchor"
            fail(what, "ledger.backend", "choose one that can", status=2)
        ended = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
        anchoring.worker.begin()
        show({"ledger": anchoring.ledger_name}, text="anchoring on {ledger}")
        try:
            await ended.wait()
        finally:
            await anchoring.worker.close()

    with_anchoring(settings, work)


@command.command()
@of_installation
def status(settings: Settings) -> None:
    """Show the queued batches and the reason for each delay. The exit code is 1 if a batch needs an operator's action."""

    async def look(anchoring: AnchorAdministration) -> dict[str, Any]:
        name = anchoring.ledger_name
        work = await anchoring.outbox.work(name)
        oldest = None if work.oldest is None else printed(work.oldest)
        return {"ledger": name or None, **structs.asdict(work), "oldest": oldest}

    body = with_anchoring(settings, look)
    show(body, text=_text)
    if body["trouble"]:
        raise click.exceptions.Exit(1)


@command.command()
@of_installation
def retry(settings: Settings) -> None:
    """Queue every failed anchor again, in new batches."""
    count = with_anchoring(settings, lambda anchoring: anchoring.outbox.retry(datetime.now(UTC)))
    show({"queued": count}, text="{queued} queued again")


@command.command()
@click.option("--limit", type=Whole(1, 1_000_000), default=10_000, help="Maximum number of proofs to queue.")
@of_installation
def backfill(settings: Settings, limit: int) -> None:
    """Queue imported proofs from before anchoring existed (`pre-phase7`), the oldest first."""
    count = with_anchoring(settings, lambda anchoring: anchoring.outbox.backfill(datetime.now(UTC), limit))
    show({"queued": count}, text="{queued} queued")


@command.command()
@click.option("--save", type=FILE, help="Write the checkpoint to this file, for --anchored of `identity ledger`.")
@of_installation
def checkpoint(settings: Settings, save: Path | None) -> None:
    """Show the newest anchored checkpoint of the log, with its path to the root on the ledger.

    Publish it: `identity ledger verify` and `identity ledger audit` compare the log with it (--anchored).
    """
    found = with_anchoring(settings, lambda anchoring: anchoring.outbox.anchored_checkpoint(anchoring.ledger_name))
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
