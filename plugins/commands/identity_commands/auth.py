"""``identity auth``: signatures for DIDAuth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from identity_commands.json_input import name_of
from identity_commands.remote import add_command, did_option, keys_option, named, session, url_option
from identity_commands.wallet import AUTHENTICATION, RECOVERY, Wallet
from identity_core.cli.output import failing, show
from identity_core.cli.plugin_commands import OpenGroup

PURPOSES = ("update", "deactivate", "rotate", "recover", "token", "credential", "delegate", "prove", "read")


@click.group(name="auth", cls=OpenGroup)
def command() -> None:
    """Sign DIDAuth challenges; get access tokens."""


@command.command()
@keys_option
@url_option
@click.option("--purpose", required=True, type=click.Choice(PURPOSES), help="Operation that the signature authorises.")
@click.option("--body", type=click.File("rb"), help="JSON body to which the signature is bound; - is stdin.")
@click.option("--target", help="Path and query to which the signature is bound.")
@click.option("--challenge", help="Challenge to sign, in place of one fetched from the service.")
@click.option("--recovery", is_flag=True, help="Sign with the recovery key.")
def sign(wallet: Path, url: str, challenge: str | None, body: Any, recovery: bool, **bound: Any) -> None:
    """Print an Authorization header for one request with the given --purpose, --target and --body.

    A challenge that is bound to less is not signed.
    """
    from identity_client import hash_body
    from identity_client.challenge import DID_AUTH, RECOVERY_KEY

    holder = Wallet.open(wallet)
    with failing(ValueError, name_of(body), "check --body", what="the body is not JSON that can be bound"):
        bound |= {"digest": None if body is None else hash_body(json.loads(body.read()))}
    origin, bound["named"] = None, bound["target"] is not None
    if challenge is None:
        with session(url) as opened:
            holder.settle(opened)
            origin = opened.origin
            challenge = str(opened.challenge(holder.did, **bound)["challenge"])
    key, scheme = (RECOVERY, RECOVERY_KEY) if recovery else (AUTHENTICATION, DID_AUTH)
    remedy = "sign only what you asked for: check --purpose, --target, --body and the keys file"
    with failing(ValueError, "the challenge", remedy):
        header = holder.signer(key).header(challenge, scheme=scheme, origin=origin, **bound)
    show({"authorization": header, "challenge": challenge}, text="{authorization}")


add_command(
    command,
    "token",
    "issueToken",
    "Print an access token, which replaces the keys file or the API key for some minutes.",
    click.option("--scope", help="Scopes of the token, separated by spaces.  [default: all that the caller has]"),
    did_option("--subject", "subject", "DID for which the API key acts."),
    body=named,
    text="{access_token}",
    whose="the DID",
)
