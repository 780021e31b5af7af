"""What ``identity doctor`` says of credentials: how many in force are still of suite 1, and whether the lists of signed gaps that those
of suite 2 are proved with are published."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from identity_core.cli.doctor_database import Diagnosis, listed, looked, ok, warn
from identity_core.codec.times import micros
from identity_core.database import DatabaseError
from identity_core.ports.retention import ERASED_HOLDER
from identity_core.settings import Settings

_OF_SUITE_1: Final = """
SELECT count(*), count(DISTINCT issuer) FROM credentials
WHERE bound_header IS NULL AND status <> 'revoked' AND holder <> :erased AND (valid_until IS NULL OR valid_until > :now)
"""
_ISSUED_ANEW: Final = "have their issuers issue them anew (`identity credential issue`), then revoke the old ones: nothing is carried over"

_UNPUBLISHED: Final = """
SELECT id, issuer FROM gap_lists WHERE NOT EXISTS (
    SELECT 1 FROM gap_editions WHERE list_id = id AND epoch = :now / period AND gap_editions.version = gap_lists.version
) ORDER BY id
"""


def credentials(settings: Settings) -> Iterator[Diagnosis]:
    """A warning while credentials in force are of suite 1. Nothing where the database cannot be read: other checks report that."""
    asked = {"erased": ERASED_HOLDER, "now": micros(datetime.now(UTC))}
    try:
        with looked(settings) as database:
            found = database.read_now(lambda transaction: transaction.execute(_OF_SUITE_1, asked).fetchone())
    except DatabaseError:
        return
    count, issuers = found or (0, 0)
    if not count:
        yield ok("none in force is of suite 1")
        return
    yield warn(
        f"{count} in force, of {issuers} issuers, are of suite 1: whoever reads one with its signature proves with it, and no proof of it"
        " says by itself whether it is valid or revoked",
        _ISSUED_ANEW,
    )


def status_lists(settings: Settings) -> Iterator[Diagnosis]:
    """A warning while a list of signed gaps is not published as it is now. Nothing without a list, or where the database cannot be read."""
    asked = {"now": int(datetime.now(UTC).timestamp())}
    try:
        with looked(settings) as database:
            (count,), missing = database.read_now(
                lambda transaction: (
                    transaction.execute("SELECT count(*) FROM gap_lists").fetchone() or (0,),
                    transaction.execute(_UNPUBLISHED, asked).fetchall(),
                )
            )
    except DatabaseError:
        return
    if missing:
        named = listed([f"{list_id} of {issuer}" for list_id, issuer in missing])
        yield warn(
            f"{len(missing)} of {count} lists of signed gaps are not published for now: {named}",
            "start the service; where it runs, its log says why: it must hold a key of the issuer that is in force",
        )
    elif count:
        yield ok(f"{count} lists of signed gaps are published for now")
