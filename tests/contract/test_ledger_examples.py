"""The examples of the ledger are what the handlers answer over the story of the examples of DIDs."""

from __future__ import annotations

import asyncio

import yaml

from openapi.write_examples import EXAMPLES
from openapi.write_ledger_examples import tell


def test_the_examples_of_the_ledger_are_fresh() -> None:
    written = yaml.safe_load((EXAMPLES / "ledger.yaml").read_text("utf-8"))
    assert written == asyncio.run(tell()), "run python -m openapi.write_ledger_examples"
