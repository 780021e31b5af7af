"""The secrets of holders, as a custodian derives them."""

from functools import partial
from os import urandom

from identity_bbs.holders import HolderSecrets

ROOT = b"the root that every secret follows from"


def derive(root: bytes, info: bytes) -> bytes:
    return (root + info).ljust(48, b".")[:48]


def test_repr_of_holder_secrets_has_no_secret() -> None:
    """The repr of a bound argument shows its value, as tracebacks and log records do."""
    secrets = HolderSecrets(partial(derive, ROOT), urandom)
    assert repr(ROOT) in repr(secrets.derive)
    assert repr(ROOT) not in repr(secrets)
    assert "derive" not in repr(secrets)
