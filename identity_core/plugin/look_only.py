"""How plugins are built where an installation is only looked at, as the doctor does: nothing is made or changed in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from identity_core.database import DatabaseAbsent, MigrationPending
from identity_core.plugin import build as building
from identity_core.plugin.build import Built
from identity_core.plugin.bulkhead import Bulkhead
from identity_core.plugin.collect import Offer
from identity_core.plugin.errors import PluginError
from identity_core.plugin.provider import BuildContext
from identity_core.plugin.sockets import Socket
from identity_core.settings import PluginTables


@dataclass(frozen=True, slots=True)
class LookOnly:
    """What can look is built over the installation, read-only; all else, and what is not there yet, in ``scratch``, a temporary
    directory. ``pending`` is what waits for a start to bring it up to date, ``blind`` the hooks of what cannot look."""

    scratch: Path
    pending: list[str] = field(default_factory=list)
    blind: set[str] = field(default_factory=set)

    def build(
        self, offer: Offer, socket: Socket, tables: PluginTables, context: BuildContext, bulkhead: Bulkhead
    ) -> Built:
        try:
            if offer.provider.looks:
                return building.build(offer, socket, tables, replace(context, read_only=True), bulkhead)
            self.blind.add(offer.hook)
        except PluginError as error:
            # What is not there yet, or waits for a start, says nothing about the plugin.
            if not isinstance(error.__cause__, DatabaseAbsent | MigrationPending):
                raise
            if isinstance(error.__cause__, MigrationPending):
                self.pending.append(str(error.__cause__))
        apart = replace(context, data_dir=self.scratch, database_url=None)
        return building.build(offer, socket, tables, apart, bulkhead)
