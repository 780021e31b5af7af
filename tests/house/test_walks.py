"""How much a request walks through: upper limits of modules, functions and domain objects. Lower them when a walk gets shorter."""

from __future__ import annotations

import pytest

from tests.house.walks import walks

# files, functions and domain objects of the core
LIMITS = {
    "createDid": (63, 232, 22),
    "generateDelegatedProof of suite 1": (82, 340, 20),
    # With a credential of suite 2: the keeper's consent, the gap of the status list, and one statement over all that is asked.
    "generateDelegatedProof": (108, 463, 37),
}


@pytest.mark.parametrize("operation", LIMITS)
def test_a_request_does_not_walk_further_than_its_limit(operation: str) -> None:
    walk = walks()[operation]
    files, functions, objects = LIMITS[operation]
    assert walk.files <= files
    assert walk.functions <= functions
    assert walk.objects <= objects


# statements, BEGIN, COMMIT and PRAGMA among them, and commits; each request asks a question that no one asked before
STATEMENTS = {
    "createDid": (10, 2),
    "generateDelegatedProof of suite 1": (17, 2),
    # What the agent writes in a day was counted before.
    "generateDelegatedProof under a token": (18, 2),
    "generateDelegatedProof": (18, 2),
    # The proof is read once, and once more what it stands on; six are the write of what was seen.
    "verifyStoredProof": (9, 1),
}


@pytest.mark.parametrize("operation", STATEMENTS)
def test_a_request_takes_no_more_statements_and_commits_than_its_limit(operation: str) -> None:
    walk = walks()[operation]
    statements, commits = STATEMENTS[operation]
    assert walk.statements <= statements
    # What notes nothing would hold every limit.
    assert 0 < walk.commits <= commits


@pytest.mark.parametrize(
    ("operation", "module", "function"),
    [
        ("createDid", "identity_core.api.dids", "DidHandlers.create_did"),
        ("createDid", "identity_core.domain.dids.document", "DidDocument.__init__"),
        # On the thread of the ledger's writer.
        ("createDid", "identity_ledger_sql.ledger", "SqlLedger._append"),
        (
            "generateDelegatedProof",
            "identity_core.use_cases.proofs.generate",
            "GenerateDelegatedProof.__call__",
        ),
        ("generateDelegatedProof", "identity_core.domain.proofs.stored", "DelegatedProof.__init__"),
    ],
)
def test_the_walk_is_seen_to_its_end(operation: str, module: str, function: str) -> None:
    assert (module, function) in walks()[operation].called
