"""``identity fsck``: compare everything stored with the data from which it follows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from identity_commands.options import refuse_absent
from identity_commands.terminal import progress
from msgspec import structs

from identity_core.cli.options import of_installation, shown_database
from identity_core.cli.output import Command, fail_start, show
from identity_core.settings import Settings, StartError

if TYPE_CHECKING:
    from identity_operations.examination.fsck import Examined

SHOWN = 40
CANNOT_LOOK = 2


@click.command(name="fsck", cls=Command)
@click.option("--deep", is_flag=True, help="Verify every entry, row, tile and line, and not only the newest.")
@click.option("--repair-index", is_flag=True, help="Rebuild rows of the index and tiles of the log from the ledger.")
@of_installation
def command(settings: Settings, deep: bool, repair_index: bool) -> None:
    """Verify the stored data: files, chains of ledger and audit log, index, tiles, outbox, lists. A service may run
    meanwhile.

    Nothing is changed without --repair-index. Exit code 0: no fault; 1: faults, each with a remedy; 2: the data
    could not be read.
    """
    refuse_absent(settings)
    started = time.monotonic()
    try:
        found = asyncio.run(_examined(settings, deep))
        repaired: dict[str, Any] | None = None
        if repair_index:
            found, repaired = asyncio.run(_repaired(settings, deep, found))
    except StartError as error:
        fail_start(error, shown_database(settings), status=CANNOT_LOOK)
    body = {
        "sound": not found.findings,
        "deep": deep,
        "entries": found.entries,
        "unvouched": found.unvouched,
        "findings": [structs.asdict(one) for one in found.findings],
        "repaired": repaired,
        "seconds": round(time.monotonic() - started, 3),
    }
    show(body, text=_text)
    if found.findings:
        raise SystemExit(1)


async def _examined(settings: Settings, deep: bool) -> Examined:
    from identity_operations.examination.fsck import examine, size_of

    with progress(range(await size_of(settings) if deep else 0), "entries") as bar:
        return await examine(settings, deep=deep, advance=bar.update)


async def _repaired(settings: Settings, deep: bool, found: Examined) -> tuple[Examined, dict[str, Any]]:
    from identity_operations.examination.fsck import repair_index

    done = await repair_index(settings, found.findings)
    failed = [{"did": did, "reason": reason} for did, reason in done.failed]
    return await _examined(settings, deep), {"dids": list(done.dids), "failed": failed, "tree": done.tree}


def _text(body: dict[str, Any]) -> str:
    look = "" if body["deep"] else ", the newest of them (--deep: all)"
    lines = [f"{body['entries']} ledger entries{look}, {body['seconds']} s"]
    if body["unvouched"] is None:
        lines.append("no checkpoint is remembered: that the log is the one that was signed, nothing here tells")
    if body["repaired"] is not None:
        lines += _repairs(body["repaired"])
    lines.append(f"{len(body['findings'])} findings" if body["findings"] else "sound")
    for one in body["findings"][:SHOWN]:
        lines += [f"{one['kind']:<8} {one['where']}: {one['says']}", f"         do: {one['remedy']}"]
    more = len(body["findings"]) - SHOWN
    return "\n".join([*lines, *([f"… and {more} more (--json shows all)"] if more > 0 else [])])


def _repairs(repaired: dict[str, Any]) -> Sequence[str]:
    lines = [f"repaired {did}" for did in repaired["dids"]]
    lines += [f"not      {one['did']}: {one['reason']}" for one in repaired["failed"]]
    return [*lines, *(["repaired the tree of the log"] if repaired["tree"] else [])]
