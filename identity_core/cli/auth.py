"""``identity auth``: signatures for DIDAuth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from identity_core.cli.output import as_json, fail, show
from identity_core.cli.remote import keys_option, read_wallet, session, signer, url_option


@click.group(name="auth")
def command() -> None:
    """Sign DIDAuth challenges."""


@command.command()
@keys_option
@url_option
@click.option("--purpose", type=click.Choice(["update", "deactivate", "rotate", "recover", "token"]))
@click.option("--body", type=click.File("r"), help="The JSON body that the signature shall be bound to.")
@click.option("--challenge", help="Sign this text instead of fetching a challenge.")
@click.option("--recovery", is_flag=True, help="Sign with the recovery key.")
@as_json
def sign(
    wallet: Path, url: str, purpose: str | None, body: Any, challenge: str | None, recovery: bool, json_output: bool
) -> None:
    """Print an Authorization header. It serves once."""
    from identity_core.client import hash_body
    from identity_core.domain.evidence import DID_AUTH, RECOVERY_KEY

    keys = read_wallet(wallet)
    try:
        digest = None if body is None else hash_body(json.load(body))
        if challenge is None:
            with session(url) as opened:
                challenge = opened.challenge(keys["did"], purpose=purpose, digest=digest)["challenge"]
        holder = signer(keys, wallet, "recovery" if recovery else "authentication")
        scheme = RECOVERY_KEY if recovery else DID_AUTH
        header = holder.header(challenge or "", purpose=purpose, digest=digest, scheme=scheme)
    except ValueError as error:
        fail(str(error), "the challenge or the body", "check --purpose, --body and the keys file")
    show({"authorization": header, "challenge": challenge}, json_output=json_output, text=lambda body: header)
