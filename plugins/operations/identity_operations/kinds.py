"""The kinds of records that ``eraseRecords`` erases. Extensions may have others, which the command ``identity records`` erases too."""

from __future__ import annotations

from typing import Final

KINDS: Final = ("credentials", "proofs", "timeline", "verifications", "labels", "requests")
