"""``identity records``: export and erase the records about a DID, on the installation itself or by the holder at a running service."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click
import orjson
from identity_commands.options import opened_part
from identity_commands.remote import RemoteCaller, add_command, did_option
from identity_commands.terminal import agreed

from identity_core.cli.options import of_installation
from identity_core.cli.output import fail, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.domain.activity import OPERATOR, RequestContext
from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidDid
from identity_core.settings import Settings
from identity_operations.kinds import KINDS

if TYPE_CHECKING:
    from identity_operations.erasure import EraseHolder

PAGE = 500
_kind_option = click.option(
    "--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="Kind of records; repeatable.  [default: all]"
)


@click.group(name="records", cls=OpenGroup)
def command() -> None:
    """Export and erase the stored records about a DID: credentials, proofs, timeline, verifications.

    The document and the log of the DID are on the ledger and stay. They contain only keys and endpoints.
    """


@command.command()
@click.argument("did")
@click.option("--output", "-o", type=click.File("wb"), default="-", help="File to write; - is standard output.")
@of_installation
def export(settings: Settings, did: str, output: Any) -> None:
    """Write each record about DID as holder, agent, issuer or verifier, as JSON lines with their `kind`.

    Values of credentials and private keys are sealed and not exported.
    """
    with _open_records(settings, did) as (runner, erase):
        for kind in erase.records.rules:
            after = ""
            while page := runner.run(erase.records.page(kind, did, after=after, limit=PAGE)):
                output.writelines(orjson.dumps({"record": kind, **row}) + b"\n" for _, row in page)
                after = page[-1][0]


@command.command()
@click.argument("did")
@_kind_option
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@of_installation
def erase(settings: Settings, did: str, kinds: tuple[str, ...], yes: bool) -> None:
    """Erase the records about DID as holder. This cannot be undone.

    The place of a credential in the status list stays, and the salted commitment of an anchored proof. The audit
    log records this command.
    """
    if not yes:
        click.confirm(f"Erase {', '.join(kinds) or 'all records'} of {did}?", abort=True, err=True)
    with _open_records(settings, did) as (runner, erase):
        done = runner.run(erase(did, kinds or [*erase.records.rules], RequestContext("eraseRecords", OPERATOR)))
    body = {"did": did, "erased": dict(done.erased), "waiting": done.waiting}
    show(body, text=_text)


def _open_records(settings: Settings, did: str) -> AbstractContextManager[tuple[asyncio.Runner, EraseHolder]]:
    try:
        Did.parse(did)
    except InvalidDid as error:
        fail(str(error), did, "name a DID such as did:ids:Qm…", status=2)
    return opened_part(settings, _erasure)


@contextlib.asynccontextmanager
async def _erasure(settings: Settings) -> AsyncIterator[EraseHolder]:
    """Open the store beside a running service. Raises ``StartError``."""
    from identity_commands.beside import store_beside

    from identity_core.bootstrap.ports import SystemClock
    from identity_core.extension.choice import extensions_on
    from identity_core.use_cases.record import Record
    from identity_operations.erasure import EraseHolder
    from identity_operations.retention import StoredRecords

    async with store_beside(settings) as (plugins, _, store):
        records = StoredRecords(store.database, extensions_on(plugins, store.database).retention_rules())
        yield EraseHolder(records, Record(store.activity), SystemClock())


def _wanted(_: RemoteCaller, kinds: tuple[str, ...], yes: bool, **whose: str | None) -> dict[str, Any]:
    chosen = [*(kinds or KINDS)]
    if not agreed(yes, f"Erase {', '.join(chosen)}?"):
        fail("nothing was erased", "the options", "give --yes if you mean it", status=2)
    return {"kinds": chosen} | {name: value for name, value in whose.items() if value is not None}


def _text(body: dict[str, Any]) -> str:
    lines = [f"{count} {kind} erased" for kind, count in body["erased"].items()]
    if body["waiting"]:
        lines.append(f"{body['waiting']} proofs wait for their anchors; try again later")
    return "\n".join(lines)


add_command(
    command,
    "forget",
    "eraseRecords",
    "Erase the records of a running service about you as holder. It is signed with --keys and cannot be undone.",
    _kind_option,
    did_option("--holder", "holderDid", "DID for which an API key acts.  [default: your own]"),
    click.option("--yes", is_flag=True, help="Skip the confirmation."),
    body=_wanted,
    text=_text,
    whose="the holder",
)
