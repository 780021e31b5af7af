"""The lines of ``identity --help`` about the commands, which are not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "config": "Operate beside the data | Show the settings in force and their sources.",
    "extensions": "Operate beside the data | List, enable, disable and remove extensions.",
    "extensions.remove": "Drop what the extension NAME has stored.",
    "plugins": "Operate beside the data | List and check the installed plugins.",
    "plugins.check": "Build what the settings choose, as a start would.",
    "records": "Operate beside the data | Export and erase the records about a DID.",
    "backup": "Operate beside the data | Back up a running installation; check and restore a backup.",
    "upgrade": "Operate beside the data | Migrate the databases to the installed version, after a backup.",
    "fsck": "Operate beside the data | Verify the stored data: chains, ledger, index, tiles, outbox, audit log.",
    "probe": "Operate a service | Create, prove and verify at a running service; for cron.",
    "doctor": "Operate beside the data | Examine this installation and report what is wrong.",
    "support-bundle": "Operate a service | Collect a redacted report for a request for help.",
}
