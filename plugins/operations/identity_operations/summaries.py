"""The lines of ``identity --help`` about the commands, which are not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "config": "Show the settings in force and where each came from.",
    "extensions": "List the installed extensions; turn one on or off.",
    "extensions.remove": "Drop what the extension NAME has stored.",
    "plugins": "List and check the installed plugins.",
    "plugins.check": "Build what the settings choose, as a start would.",
    "records": "Export and erase what is kept about a DID.",
    "backup": "Back up an installation while it runs; check a backup; put one back.",
    "upgrade": "Bring the databases to the installed version, with a backup at hand.",
    "fsck": "Check what is stored: chains, ledger, index, tiles, outbox, audit log.",
    "probe": "Create, prove and verify at a running service; for cron.",
    "doctor": "Look at this installation and say what is wrong.",
    "support-bundle": "Gather a redacted report for a request for help.",
}
