"""An extension with a table, its retention rule, its checks and its probe, for the tests of what operations do with them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator

from identity_core.database import Database
from identity_core.extension.declaration import (
    Contribution,
    Diagnosis,
    Extension,
    InstallationCheck,
    Kernel,
    RowRule,
    warn,
)
from identity_core.plugin import hookimpl
from identity_core.ports.retention import RetentionRule
from identity_core.settings import Settings

MODULE = __name__
TABLE = "CREATE TABLE IF NOT EXISTS notes (id TEXT PRIMARY KEY, holder TEXT, created_at INTEGER, said TEXT)"


@contextlib.asynccontextmanager
async def open_notes(kernel: Kernel) -> AsyncIterator[Contribution]:
    await kernel.need(Database).write(lambda writing: writing.execute(TABLE))

    async def probe() -> str:
        return "degraded"

    yield Contribution(probes={"notes": probe})


def count_notes(settings: Settings) -> Iterator[Diagnosis]:
    yield warn(f"notes are in {settings.data_dir.name}", "read them")


def fail(settings: Settings) -> Iterator[Diagnosis]:
    raise ZeroDivisionError("no notes")


@hookimpl
def identity_extend() -> Extension:
    return Extension(
        name="notes",
        kernel=">=1,<2",
        open=open_notes,
        checks=(InstallationCheck("broken notes", fail), InstallationCheck("notes", count_notes)),
        rows=(RowRule("note", "SELECT id FROM notes WHERE said = ''", "is empty", "write it"),),
        retention=(
            RetentionRule(
                kind="notes",
                expired="created_at <= :until ORDER BY created_at",
                columns="id holder created_at said",
                roles=("holder",),
            ),
        ),
    )
