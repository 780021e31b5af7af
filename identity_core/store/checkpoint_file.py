"""The file in which the last checkpoint is remembered: apart from the databases, replaced whole."""

from __future__ import annotations

from pathlib import Path

from identity_codec.values import value_class
from identity_core.domain.ledger.remembered import Remembered
from identity_core.files import durable_draft, open_regular
from identity_tlog.tree import Malformed

# Two kilobytes are usual; whatever has more is another file.
MOST_BYTES = 65_536


@value_class
class CheckpointFile:
    """The file. Calls block on a disk."""

    path: Path

    def load(self) -> Remembered | None:
        """Return what was saved last. Raises ``Malformed``, ``OSError``."""
        try:
            with open_regular(self.path) as file:
                octets = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            return None
        return Remembered.parse(octets)

    def save(self, remembered: Remembered) -> None:
        """Store it durably, unless what is there is as late or later. Raises ``OSError``."""
        try:
            known = self.load()
        except Malformed:
            # It was whole at the start; what this process has seen is better than what somebody has scribbled since.
            known = None
        if known is None or not known.covers(remembered):
            self.replace(remembered)

    def replace(self, remembered: Remembered) -> None:
        """Store it durably, whatever is there. Raises ``OSError``."""
        with durable_draft(self.path, remembered.encode()) as draft:
            draft.replace(self.path)
