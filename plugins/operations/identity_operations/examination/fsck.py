"""Opening of an installation for ``examiner``, and repair of the data that follows from its ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from identity_transparency.opening import check_of, index_tools, load_remembered, log_beside
from identity_transparency.read_only import open_plugins, open_store
from identity_transparency.tree import TransparencyTree
from msgspec import Struct

from identity_core.bootstrap.ports import BRING_UP, SystemClock, rows_secret
from identity_core.database import DatabaseAbsent, faults_of
from identity_core.errors import IdentityError
from identity_core.extension.choice import extensions_on
from identity_core.ports.custodian import Custodian, KeyNotHeld
from identity_core.ports.did_method import DidMethod
from identity_core.ports.ledger import LedgerBackend
from identity_core.settings import Settings, StartError
from identity_core.store import Store
from identity_core.use_cases.dids.head_check import HeadCheck
from identity_core.use_cases.dids.index_audit import IndexAudit
from identity_core.use_cases.record import Record
from identity_operations.examination.examiner import Examiner
from identity_operations.examination.rows import Finding, StoreExamination

_WHOLE = "put it and the other databases back from one backup (`identity backup restore`); keep the broken ones"
_LEFT = "remove it: a backup or a restore that was killed has left it, and it holds keys"


class Examined(Struct, frozen=True):
    """The result of an examination: ``entries`` of the ledger, of which ``unvouched`` are in no stored checkpoint, None without a
    checkpoint."""

    entries: int
    unvouched: int | None
    findings: Sequence[Finding]


async def examine(
    settings: Settings, *, deep: bool, advance: Callable[[int], object] = lambda entries: None
) -> Examined:
    """Examine everything stored, and change nothing. Raises ``StartError``: when that is impossible."""
    findings = [*_files(settings, deep=deep)]
    if any(one.kind == "file" for one in findings):
        return Examined(0, None, findings)
    kept = load_remembered(settings)
    async with open_plugins(settings) as (plugins, look):
        ledger, custodian = plugins.ledger(settings.ledger.backend), plugins.custodian(settings.custodian.backend)
        try:
            async with open_store(settings, custodian) as store:
                if look.pending:
                    what = f"the databases are of an older version: {'; '.join(look.pending)}"
                    raise StartError(what, str(settings.data_dir), BRING_UP)
                examiner = await _examiner(ledger, store, custodian, plugins.did_methods())
                examiner.rules = extensions_on(plugins, store.database).declared("rows")
                examiner.kept, examiner.deep, examiner.advance, examiner.findings = kept, deep, advance, findings
                await examiner()
                unvouched = None if kept is None else max(examiner.entries - kept.checkpoint.size, 0)
                return Examined(examiner.entries, unvouched, examiner.findings)
        except DatabaseAbsent as error:
            entries = (await ledger.head()).sequence
            if not entries and kept is None:
                what = "there is no installation"
                raise StartError(what, str(settings.data_dir), "name one with --data-dir") from error
            findings.append(Finding("file", "identity.sqlite", f"the store is not there: {error.reason}", _WHOLE))
            return Examined(entries, None, findings)


async def _examiner(
    ledger: LedgerBackend, store: Store, custodian: Custodian, methods: Mapping[str, DidMethod]
) -> Examiner:
    secret, is_keyed = await _secret(custodian)
    check = HeadCheck(methods, ledger, store.documents, store.quarantine)
    record, clock = Record(store.activity), SystemClock()
    return Examiner(
        ledger=ledger,
        store=store,
        custodian=custodian,
        methods=methods,
        examination=StoreExamination(store.database, secret, is_keyed=is_keyed),
        check=check_of(ledger, store),
        index_audit=IndexAudit(check, ledger, store.index_rows, store.quarantine, record, clock),
    )


async def size_of(settings: Settings) -> int:
    """Return the number of entries in the ledger; 0 if it cannot be read, which the examination reports."""
    try:
        async with open_plugins(settings) as (plugins, _):
            return (await plugins.ledger(settings.ledger.backend).head()).sequence
    except (StartError, IdentityError):
        return 0


def _files(settings: Settings, *, deep: bool) -> Iterator[Finding]:
    """Return broken files, and remains of a killed command."""
    data_dir = settings.data_dir.absolute()
    for path in sorted(data_dir.glob("*.sqlite")):
        for fault in faults_of(path, quick=not deep):
            yield Finding("file", path.name, fault, _WHOLE)
    for path in sorted([*data_dir.glob(".backup-*"), *data_dir.parent.glob(f".{data_dir.name}.restore-*")]):
        yield Finding("left", str(path), "it is no part of the installation", _LEFT)


async def _secret(custodian: Custodian) -> tuple[bytes, bool]:
    try:
        return await rows_secret(custodian), True
    except KeyNotHeld:
        return bytes(32), False


class Repaired(Struct, frozen=True):
    """The result of a repair. ``dids``: those with rewritten rows. ``failed``: those that could not be repaired, with the reason.
    ``tree``: whether the tree of the log was rebuilt."""

    dids: Sequence[str]
    failed: Sequence[tuple[str, str]]
    tree: bool


async def repair_index(settings: Settings, findings: Sequence[Finding]) -> Repaired:
    """Rewrite wrong data that follows from the ledger: rows of the document index, and the tree of the log. Faults of the ledger
    itself stay. A service may run. Raises ``StartError``."""
    named = dict.fromkeys(one.where for one in findings if one.kind == "index")
    done, failed = list[str](), list[tuple[str, str]]()
    async with index_tools(settings) as tools:
        await tools.catch_up()
        for did in named:
            try:
                await tools.audit.repair(did)
            except IdentityError as error:
                failed.append((did, str(error)))
            else:
                done.append(did)
    kinds = {one.kind for one in findings}
    is_tree = "tile" in kinds and not kinds & {"ledger", "storage"}
    if is_tree:
        async with log_beside(settings) as (logged, store):
            await TransparencyTree(store.database).drop_projections((await logged.ledger.head()).sequence)
            await logged.follower.now()
    return Repaired(done, failed, is_tree)
