"""``identity credential rotate-secret``: the wallet's next secret, and the credentials on the one before."""

from __future__ import annotations

import os
from pathlib import Path

import click
from identity_bound_credentials.holder_file import HELD, ISSUED_ANEW, OWN

from identity_codec.multibase import base64url_encode
from identity_commands.credential_wallet import held_option
from identity_commands.remote import keys_option
from identity_commands.secret_input import private_record
from identity_commands.wallet import Wallet
from identity_core.cli.output import Command, fail, show


@click.command(name="rotate-secret", cls=Command)
@keys_option
@held_option
@click.option("--forget", is_flag=True, help="Forget former secrets and what is bound to them, instead of rotating.")
def rotate_secret(wallet: Path, held: Path, forget: bool) -> None:
    """Make another secret, for every credential that is asked for from now on. What the file holds stays on its former secret and can
    still be shown, but not together with what is on another one; nothing carries it over, so that each issuer issues it anew. Prints what
    that is.

    Do this if another person may know the secret; then with --forget, when all is issued anew. Where the secret is lost, name a new file
    for --held instead.
    """
    from identity_bbs.bls12381 import select
    from identity_bbs.frames import scalar
    from identity_bbs.openings import HolderSecret
    from identity_bbs.suite import ciphersuite

    did = Wallet.open(wallet).did
    if not held.exists():
        fail("there is no such holder's file", str(held), "the first `identity credential request` makes it")
    with private_record(held, "holder's file", HELD, did) as record:
        kept = record["credentials"]
        former = [name for name in kept if OWN in kept[name] or not forget]
        entries = (*record["requests"].values(), *kept.values())
        if forget:
            for place in ("requests", "credentials"):
                record[place] = {name: one for name, one in record[place].items() if OWN not in one}
        elif record[OWN]:
            for one in entries:
                one.setdefault(OWN, record[OWN])
            made = HolderSecret.derived(ciphersuite(select()), os.urandom(48))
            record[OWN] = base64url_encode(scalar(made.scalar))
    show(
        {"forgotten" if forget else "toBeIssuedAnew": former},
        text="\n".join(
            [*former, "forgotten" if forget else f"to be issued anew: {ISSUED_ANEW}" if former else "rotated"]
        ),
    )
