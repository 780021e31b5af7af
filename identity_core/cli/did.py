"""``identity did``: the lifecycle against a running service, and the log of a DID, fetched or checked without a service. What has to do
with the keys file stands in ``wallet``."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import orjson

from identity_core.cli.did_create import create
from identity_core.cli.did_update import possession, update, version
from identity_core.cli.options import counted
from identity_core.cli.output import as_json, fail, prints_json, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.cli.remote import add_command, keys_option, more, page_options, session, settled, url_option
from identity_core.cli.wallet import AUTHENTICATION, RECOVERY, Wallet, make_key
from identity_core.client.possession import proof_of_possession
from identity_core.codec.multikey import BLS12381G2


@click.group(name="did", cls=OpenGroup)
def command() -> None:
    """Create, resolve, update, rotate, recover and deactivate DIDs; read and check their logs."""


command.add_command(create)
command.add_command(update)
command.add_command(possession)


@command.command()
@keys_option
@url_option
@click.option("--old-key", metavar="KEY_ID", help="Key to replace; the authentication key of the file by default.")
@click.option("--key-type", help="Type of the new key; that of the old one by default.")
@click.option("--purpose", multiple=True, help="Relationships of the new key; those of the old one by default.")
@click.option(
    "--grace-hours", type=click.FloatRange(0), default=0, show_default=True, help="How long the old key stays valid."
)
@as_json
def rotate(
    wallet: Path, url: str, old_key: str | None, key_type: str | None, purpose: tuple[str, ...], grace_hours: float
) -> None:
    """Replace a key. The new one is made here; its private half goes into the keys file and nowhere else."""
    with settled(wallet, url) as (opened, holder):
        did = holder.named_did()
        signer = holder.signer()
        old = holder.keys[AUTHENTICATION]["keyId"] if old_key is None else old_key
        old = did + old if old.startswith("#") else old
        kind = key_type or _type_of(holder, old)
        fresh = make_key(kind, did)
        body: dict[str, Any] = {"oldKeyId": old, "newKeyType": kind, "newPublicKeyMultibase": fresh["publicKey"]}
        if fresh["type"] == BLS12381G2:
            body["proofOfPossession"] = proof_of_possession(did, fresh["privateKey"])
        if purpose:
            body["purpose"] = list(purpose)
        if grace_hours:
            end = datetime.now(UTC) + timedelta(hours=grace_hours)
            body["revokeOldAfter"] = end.strftime("%Y-%m-%dT%H:%M:%SZ")
        with holder.sending("rotate", {"new": fresh}, oldKeyId=old):
            answer = opened.rotate(did, body, signer)
    show(answer, text=lambda body: f"new key {body['newKey']['keyId']}\nold key valid until {body['gracePeriodEnd']}")


def _type_of(holder: Wallet, key_id: str) -> str:
    where = holder.find(key_id)
    if where is None:
        fail("the keys file does not hold this key", key_id, "say which type the new key has with --key-type")
    purpose, place = where
    key = holder.keys[purpose] if place is None else holder.keys[purpose][place]
    kind: str = key.get("type", "Ed25519")
    return kind


@command.command()
@keys_option
@url_option
@click.option("--revoke-all/--keep-keys", default=True, show_default=True, help="Drop every existing key.")
@as_json
def recover(wallet: Path, url: str, revoke_all: bool) -> None:
    """Take the DID back with its recovery key. A new authentication key and the next recovery key are made here and written
    to the keys file."""
    with settled(wallet, url) as (opened, holder):
        did = holder.named_did()
        signer = holder.signer(RECOVERY)
        fresh = {AUTHENTICATION: make_key("Ed25519", did), RECOVERY: make_key("Ed25519", did)}
        body = {
            "newAuthenticationKey": _public(fresh[AUTHENTICATION]),
            "newRecoveryKey": _public(fresh[RECOVERY]),
            "revokeAllExistingKeys": revoke_all,
        }
        with holder.sending("recover", fresh, revokeAll=revoke_all):
            answer = opened.recover(did, body, signer)
    show(answer, text=version)


def _public(key: dict[str, Any]) -> dict[str, str]:
    return {"type": key["type"], "publicKeyMultibase": key["publicKey"]}


@command.command()
@keys_option
@url_option
@click.option("--confirm", is_flag=True, help="Deactivation is final: say that you mean it.")
@click.option("--reason", default="", help="Kept in the operator's audit log only.")
@as_json
def deactivate(wallet: Path, url: str, confirm: bool, reason: str) -> None:
    """End a DID, for good."""
    if not confirm:
        fail("a deactivation is final", "identity did deactivate", "add --confirm if you mean it", status=2)
    body = {"confirm": True, "reason": reason}
    with settled(wallet, url) as (opened, holder):
        answer = opened.deactivate(holder.named_did(), body, holder.signer())
    show(answer, text=lambda body: f"{body['did']} is deactivated\ntx      {body['transactionHash']}")


def _history(body: dict[str, Any]) -> str:
    lines = [
        f"{item['versionId']:>4}  {item['effectiveAt']}  {item['operation']:<12} {'; '.join(item['changes'])}"
        for item in body["items"]
    ]
    return "\n".join(more(lines, body))


add_command(
    command,
    "resolve",
    "resolveDid",
    "Resolve a DID, now, at a version, or at a time. Prints JSON in any case.",
    click.argument("did"),
    click.option("--version-id", "versionId", type=click.IntRange(1), help="The document as it was at this version."),
    click.option("--version-time", "versionTime", help="The document as it was at this RFC 3339 time."),
    anonymous=True,
)
add_command(
    command,
    "history",
    "listDidHistory",
    "List the versions of a DID.",
    click.argument("did"),
    *page_options,
    text=_history,
    anonymous=True,
)


@command.group(cls=OpenGroup, place="did.log")
def log() -> None:
    """The hash-chained, signed log of a DID."""


@log.command(name="get")
@click.argument("did")
@url_option
@as_json
def log_get(did: str, url: str) -> None:
    """Print the log as JSON lines, ready for `identity did log verify -`; with --json as one array."""
    with session(url) as opened:
        text = opened.log(did)
    if prints_json():
        show([orjson.loads(line) for line in text.splitlines()])
    else:
        click.echo(text, nl=False)


@log.command(name="verify")
@click.argument("file", type=click.File("rb"))
@as_json
def log_verify(file: Any) -> None:
    """Check a log alone, without the service: FILE holds JSON lines, `-` is standard input."""
    from identity_core.domain.log import LogInvalid, verify

    try:
        checked = verify(file.read())
    except LogInvalid as error:
        where = f"{getattr(file, 'name', 'standard input')}, {json.dumps(error.details)}"
        fail(f"the log is not valid: {error}", where, "do not trust this DID's history")
    show(checked.summary(), text=_verdict)


def _verdict(checked: dict[str, Any]) -> str:
    state = "deactivated" if checked["deactivated"] else "active"
    return f"{checked['did']}\nvalid, {counted(checked['versions'], 'version')}, {state}"
