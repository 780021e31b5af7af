"""The custodian ``pkcs11``: private keys on a PKCS#11 token (SoftHSM, a hardware module), which makes them and signs
with them and never gives them out.

Neither the token's library nor the binding to it is loaded before the settings choose this custodian.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from identity_core.plugin import BuildContext, NotConfigured, PluginError, Provider, hookimpl, in_threads, setting
from identity_core.ports.custodian import Custodian

if TYPE_CHECKING:
    from identity_custodian_pkcs11.custodian import Pkcs11Custodian
    from identity_custodian_pkcs11.token import Token

__all__ = ["Pkcs11Settings", "identity_provide_custodian"]


@dataclass(frozen=True, slots=True)
class Pkcs11Settings:
    """``[plugins.pkcs11]``. The first three have no default, so that all of them must be set."""

    module: Path | None = setting(  # noqa: RUF009  (a Path cannot be changed)
        None, "The token's PKCS#11 library.", example='"/usr/lib/softhsm/libsofthsm2.so"'
    )
    token: str | None = setting(None, "The label of the token.", pattern=r"[\x20-\x7e]{1,32}", example='"identity"')
    pin: str | None = setting(None, "The user PIN of the token.", secret=True)
    curve: Literal["name", "oid"] = setting(
        "name", "How the token wants Ed25519 named: edwards25519, or its object identifier."
    )


def open_token(settings: Pkcs11Settings, context: BuildContext) -> Token:
    """Return the token with its session open, for one thread. Raises ``NotConfigured``, and ``PluginError`` when it cannot be used."""
    if settings.module is None or settings.token is None or not settings.pin:
        missing = [name for name in ("module", "token", "pin") if not getattr(settings, name)]
        names = ", ".join(f"IDENTITY_PLUGINS_PKCS11_{name.upper()}" for name in missing)
        raise NotConfigured(f"{', '.join(missing)} in [plugins.pkcs11] not set; set {names}, or the PIN's _FILE")
    # Here and not above: the binding is a compiled library that other installations have no use for.
    from identity_custodian_pkcs11.module import TokenAway, loaded
    from identity_custodian_pkcs11.token import Token

    try:
        token = Token(loaded(settings.module), settings.token, settings.pin, clock=context.clock, logger=context.logger)
        token.open()
    except TokenAway as error:
        raise PluginError(str(error)) from error
    return token


def open_custodian(settings: Pkcs11Settings, context: BuildContext) -> Pkcs11Custodian:
    """Return the custodian on an open token. Raises what ``open_token`` raises."""
    token = open_token(settings, context)
    from identity_core.database.files import FileLock
    from identity_custodian_pkcs11.custodian import Pkcs11Custodian

    lock = None if context.read_only else FileLock(context.data_dir / "custodian-pkcs11.lock")
    return Pkcs11Custodian(token, lock, curve=settings.curve)


def build(settings: Pkcs11Settings, context: BuildContext) -> Custodian:
    """See ``open_custodian``. One thread, because a token's session takes one call at a time."""
    return cast(Custodian, in_threads(open_custodian(settings, context), workers=1))


@hookimpl
def identity_provide_custodian() -> Provider[Custodian]:
    """Return the custodian ``pkcs11``."""
    about = "Ed25519 keys, and what secrets of holders follow from, on a PKCS#11 token that they never leave"
    return Provider("pkcs11", build, Pkcs11Settings, about, looks=True)
