"""What ``identity doctor`` says of what is stored: whether the files are whole, belong together, and are as new as they were."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from identity_core.cli.findings import Finding
from identity_core.database import DatabaseUnavailable, faults_of
from identity_core.domain.errors import IdentityError
from identity_core.settings import Settings, StartError

CHECK = "storage"


def storage(settings: Settings) -> Iterator[Finding]:
    """The findings. Nothing is written, whatever is there."""
    broken = list(_broken_files(settings.data_dir))
    yield from broken
    if not broken:
        yield _compared(settings)
    yield _note(settings)


def _broken_files(folder: Path) -> Iterator[Finding]:
    for path in sorted(folder.glob("*.sqlite")):
        try:
            faults = faults_of(path)
        except (DatabaseUnavailable, OSError) as error:
            faults = [str(error)]
        if faults:
            says = f"{path.name} is damaged: {faults[0]} It is in: {path}"
            yield Finding(
                CHECK, "fail", says, "put it and the other databases back from one backup; keep the broken ones"
            )


def _compared(settings: Settings) -> Finding:
    from identity_core.bootstrap.look import compare_storage

    try:
        with tempfile.TemporaryDirectory() as scratch:
            found = asyncio.run(compare_storage(settings, Path(scratch)))
    except StartError as error:
        return Finding.of(CHECK, error, "see the findings before this one")
    except IdentityError as error:
        return Finding(CHECK, "fail", f"what is stored cannot be compared: {error}", "see the findings before this one")
    if found.pending:
        says = f"of an older version: {'; '.join(found.pending)}"
        return Finding(CHECK, "warn", says, "make a backup; the next start brings it up to date")
    kept = "none is remembered" if found.remembered is None else f"{found.remembered} are remembered"
    if found.entries is None:
        return Finding(
            CHECK, "ok", f"the ledger {settings.ledger.backend} is compared by a start and not by this; {kept}"
        )
    return Finding(CHECK, "ok", f"{found.entries} ledger entries agree with the store; {kept}")


def _note(settings: Settings) -> Finding:
    """The checkpoint that is remembered apart."""
    from identity_core.bootstrap.choices import checkpoint_file_of

    check, path = "checkpoint", checkpoint_file_of(settings)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        says = f"the last checkpoint cannot be remembered in {path.parent}: a rollback would go unseen"
        return Finding(
            check, "warn", says, "set ledger.checkpoint_path to a place apart from the databases and their backups"
        )
    if not path.exists():
        return Finding(check, "ok", f"none is remembered yet; the next start remembers one in {path}")
    return Finding(check, "ok", f"remembered in {path}; keep it out of the backups of the databases")
