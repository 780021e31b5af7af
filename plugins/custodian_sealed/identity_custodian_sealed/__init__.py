"""The custodian ``sealed``: private keys in a database, each in a box that opens only with the data key and for its own
row."""

from __future__ import annotations

import os
from dataclasses import dataclass

from identity_codec import sealing
from identity_core.database import migrate, open_database
from identity_core.plugin import BuildContext, PluginError, Provider, hookimpl, setting
from identity_core.ports.custodian import Custodian
from identity_custodian_sealed.custodian import SealedCustodian
from identity_custodian_sealed.data_key import DATABASE, Costs, Seal, SealBroken

__all__ = ["SealedCustodian", "SealedSettings", "identity_provide_custodian"]

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SealedSettings:
    """``[plugins.sealed]``. The costs are those of a new passphrase; an old one keeps what it was made with."""

    passphrase: str | None = setting(
        None, "What the keys are sealed under; unset: a random master key file in data_dir.", secret=True
    )
    previous_passphrase: str | None = setting(None, "The old passphrase, for the start that changes it.", secret=True)
    argon2_operations: int = setting(sealing.MODERATE[0], "Passes of Argon2id.", least=1, most=64)
    argon2_memory_mib: int = setting(sealing.MODERATE[1] // MEBIBYTE, "Memory of Argon2id.", least=8, most=65_536)


def build(settings: SealedSettings, context: BuildContext) -> SealedCustodian:
    """Open the database and unseal the data key, which takes Argon2id's half second if there is a passphrase."""
    database = open_database(context.database_url, context.data_dir / DATABASE, **context.opening)
    migrate(database, "identity_custodian_sealed.migrations", "custodian_")
    seal = Seal(
        database=database,
        master_key_file=context.data_dir / "custodian.key",
        costs=Costs(settings.argon2_operations, settings.argon2_memory_mib * MEBIBYTE),
        logger=context.logger,
        random=os.urandom,
        passphrase=settings.passphrase,
        previous_passphrase=settings.previous_passphrase,
    )
    try:
        data_key = seal.open()
    except SealBroken as error:
        raise PluginError(str(error), "plugins.sealed", error.fix) from error
    return SealedCustodian(seal, data_key, clock=context.clock)


@hookimpl
def identity_provide_custodian() -> Provider[Custodian]:
    """Return the custodian ``sealed``."""
    return Provider("sealed", build, SealedSettings, "XChaCha20-Poly1305 boxes in SQLite or PostgreSQL", looks=True)
