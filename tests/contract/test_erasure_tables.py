"""Every table with a column for a person's DID is erased by eraseRecords, or is listed here with the reason why it is not."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Final

from identity_operations.checks.tables import declared_tables
from identity_operations.kinds import KINDS

from identity_core.store.proofs import RULES

PEOPLE: Final = {"holder", "owner", "agent", "invoker", "holder_did", "owner_did", "subject"}
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
    extensions = [one.load() for one in entry_points(group="identity.plugins")]
    declared = [one.identity_extend() for one in extensions if hasattr(one, "identity_extend")]
    rules = {rule.kind for rule in (*RULES, *(rule for one in declared for rule in one.retention))}
    assert {kind.rpartition("_")[2] for kind in rules} == {*KINDS}
    packages = ["identity_core.store.migrations", *(one.migrations for one in declared if one.migrations is not None)]
    tables = {name: table for package in packages for name, table in declared_tables("sqlite", package).items()}
    about = {name for name, table in tables.items() if PEOPLE & table.columns.keys()}
    assert about - rules == {*NOT_ERASED}
