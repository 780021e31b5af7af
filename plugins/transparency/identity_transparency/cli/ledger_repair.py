"""Audit of the document index against the ledger (``identity ledger audit``), and its repairs.

``identity ledger repair`` writes the index anew. ``identity ledger accept-rollback`` continues from a backup that was restored on
purpose, and reports the loss.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any

import click
from identity_commands.options import refuse_absent
from identity_commands.terminal import agreed
from msgspec import structs

from identity_core.cli.options import of_installation
from identity_core.cli.output import Command, fail, show
from identity_core.errors import IdentityError
from identity_core.settings import Settings
from identity_transparency.domain.audit import LogFault

if TYPE_CHECKING:
    from identity_core.use_cases.dids.index_audit import IndexAudit
    from identity_transparency.opening import IndexTools
    from identity_transparency.use_cases.rollback import Rollback

PAGE = 500
SETTLED_SECONDS = 1.0


def compared(settings: Settings, advance: Callable[[], None]) -> tuple[int, list[LogFault]]:
    """Return how many DIDs were compared, and a finding for each that differs."""
    return asyncio.run(_compared(settings, advance))


async def _compared(settings: Settings, advance: Callable[[], None]) -> tuple[int, list[LogFault]]:
    from identity_transparency.opening import index_tools

    count, suspects, findings = 0, [], []
    async with index_tools(settings) as tools:
        # What a crash left out is no finding.
        await tools.catch_up()
        async for did, differences in _differences(tools.audit):
            count += 1
            advance()
            if differences:
                suspects.append(did)
        if suspects:
            # A running service writes the row a moment after the entry.
            await asyncio.sleep(SETTLED_SECONDS)
        for did in suspects:
            if differences := await tools.audit.differences(did):
                findings.append(LogFault("index", did, "; ".join(differences)))
    return count, findings


async def _differences(audit: IndexAudit) -> AsyncIterator[tuple[str, Sequence[str]]]:
    """Yield every DID of ledger and index with its differences."""
    after = 0
    while lines := await audit.ledger.entries_after(after, PAGE):
        for line in lines:
            if line.version == 1:
                yield line.did, await audit.differences(line.did)
        after = lines[-1].receipt.sequence
    last = ""
    while names := await audit.rows.dids(after=last, limit=PAGE):
        for name in names:
            entries = await audit.ledger.entries(name)
            if not entries or entries[0].version != 1:
                yield name, await audit.differences(name)
        last = names[-1]


@click.command(name="repair", cls=Command)
@click.argument("dids", nargs=-1, metavar="[DID]...")
@click.option("--all", "every", is_flag=True, help="Repair every DID that the service withholds.")
@of_installation
def repair(settings: Settings, dids: Sequence[str], every: bool) -> None:
    """Rebuild the index of DIDs from the ledger where every signature of their logs is valid. A service may run
    meanwhile.

    The index is not trusted. Copy the database first if you want to find out who changed it. The exit code is 1 if
    a DID could not be repaired.
    """
    if every == bool(dids):
        raise click.UsageError("name the DIDs, or say --all")
    refuse_absent(settings)
    repaired, failed = asyncio.run(_repaired(settings, dids))
    show({"repaired": repaired, "failed": failed}, text=lambda _: _text(repaired, failed))
    if failed:
        raise SystemExit(1)


async def _repaired(settings: Settings, dids: Sequence[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    from identity_transparency.opening import index_tools

    repaired: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    async with index_tools(settings) as tools:
        for did in dids or await _withheld(tools):
            try:
                versions = await tools.audit.repair(did)
            except IdentityError as error:
                failed.append({"did": did, "code": error.code, "reason": str(error)})
                continue
            repaired.append({"did": did, "versions": versions})
    return repaired, failed


async def _withheld(tools: IndexTools) -> list[str]:
    found: list[str] = []
    while page := await tools.store.quarantine.list(after=found[-1] if found else "", limit=PAGE):
        found += [one.did for one in page]
    return found


def _text(repaired: Sequence[dict[str, Any]], failed: Sequence[dict[str, Any]]) -> str:
    lines = [f"repaired  {one['did']}: {one['versions']} versions from the ledger" for one in repaired]
    lines += [f"not       {one['did']}: {one['reason']}" for one in failed]
    if failed:
        remedy = "restore the ledger from a backup that a kept checkpoint agrees with (`identity ledger audit --held`)"
        lines.append(f"do: {remedy}")
    return "\n".join(lines) or "nothing is withheld"


@click.command(name="accept-rollback", cls=Command)
@of_installation
@click.option("--yes", is_flag=True, help="Accept the loss without a confirmation.")
@click.option("--new-origin", metavar="NAME", help="Name under which the log continues.")
def accept_rollback(settings: Settings, yes: bool, new_origin: str | None) -> None:
    """Accept databases that are older than they were. Stop the service first.

    Changes after the backup are lost, and the command reports their number. DIDs have their earlier state. Revoked
    keys, credentials and delegations are valid again, and used tokens can be used again.

    Readers with a later checkpoint see a fork, unless the log continues under another name (--new-origin). If the
    restore was given a later checkpoint, another name is required.
    """
    refuse_absent(settings)
    from identity_transparency.guard import accept_rollback as accept
    from identity_transparency.read_only import pending_steps

    if pending := asyncio.run(pending_steps(settings)):
        # To open them would bring them up, and then the earlier version could not read them.
        remedy = "run `identity ledger accept-rollback` of that version; `identity upgrade apply` brings them up"
        fail("the databases are of an earlier version", "; ".join(pending), remedy)

    def accepted(found: Rollback) -> bool:
        click.echo(_lost(found), err=True)
        if not agreed(yes, "Go on from what is there?"):
            fail("nothing was changed", str(settings.data_dir), "say --yes to go on from the databases as they are")
        return True

    found = asyncio.run(accept(settings, accepted, new_origin=new_origin))
    body = {"accepted": True, **structs.asdict(found)}
    show(body, text=lambda _: "Accepted: the checkpoint of now is the one that is remembered.")


def _lost(found: Rollback) -> str:
    if not found.reason:
        return "The databases are those that are remembered; nothing is lost."
    entries, lines = found.known_entries - found.entries, found.known_audit_lines - found.audit_lines
    return (
        f"{found.reason}\n"
        f"Lost: {entries} ledger entries (there are {found.entries}), {lines} lines of the audit log (there are {found.audit_lines}),"
        " and whatever else was written since."
    )
