"""Upper limits of the modules and functions of a request's call path. A limit is lowered when a path gets shorter."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.call_paths import call_paths, size_of_calls
from tests.architecture.measure import MEASURES, path_measures, targets
from tests.architecture.sizes import CORE, ROOT, first_line, parsed, size_of_functions

# Files and functions of the core. `targets.toml` has the limits of core, packages and plugins together.
LIMITS = {
    "createDid": (63, 231),
    "generateDelegatedProof of suite 1": (82, 339),
    # With a credential of suite 2: the keeper's consent, the gap of the status list, and one statement over all that is asked.
    "generateDelegatedProof": (108, 460),
}


@pytest.mark.parametrize("operation", LIMITS)
def test_call_path_is_within_its_limit(operation: str) -> None:
    path = call_paths()[operation]
    files, functions = LIMITS[operation]
    assert path.files <= files
    assert path.functions <= functions


# statements, BEGIN, COMMIT and PRAGMA among them, and commits; each request has a new question; `targets.toml` has the others
STATEMENTS = {
    # The writes of the agent in a day are counted before.
    "generateDelegatedProof under a token": (18, 2),
    "generateDelegatedProof": (18, 2),
    # The proof is read once, and once more what it stands on; six are the write of what was seen.
    "verifyStoredProof": (9, 1),
}


@pytest.mark.parametrize("measure", [name for name in targets() if name not in MEASURES])
def test_path_measure_is_within_its_limit(measure: str) -> None:
    assert 0 < path_measures()[measure] <= targets()[measure].now


@pytest.mark.parametrize("operation", STATEMENTS)
def test_statements_and_commits_are_within_their_limit(operation: str) -> None:
    path = call_paths()[operation]
    statements, commits = STATEMENTS[operation]
    assert path.statements <= statements
    # A counter that records nothing would hold every limit.
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
        ("generateDelegatedProof", "identity_core.domain.dids.did", "Did.parse"),
    ],
)
def test_call_path_is_recorded_to_its_end(operation: str, module: str, function: str) -> None:
    assert (module, function) in call_paths()[operation].called


def test_size_of_calls_counts_packages_and_skips_generated_code() -> None:
    """Modules of the core and of packages count alike; a generated function has no line."""
    core, library = CORE / "files.py", ROOT / "packages/identity_tlog/identity_tlog/tree.py"
    places = {
        ("identity_core.files", "read_file"): (str(core), first_function(core)),
        ("identity_tlog.tree", "leaf_hash"): (str(library), first_function(library)),
        ("identity_core.domain.callers", "Stranger.__init__"): ("<generated>", 1),
        ("identity_core.errors", "never_called"): (str(core), 1),
    }
    first, second = (size_of_functions({path: [first_function(path)]}) for path in (core, library))
    found = size_of_calls(list(places)[:3], places)
    assert found == (first.lines + second.lines, first.statements + second.statements, 3)
    assert min(first.lines, second.lines) > 0


def first_function(path: Path) -> int:
    """Return the line at which the first function of a module begins."""
    return min(first_line(node) for node in parsed(path).body if isinstance(node, ast.FunctionDef))
