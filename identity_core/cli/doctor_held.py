"""What ``identity doctor --held`` says of a holder's file: whether its secrets are those that its credentials are bound to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from identity_core.cli.credential_secret import ISSUED_ANEW, OWN, unfit
from identity_core.cli.credential_wallet import HELD
from identity_core.cli.doctor_database import Diagnosis, listed, ok, warn, wrong
from identity_core.cli.private_record import read_record

_LOST = (
    "bring the file back from your copy; where there is none, ask each issuer for another credential, who signs with --new-secret and "
    "revokes the one before"
)


def holders_file(held: Path) -> Iterator[Diagnosis]:
    """A file that cannot be read, or that others can, ends the command."""
    record = read_record(held, "holder's file", HELD)
    credentials = record["credentials"]
    faults = [f"{name}: {fault}" for name, fault in unfit(record)]
    if faults:
        yield wrong(f"{len(faults)} of {len(credentials)} credentials prove nothing: {listed(faults)}", _LOST)
    former = [name for name, one in credentials.items() if isinstance(one, dict) and OWN in one]
    if former:
        yield warn(
            f"{len(former)} of {len(credentials)} credentials are on a former secret: {listed(former)}", ISSUED_ANEW
        )
    if not faults and not former:
        yield ok(f"{len(credentials)} credentials, each on the secret of the file")
