"""``identity ledger repair`` and the comparison of ``identity ledger audit``: the document index held against the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from identity_core.cli.options import (
    config_option,
    configured,
    data_dir_option,
    database_url_option,
    refuse_absent,
)
from identity_core.cli.output import as_json, show
from identity_core.domain.errors import IdentityError
from identity_core.domain.merkle.audit import Finding
from identity_core.settings import Settings

if TYPE_CHECKING:
    from identity_core.bootstrap import IndexTools

PAGE = 500
SETTLED_SECONDS = 1.0


def compared(settings: Settings, advance: Callable[[], None]) -> tuple[int, list[Finding]]:
    """How many DIDs were compared, and a finding for each that differs."""
    return asyncio.run(_compared(settings, advance))


async def _compared(settings: Settings, advance: Callable[[], None]) -> tuple[int, list[Finding]]:
    from identity_core import bootstrap

    count, suspects, findings = 0, [], []
    async with bootstrap.index_tools(settings) as tools:
        # What a crash left out is no finding.
        await tools.catch_up()
        async for did, differences in tools.audit.whole():
            count += 1
            advance()
            if differences:
                suspects.append(did)
        if suspects:
            # A running service writes the row a moment after the entry.
            await asyncio.sleep(SETTLED_SECONDS)
        for did in suspects:
            if differences := await tools.audit.differences(did):
                findings.append(Finding("index", did, "; ".join(differences)))
    return count, findings


@click.command(name="repair")
@click.argument("dids", nargs=-1, metavar="[DID]...")
@click.option("--all", "every", is_flag=True, help="Every DID that the service withholds.")
@config_option
@data_dir_option
@database_url_option
@as_json
def repair(
    dids: Sequence[str],
    every: bool,
    config: Path | None,
    data_dir: Path | None,
    database_url: str | None,
    json_output: bool,
) -> None:
    """Write the index of DIDs anew from the ledger, where every signature of their logs holds. A service may run meanwhile.

    The index is never believed: keep a copy of the database first if you want to find out who changed it. Exit code 1 when
    one of the DIDs could not be repaired.
    """
    if every == bool(dids):
        raise click.UsageError("name the DIDs, or say --all")
    settings = configured(config, {"data_dir": data_dir, "database_url": database_url})
    refuse_absent(settings, "name the one of the service with --data-dir")
    repaired, failed = asyncio.run(_repaired(settings, dids))
    body = {"repaired": repaired, "failed": failed}
    show(body, json_output=json_output, text=lambda _: _told(repaired, failed))
    if failed:
        raise SystemExit(1)


async def _repaired(settings: Settings, dids: Sequence[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    from identity_core import bootstrap
    from identity_core.ports.repositories import AuditRow

    repaired: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    async with bootstrap.index_tools(settings) as tools:
        for did in dids or await _withheld(tools):
            try:
                versions = await tools.audit.repair(did)
            except IdentityError as error:
                failed.append({"did": did, "code": error.code, "reason": str(error)})
                continue
            repaired.append({"did": did, "versions": versions})
            details = {"versions": versions}
            row = AuditRow(datetime.now(UTC), "-", "repairDid", None, None, did, "done", details)
            await tools.store.audit.write(row, durable=True)
    return repaired, failed


async def _withheld(tools: IndexTools) -> list[str]:
    found: list[str] = []
    while page := await tools.store.quarantine.list(after=found[-1] if found else "", limit=PAGE):
        found += [one.did for one in page]
    return found


def _told(repaired: Sequence[dict[str, Any]], failed: Sequence[dict[str, Any]]) -> str:
    lines = [f"repaired  {one['did']}: {one['versions']} versions from the ledger" for one in repaired]
    lines += [f"not       {one['did']}: {one['reason']}" for one in failed]
    if failed:
        lines.append(
            "do: restore the ledger from a backup that a kept checkpoint agrees with (`identity ledger audit --held`)"
        )
    return "\n".join(lines) or "nothing is withheld"
