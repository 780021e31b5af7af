"""The checks of ``identity doctor`` about credentials.

They report credentials in force of suite 1, unpublished lists of signed gaps that proofs of suite 2 need, and lost secrets of
holders.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

from identity_bbs.holders import FIRST
from identity_bound_credentials.use_cases.holder_secrets import REMEDY, is_kept, root_of_new
from identity_codec.times import micros
from identity_core.database import DatabaseError, Transaction
from identity_core.domain.credentials.credential import Binding
from identity_core.errors import IdentityError
from identity_core.extension.choice import read_store
from identity_core.extension.declaration import Diagnosis, listed, ok, warn, wrong
from identity_core.ports.retention import ERASED_HOLDER
from identity_core.settings import Settings

T = TypeVar("T")

_OF_SUITE_1: Final = """
SELECT count(*), count(DISTINCT issuer) FROM credentials
WHERE bound_header IS NULL AND status <> 'revoked' AND holder <> :erased AND (valid_until IS NULL OR valid_until > :now)
"""
_ISSUED_ANEW: Final = "have their issuers issue them anew (`identity credential issue`), then revoke the old ones: nothing is carried over"

_NOW: Final = """
SELECT id, issuer, manifest FROM gap_lists JOIN gap_editions ON list_id = id AND epoch = :now / period ORDER BY id
"""
_RECORDED: Final = "SELECT digest FROM gap_records"
_UNPUBLISHED: Final = """
SELECT id, issuer FROM gap_lists WHERE NOT EXISTS (
    SELECT 1 FROM gap_editions WHERE list_id = id AND epoch = :now / period AND gap_editions.version = gap_lists.version
) ORDER BY id
"""

_BOUND: Final = """
WITH bound AS (
    SELECT id, commitment, holder_secret, created_at FROM credentials
    WHERE holder_secret <> '' AND forgotten_at IS NULL AND status <> 'revoked' AND holder <> :erased
    AND (valid_until IS NULL OR valid_until > :now)
)
SELECT id, commitment, holder_secret FROM (SELECT * FROM bound ORDER BY created_at LIMIT 4) AS oldest
UNION
SELECT id, commitment, holder_secret FROM (SELECT * FROM bound ORDER BY created_at DESC LIMIT 4) AS newest
ORDER BY id
"""


_OF_FORMER_ROOTS: Final = """
SELECT issuer, count(*) FROM credentials
WHERE holder_secret <> '' AND holder_secret NOT LIKE :present AND forgotten_at IS NULL AND status <> 'revoked' AND holder <> :erased
AND (valid_until IS NULL OR valid_until > :now) GROUP BY issuer ORDER BY count(*) DESC, issuer
"""


def _read(settings: Settings, job: Callable[[Transaction], T]) -> T | None:
    """Return the result of ``job``; None if the database cannot be read."""
    try:
        return read_store(settings, job)
    except DatabaseError:
        return None


def credentials(settings: Settings) -> Iterator[Diagnosis]:
    """Yield a warning while credentials in force are of suite 1. If the database cannot be read, yield nothing, because other
    checks report that."""
    asked = {"erased": ERASED_HOLDER, "now": micros(datetime.now(UTC))}
    found = _read(settings, lambda transaction: transaction.execute(_OF_SUITE_1, asked).fetchall())
    if found is None:
        return
    ((count, issuers),) = found
    if not count:
        yield ok("every active credential is of suite 2")
        return
    yield warn(
        f"{count} in force, of {issuers} issuers, are of suite 1: any reader of one with its signature can prove with it. Its proofs"
        " do not show whether it is valid or revoked",
        _ISSUED_ANEW,
    )


def status_lists(settings: Settings) -> Iterator[Diagnosis]:
    """Yield a warning while a list of signed gaps is not published in its current state, and while the current edition is not in
    the transparency log. Yield nothing without a list, or if the database cannot be read."""
    asked = {"now": int(datetime.now(UTC).timestamp())}
    found = _read(
        settings,
        lambda transaction: (
            transaction.execute("SELECT count(*) FROM gap_lists").fetchall(),
            transaction.execute(_UNPUBLISHED, asked).fetchall(),
            transaction.execute(_NOW, asked).fetchall(),
            {bytes(digest) for (digest,) in transaction.execute(_RECORDED, {}).fetchall()},
        ),
    )
    if found is None:
        return
    ((count,),), missing, published, recorded = found
    if missing:
        named = listed([f"{list_id} of {issuer}" for list_id, issuer in missing])
        yield warn(
            f"{len(missing)} of {count} lists of signed gaps are not published for now: {named}",
            "start the service; where it runs, its log says why: it must hold a key of the issuer that is in force",
        )
    elif count:
        yield ok(f"{count} published lists of signed gaps are current")
    silent = [
        f"{list_id} of {issuer}" for list_id, issuer, manifest in published if sha256(manifest).digest() not in recorded
    ]
    if silent:
        yield warn(
            f"{len(silent)} lists of signed gaps are published and not in the transparency log: {listed(silent)}",
            "holders who want to see them there cannot prove; the service records within a minute, its log says what the ledger lacks",
        )


def holders(settings: Settings) -> Iterator[Diagnosis]:
    """Yield a fault if the secrets of holders are lost, as the oldest and the newest credentials in force show. Yield nothing
    without such credentials, or if the database cannot be read."""
    asked = {"erased": ERASED_HOLDER, "now": micros(datetime.now(UTC))}
    rows = _read(settings, lambda transaction: transaction.execute(_BOUND, asked).fetchall())
    if not rows:
        return
    keeper = settings.custodian.names[-1]
    bound = [(credential_id, Binding(b"", bytes(point), 0, name)) for credential_id, point, name in rows]
    try:
        with tempfile.TemporaryDirectory() as scratch:
            found = asyncio.run(look_at_secrets(settings, Path(scratch), bound))
    except IdentityError as error:
        yield wrong(f"the custodian {keeper}, which keeps the secrets of holders, is away: {error}", "bring it back")
        return
    if found is None:
        return
    lost, root = found
    if lost:
        says = f"the custodian {keeper} does not keep the secrets of {len(lost)} of {len(bound)} credentials that were looked at"
        yield wrong(f"{says}: {listed(lost)}; no proof can be made with them", REMEDY)
    else:
        yield ok(f"the custodian {keeper} stores the secrets of holders; {len(bound)} credentials were checked")
    if root > FIRST:
        yield from _of_former_roots(settings, asked | {"present": f"%@{root}"})


async def look_at_secrets(
    settings: Settings, scratch: Path, bound: Sequence[tuple[str, Binding]]
) -> tuple[list[str], int] | None:
    """Return the ids of the credentials whose holder's secret is lost, and the number of the keeper's key that new secrets follow
    from. None if the keeper cannot be read yet. Raises ``StartError`` and ``PluginUnavailable``."""
    from identity_transparency.read_only import LookOnly, looking_plugins

    from identity_core.bootstrap.ports import convert_storage_faults

    look = LookOnly(scratch)
    with convert_storage_faults(settings):
        plugins = looking_plugins(settings, look)
        try:
            keeper = plugins.custodian(settings.custodian.names[-1])
            if look.pending or look.blind:
                return None
            lost = [credential_id for credential_id, one in bound if not await is_kept(keeper, credential_id, one)]
            return lost, await root_of_new(keeper)
        finally:
            await plugins.close()


def _of_former_roots(settings: Settings, asked: Mapping[str, object]) -> Iterator[Diagnosis]:
    """Yield a warning while credentials in force are bound to secrets that a thief of the custodian's key may have."""
    rows = _read(settings, lambda transaction: transaction.execute(_OF_FORMER_ROOTS, asked).fetchall())
    if rows:
        count, issuers = sum(each for _, each in rows), listed([f"{each} of {issuer}" for issuer, each in rows])
        yield warn(
            f"{count} credentials in force are bound to secrets that anyone with the custodian's former key can derive: {issuers}",
            "have each issuer issue them anew and revoke the old ones; holders then have former secrets forgotten "
            "(`identity credential rotate-kept-secret --forget`)",
        )
