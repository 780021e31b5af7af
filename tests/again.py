"""Runs pytest with what it is given. Where no more than a few tests fail, those are run once more, by themselves: one that passes then
depends on its neighbours or on luck, which is a defect of its own, and is named at the end.

    python -m tests.again ARGUMENTS-OF-PYTEST
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOST = 3
FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main(arguments: list[str]) -> int:
    """The exit status of pytest."""
    FAILED.unlink(missing_ok=True)
    status = subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode
    failed = list(json.loads(FAILED.read_text())) if status == 1 and FAILED.exists() else []
    if not 0 < len(failed) <= MOST:
        return status
    print(f"\nonce more, by themselves: {', '.join(failed)}", flush=True)
    status = subprocess.run([sys.executable, "-m", "pytest", "-q", *failed], check=False).returncode
    if status == 0:
        print(f"UNSTABLE, to be mended: {', '.join(failed)}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
