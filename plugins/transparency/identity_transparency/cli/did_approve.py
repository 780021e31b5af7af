"""The commands ``identity did log approve`` and ``identity did log publish``.

With the first, a witness of did:webvh 1.0 approves the newest version of a log in its did-witness.json. With the second, the
service that publishes the log adds the approvals.

The witness stores its last approval in ``approved.json`` of its folder, durably before the approval is shown. So it approves only
one of two logs that diverged.
"""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import click
from identity_commands.json_input import input_argument, name_of
from identity_commands.options import FILE_THERE, opened_part
from identity_commands.remote import add_command, session, url_option
from identity_commands.terminal import on_one_line
from identity_did_webvh import approvals as witness
from identity_did_webvh import log as webvh

from identity_codec import ed25519, multikey, times
from identity_core.cli.options import of_installation
from identity_core.cli.output import Command, fail, prints_json, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.database.files import FileLock
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import IdentityError
from identity_core.files import durable_draft
from identity_core.settings import Settings
from identity_transparency.cli.ledger_cosigner import own_seed

STATE: Final = "approved.json"


@click.command(name="approve", cls=Command)
@input_argument
@click.option(
    "--folder", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of key and state."
)
@click.option("--witness-file", type=FILE_THERE, help="File did-witness.json with the earlier approvals.")
@click.option("--send", is_flag=True, help="Send the approval to the service, which publishes it.")
@url_option
def approve(file: Any, folder: Path, witness_file: Path | None, send: bool, url: str) -> None:
    """Verify the did:webvh log in FILE and print its did-witness.json with this witness's approval of the newest
    version.

    Publish the approval before the log, or use --send. The log must name the witness and contain what the witness
    approved before.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Of two at once the second sees what the first has approved.
    with contextlib.closing(FileLock(folder / "approved.lock")) as lock:
        lock.acquire()
        did, made, own = _approve_newest(file, folder, None if witness_file is None else witness_file.read_bytes())
    if send:
        # What was approved and not received is approved again, and the service has it once.
        with session(url) as opened:
            answer = opened.call("POST", f"/dids/{quote(str(did), safe='')}/approvals", body=own)
        show(answer if prints_json() else on_one_line(answer), text=approvals_text)
    elif prints_json():
        show(json.loads(made))
    else:
        click.echo(made, nl=False)


def approvals_text(found: dict[str, Any]) -> str:
    """Return the text about the published part of a log and the versions that wait for approvals."""
    lines = [f"{found['did']}\npublished as far as version {found['publishedVersions']} of {found['versions']}"]
    for one in found["waiting"]:
        lines.append(f"{one['versionId']} waits: {len(one['approvedBy'])} of {one['threshold']} have approved")
        lines += [f"  not yet {name}" for name in one["witnesses"] if name not in one["approvedBy"]]
    return "\n".join(lines)


def _approve_newest(file: Any, folder: Path, witness_file: bytes | None) -> tuple[Did, bytes, dict[str, Any]]:
    """Approve the newest version, and return the DID, its new did-witness.json, and this approval alone as a request sends it. The approval
    is stored when this returns."""
    pair, now = ed25519.generate(own_seed(folder / "did-witness.key")), datetime.now(UTC)
    key = multikey.encode_public(multikey.ED25519, pair.public)
    click.echo(f"witness did:key:{key}", err=True)
    try:
        lines = file.read().removesuffix(b"\n").split(b"\n")
        states = webvh.verify_entries(lines, now=now, witness_file=None, approved=False)
        head, before = states[-1], _approved(folder / STATE)
        # A witness that was replaced still approves of the entry that replaces it, and maybe others stand behind that by now.
        if not any(one.witnesses is not None and key in one.witnesses.keys for one in states):
            raise LogInvalid("The log does not name this witness.")
        if before.get(head.scid, head.version_id) not in [one.version_id for one in states]:
            raise LogInvalid("The log does not have the version that was approved before: it was cut, or it forked.")
        at = times.printed(now)
        made = witness.approve(witness_file, head.version_id, pair, at)
        (own,) = json.loads(witness.approve(None, head.version_id, pair, at))
    except LogInvalid as error:
        fail(f"nothing is approved: {error}", f"{name_of(file)}, {json.dumps(error.details)}", "look at this log")
    with durable_draft(folder / STATE, json.dumps(before | {head.scid: head.version_id}).encode()) as draft:
        draft.replace(folder / STATE)
    return head.did, made, own | {"proof": own["proof"][0]}


def _approved(path: Path) -> dict[str, str]:
    """Return the version approved last, by the SCID of its log."""
    try:
        read = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise LogInvalid(f"The state of the witness cannot be read: {path}.") from error
    if type(read) is not dict:
        raise LogInvalid(f"The state of the witness cannot be read: {path}.")
    return read


@click.command(name="publish", cls=Command)
@click.argument("did")
@input_argument
@of_installation
def publish(settings: Settings, did: str, file: Any) -> None:
    """Publish the approvals in FILE (did-witness.json) of a did:webvh log with witnesses. The service may run
    meanwhile.

    They are added to the published approvals. The log is served up to the last version that enough witnesses
    approved.
    """
    from identity_transparency.extension import approvals_to_publish

    try:
        with opened_part(settings, approvals_to_publish) as (runner, approvals):
            published = runner.run(approvals.publish(Did.parse(did), file.read()))
    except LogInvalid as error:
        remedy = "give the did-witness.json that `identity did log approve` has made"
        fail(f"nothing is published: {error}", f"{name_of(file)}, {json.dumps(error.details)}", remedy)
    except IdentityError as error:
        says = f"nothing is published: {error.code}: {error}"
        fail(
            says,
            f"{name_of(file)}, {json.dumps(error.details)}",
            "have the log approved anew, as `identity did log get` shows it",
        )
    body = {"did": did, "approvedVersions": published.versions, "witnessFile": json.loads(published.encoded)}
    show(body, text="{did}\npublished as far as version {approvedVersions}".format_map)


_log = OpenGroup(name="log")
add_command(
    _log,
    "approvals",
    "getDidApprovals",
    "Show the last published version of a did:webvh log, and the witnesses for which newer ones wait.",
    click.argument("did"),
    text=approvals_text,
    anonymous=True,
)
approvals = _log.commands["approvals"]
