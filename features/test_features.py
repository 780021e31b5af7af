"""Binds every feature file."""

from pathlib import Path

from pytest_bdd import scenarios

ROOT = Path(__file__).parents[1]
# Found and not listed: a folder that is missing in a list would never run.
FOUND = [*ROOT.glob("features/*/*.feature"), *ROOT.glob("plugins/*/features/*.feature")]
scenarios(*sorted({str(path.parent) for path in FOUND}))
