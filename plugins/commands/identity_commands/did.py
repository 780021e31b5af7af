"""``identity did``: the lifecycle at a running service, and the log of a DID, fetched or checked without a service. ``wallet`` has
the code of the keys file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import orjson

from identity_client import PlaceUnknown, require_place
from identity_client.possession import proof_of_possession
from identity_codec.multikey import BLS12381G2
from identity_commands.did_create import create
from identity_commands.did_history import history
from identity_commands.did_update import VERSION, possession, update
from identity_commands.remote import add_command, keys_option, page, page_options, session, settled, url_option
from identity_commands.wallet import AUTHENTICATION, RECOVERY, Wallet, make_key, public_half
from identity_core.cli.options import Number, Whole
from identity_core.cli.output import fail, misused, prints_json, show
from identity_core.cli.plugin_commands import OpenGroup


@click.group(name="did", cls=OpenGroup)
def command() -> None:
    """Create, resolve, update, rotate, recover and deactivate DIDs; read and verify their logs."""


command.add_command(create)
command.add_command(update)
command.add_command(possession)


@command.command()
@keys_option
@url_option
@click.option("--old-key", metavar="KEY_ID", help="Key to replace.  [default: the authentication key of the file]")
@click.option("--key-type", help="Type of the new key.  [default: that of the old key]")
@click.option("--purpose", multiple=True, help="Relationship of the new key; repeatable.  [default: as the old key]")
@click.option("--grace-hours", type=Number(0), default=0, help="Hours for which the old key stays valid.")
def rotate(
    wallet: Path, url: str, old_key: str | None, key_type: str | None, purpose: tuple[str, ...], grace_hours: float
) -> None:
    """Replace a key. The new key is generated here, and its private half is written only to the keys file."""
    with settled(wallet, url) as (opened, holder):
        did, signer = holder.did, holder.signer()
        old = holder.keys[AUTHENTICATION]["keyId"] if old_key is None else old_key
        old = did + old if old.startswith("#") else old
        kind = key_type or _type_of(holder, old)
        fresh = make_key(kind, did, signs_in=old_key is None)
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
    show(answer, text="new key {newKey[keyId]}\nold key valid until {gracePeriodEnd}")


def _type_of(holder: Wallet, key_id: str) -> str:
    where = holder.find(key_id)
    if where is None:
        fail("the keys file does not hold this key", key_id, "say which type the new key has with --key-type")
    filed, place = where
    return str(filed[place].get("type", "Ed25519"))


@command.command()
@keys_option
@url_option
@click.option("--revoke-all/--keep-keys", default=True, help="Remove or keep the existing keys.")
@click.option(
    "--restore-version",
    type=Whole(1),
    help="Version whose document is restored. It must be within the recovery window of the DID.",
)
def recover(wallet: Path, url: str, revoke_all: bool, restore_version: int | None) -> None:
    """Recover the DID with its recovery key. A new authentication key and the next recovery key are generated into the
    keys file.
    """
    with settled(wallet, url) as (opened, holder):
        did, signer = holder.did, holder.signer(RECOVERY)
        fresh = {AUTHENTICATION: make_key("Ed25519", did), RECOVERY: make_key("Ed25519", did)}
        members = {"newAuthenticationKey": AUTHENTICATION, "newRecoveryKey": RECOVERY}
        body: dict[str, Any] = {member: public_half(fresh[purpose]) for member, purpose in members.items()}
        body["revokeAllExistingKeys"] = revoke_all
        if restore_version is not None:
            body["restoreVersion"] = restore_version
        with holder.sending("recover", fresh, revokeAll=revoke_all):
            answer = opened.recover(did, body, signer)
    show(answer, text=VERSION)


@command.command()
@keys_option
@url_option
@click.option("--confirm", is_flag=True, help="Confirm that the deactivation is final.")
@click.option("--reason", default="", help="Reason, stored only in the operator's audit log.")
def deactivate(wallet: Path, url: str, confirm: bool, reason: str) -> None:
    """Deactivate a DID for good."""
    if not confirm:
        misused("a deactivation is final", "add --confirm if you mean it")
    body = {"confirm": True, "reason": reason}
    with settled(wallet, url) as (opened, holder):
        answer = opened.deactivate(holder.did, body, holder.signer())
    show(answer, text="{did} is deactivated\ntx      {transactionHash}")


@command.command()
@click.argument("did")
@click.option("--version-id", type=Whole(1), help="Number of the version to resolve.  [default: the newest]")
@click.option("--version-time", help="RFC 3339 time at which the document is resolved.  [default: now]")
@click.option("--require-position", is_flag=True, help="Fail if the version has no place in the transparency log.")
@click.option(
    "--cosigned-within",
    type=Number(0),
    metavar="SECONDS",
    help="Fail unless a quorum of witnesses cosigned the version within this many seconds of its time.",
)
@url_option
def resolve(
    did: str,
    version_id: int | None,
    version_time: str | None,
    require_position: bool,
    cosigned_within: float | None,
    url: str,
) -> None:
    """Resolve a DID: now, at a version, or at a time. The output is always JSON.

    Place and time are statements of the service. `identity ledger prove` and `identity ledger verify --policy`
    prove them.
    """
    with session(url) as opened:
        answer = opened.resolve(did, versionId=version_id, versionTime=version_time)
    if require_position or cosigned_within is not None:
        try:
            require_place(
                answer, cosigned_within=None if cosigned_within is None else timedelta(seconds=cosigned_within)
            )
        except PlaceUnknown as error:
            fail(
                f"not as demanded: {error}",
                f"{did} at {url}",
                "try again when the witnesses have cosigned, or demand less",
            )
    show(answer)


command.add_command(history)
add_command(
    command,
    "list",
    "listDids",
    "List the DIDs that the API key has created.",
    *page_options,
    text=page(
        lambda row: f"{row['did']}  version {row['versionId']}  {row['updated']}{'  deactivated' * row['deactivated']}"
    ),
    columns={
        "DID": "{did}",
        "VERSION": "{versionId}",
        "UPDATED": "{updated}",
        "STATE": lambda row: "deactivated" if row["deactivated"] else "active",
    },
)


@command.group(cls=OpenGroup, place="did.log")
def log() -> None:
    """Get, verify and approve the hash-chained, signed log of a DID."""


@log.command(name="get")
@click.argument("did")
@url_option
def log_get(did: str, url: str) -> None:
    """Print the log as JSON lines, the input of `identity did log verify -`. With --json it is one array."""
    with session(url) as opened:
        text = opened.log(did)
    if prints_json():
        show([orjson.loads(line) for line in text.splitlines()])
    else:
        click.echo(text, nl=False)
