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
@click.option("--forget", is_flag=True, help="Delete earlier secrets and their credentials; do not rotate.")
def rotate_secret(wallet: Path, held: Path, forget: bool) -> None:
    """Create another secret, for every credential that is requested from now on.

    Stored credentials remain bound to their earlier secret and stay usable, but not together with new ones. Each
    issuer must issue them again. The command prints them.

    Do this if another person may know the secret, and again with --forget once all are issued again. If the secret
    is lost, name a new file with --held instead.
    """
    from identity_bbs.bls12381 import select
    from identity_bbs.frames import scalar
    from identity_bbs.openings import HolderSecret
    from identity_bbs.suite import ciphersuite

    did = Wallet.open(wallet).did
    if not held.exists():
        fail("there is no such holder's file", str(held), "the first `identity credential request` makes it", status=2)
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
