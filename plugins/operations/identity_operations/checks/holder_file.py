"""The check of the file of a holder, whose wallet keeps the secret of its credentials."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from identity_bound_credentials.holder_file import HELD, ISSUED_ANEW, OWN, unfit
from identity_commands.secret_input import read_record

from identity_core.extension.declaration import Diagnosis, listed, ok, warn, wrong

_LOST = (
    "bring the file back from your copy; where there is none, ask each issuer for another credential, who signs with --new-secret and "
    "revokes the one before"
)


def holders_file(held: Path) -> Iterator[Diagnosis]:
    """Report the state of a holder's file. A file that is unreadable, or that others can read, ends the command."""
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
