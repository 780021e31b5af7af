"""Upper limits of the modules, functions and domain objects of a request's call path. A limit is lowered when a path gets shorter."""

from __future__ import annotations

import pytest

from tests.architecture.call_paths import call_paths

# files, functions and domain objects of the core
LIMITS = {
    "createDid": (63, 232, 22),
    "generateDelegatedProof of suite 1": (82, 340, 20),
    # With a credential of suite 2: the keeper's consent, the gap of the status list, and one statement over all that is asked.
    "generateDelegatedProof": (108, 463, 37),
}


@pytest.mark.parametrize("operation", LIMITS)
def test_call_path_is_within_its_limit(operation: str) -> None:
    path = call_paths()[operation]
    files, functions, objects = LIMITS[operation]
    assert path.files <= files
    assert path.functions <= functions
    assert path.objects <= objects


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
def test_statements_and_commits_are_within_their_limit(operation: str) -> None:
    path = call_paths()[operation]
    statements, commits = STATEMENTS[operation]
    assert path.statements <= statements
    # What notes nothing would hold every limit.
    assert 0 < path.commits <= commits


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
def test_call_path_is_recorded_to_its_end(operation: str, module: str, function: str) -> None:
    assert (module, function) in call_paths()[operation].called
