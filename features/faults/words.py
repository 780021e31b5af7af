"""What shall break: the words in the file that ``IDENTITY_TEST_FAULT`` names. The file ``held`` beside it says that something hung."""

from __future__ import annotations

import os
from pathlib import Path

FAULT = Path(os.environ["IDENTITY_TEST_FAULT"])


class Broken(Exception):
    """What a careless plugin raises."""


def faults() -> set[str]:
    """What shall break right now."""
    try:
        return set(FAULT.read_text().split())
    except FileNotFoundError:
        return set()


def is_hung(kind: str) -> bool:
    """Whether ``kind`` shall hang now; from then on it is known that it did."""
    if f"{kind}:hang" not in faults():
        return False
    FAULT.with_name("held").touch()
    return True
