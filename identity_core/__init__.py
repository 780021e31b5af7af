"""An identity service: DID lifecycle, delegated zero-knowledge proofs, and a plugin for every part."""

import functools
import sys

from identity_core.old_names import OldNames

__version__ = "1.0.0"
sys.meta_path.append(OldNames())


@functools.cache
def build() -> str:
    """Return the build, such as ``30.5f3a9c21``: the newest step of the store's tables, and a digest of the code of the core."""
    from hashlib import sha256
    from pathlib import Path

    root = Path(__file__).parent
    # The last of them is the newest step.
    files = [*sorted(root.rglob("*.py")), *sorted(root.glob("store/migrations/*.sql"))]
    digest = sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    return f"{int(files[-1].name[:4])}.{digest[:8]}"
