"""An identity service: DID lifecycle, delegated zero-knowledge proofs, and a plugin for every part."""

import functools

__version__ = "1.0.0"


@functools.cache
def build() -> str:
    """Return the build, such as ``30.5f3a9c21``: the newest step of the store's tables, and a digest of the code of the core."""
    import hashlib
    from pathlib import Path

    root, digest = Path(__file__).parent, hashlib.sha256()
    steps = sorted(path.name for path in root.glob("store/migrations/*.sql"))
    for path in sorted({*root.rglob("*.py"), *root.rglob("*.sql"), root / "api" / "identity.json"}):
        digest.update(f"{path.relative_to(root).as_posix()} {path.stat().st_size}\n".encode() + path.read_bytes())
    return f"{int(steps[-1][:4])}.{digest.hexdigest()[:8]}"
