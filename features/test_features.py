"""Binds every feature file."""

from pathlib import Path

from pytest_bdd import scenarios

ROOT = Path(__file__).parents[1]
# Found and not listed: a folder that is missing in a list would never run.
FOLDERS = ("features/*", "plugins/*/features", "plugins/kit/identity_kit/tests/specification")
FOUND = [path for folder in FOLDERS for path in ROOT.glob(f"{folder}/*.feature")]
scenarios(*sorted({str(path.parent) for path in FOUND}))
