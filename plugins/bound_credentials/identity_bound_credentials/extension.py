"""The extension ``bound_credentials``: suite 2, its lists of signed gaps, and the generations of holders' secrets."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from identity_transparency.use_cases.watch import WatchStorage
from identity_verification.suites import SuiteChecks
from identity_verification.use_cases.check import IssuerKeys

from identity_bound_credentials.doctor_credentials import credentials, holders, status_lists
from identity_bound_credentials.handlers import BoundHandlers
from identity_bound_credentials.store.holder_secrets import StoredHolderSecrets
from identity_bound_credentials.store.status_gaps import StoredStatusGaps
from identity_bound_credentials.use_cases.gap_log import GetStatusGapsProof, RecordGaps
from identity_bound_credentials.use_cases.holder_secrets import RotateHolderSecret
from identity_bound_credentials.use_cases.presenting import PresentBound
from identity_bound_credentials.use_cases.status_gaps import (
    GetStatusGaps,
    GetStatusGapShard,
    ListKeys,
    PublishStatusGaps,
)
from identity_bound_credentials.use_cases.suite import BoundSuite
from identity_bound_credentials.wire import DOCUMENT
from identity_core.bootstrap.probes import probe_fault
from identity_core.database import Database
from identity_core.extension.declaration import Contribution, Extension, InstallationCheck, Kernel
from identity_core.plugin import hookimpl
from identity_core.ports.custodian import Custodian
from identity_core.ports.prover import ProofWorkers
from identity_core.ports.suites import HolderKeeper, ProofSuite
from identity_core.store.events import StoredEvents
from identity_core.use_cases.transparency import LogPlaces


@contextlib.asynccontextmanager
async def open_bound_credentials(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension, whose job publishes the lists of signed gaps."""
    custodian, keeper = kernel.need(Custodian), kernel.need(HolderKeeper).custodian
    gaps = StoredStatusGaps(kernel.need(Database))
    secrets = StoredHolderSecrets(kernel.need(Database), kernel.need(StoredEvents))
    keys = ListKeys(kernel.dids, custodian)
    record = RecordGaps(gaps, kernel.dids.check.ledger)
    publisher = PublishStatusGaps(gaps, custodian, kernel.clock, keys, record)
    provers, watch = kernel.need(ProofWorkers), kernel.find(WatchStorage)
    present = PresentBound(provers, keeper, gaps, publisher, IssuerKeys(kernel.dids))
    suite = BoundSuite(custodian, keeper, publisher, provers, secrets, kernel.random, present)
    handlers = BoundHandlers(
        GetStatusGaps(gaps),
        GetStatusGapShard(gaps),
        GetStatusGapsProof(gaps, kernel.need(LogPlaces)),
        RotateHolderSecret(secrets, keeper, kernel.clock),
    )
    async with publisher:
        if watch is not None:
            watch.hold_up(publisher)
        # Without the list of an epoch no credential in it can be proved to be in force.
        probes = {"statusLists": probe_fault(lambda: publisher.fault)}
        yield Contribution(handlers=(handlers,), services={ProofSuite: suite, SuiteChecks: suite}, probes=probes)


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(
        name="bound_credentials",
        kernel=">=1,<2",
        after=("transparency",),
        document=DOCUMENT,
        open=open_bound_credentials,
        early=True,
        vital=True,
        # Handles, tags and generations stay: a handle is never given again, and a rotated secret never comes back.
        adopts=("gap_editions", "gap_shards", "gap_records"),
        checks=(
            InstallationCheck("credentials", credentials),
            InstallationCheck("status lists", status_lists),
            InstallationCheck("holders", holders, "put it right, then look again"),
        ),
    )
