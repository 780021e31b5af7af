"""Every table with a column for a person's DID is erased by eraseRecords, or is listed here with the reason why it is not."""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import entry_points
from typing import Final

import identity_operations.kernel_tables
from identity_operations.kinds import KINDS

from identity_core.store.proofs import RULES
from identity_core.store.tables import StoreModel

PEOPLE: Final = {"holder", "owner", "agent", "invoker", "holder_did", "owner_did", "subject"}
TABLES: Final = (
    "identity_anchoring.tables",
    "identity_bound_credentials.store.tables",
    "identity_consents.tables",
    "identity_records.tables",
    "identity_verification.tables",
    "identity_wallets.tables",
)
NOT_ERASED: Final = {
    "anchor_lease": "the owner is a process",
    "did_versions": "the owner is the caller that created the DID; the history of a DID is public and is never changed",
    "usage": "counts for quotas",
    "delegations": "the holder ends them; they prove what an agent may do, and have no attribute value",
    "holder_secrets": "a count of rotations; the secret is in no table",
    "holder_tags": "a keyed digest that stops two credentials from being linked",
    "invocations": "digests that stop a second use, deleted after the IBCT ends",
    "ibct_revocations": "digests that stop a use, deleted after the IBCT ends",
    "presentation_requests": "sealed, of a verifier, deleted after they expire",
    "verifier_challenges": "of a verifier, deleted after they expire",
}


def test_every_table_about_a_holder_is_erased_or_has_a_reason() -> None:
    kernel = pkgutil.iter_modules(identity_operations.kernel_tables.__path__, "identity_operations.kernel_tables.")
    for module in (*TABLES, *(one.name for one in kernel)):
        importlib.import_module(module)
    extensions = [one.load() for one in entry_points(group="identity.plugins")]
    declared = [one.identity_extend() for one in extensions if hasattr(one, "identity_extend")]
    rules = {rule.kind for rule in (*RULES, *(rule for one in declared for rule in one.retention))}
    assert {kind.rpartition("_")[2] for kind in rules} == {*KINDS}
    about = {name for name, table in StoreModel.metadata.tables.items() if PEOPLE & {*table.columns.keys()}}
    assert about - rules == {*NOT_ERASED}
