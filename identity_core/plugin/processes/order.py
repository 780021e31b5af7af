"""What a worker is told at first: which prover to build, and its bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from identity_core.settings import PluginTables


@dataclass(frozen=True, slots=True)
class Order:
    """The plugin by its entry point (``source``, ``reference``), the prover by its Provider's name.

    ``tables`` holds the prover's own settings as they were written, and nobody else's; ``environment`` names the variables that it
    gets beside what every program needs. ``niceness`` is added to the server's. ``parent`` is the process that it must not outlive. The
    order goes down the channel and is nowhere to be seen: not in the command line, not in the environment.
    """

    source: str
    reference: str
    distribution: str
    version: str
    provider: str
    tables: PluginTables = field(repr=False)
    data_dir: Path
    servers: int
    import_seconds: float
    memory_mebibytes: int
    environment: tuple[str, ...]
    niceness: int
    log_level: int
    parent: int
