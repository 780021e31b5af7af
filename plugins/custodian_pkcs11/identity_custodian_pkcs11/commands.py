"""``identity custodian pkcs11``: what lies on the token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from identity_core.cli.options import of_installation, plugin_context
from identity_core.cli.output import as_json, show
from identity_core.settings import Settings
from identity_custodian_pkcs11 import Pkcs11Settings, open_token

if TYPE_CHECKING:
    from identity_custodian_pkcs11.token import Connection


@click.group(name="pkcs11")
def pkcs11() -> None:
    """Inspect the token of the custodian plugin `pkcs11`."""


@pkcs11.command(name="keys")
@of_installation
@as_json
def list_keys(settings: Settings) -> None:
    """List the keys on the token and try each of them, and the master key of holders' secrets.

    The exit code is 1 if one of them cannot be used. Nothing is changed.

    \b
    Example:
      identity custodian pkcs11 keys --config identity.toml
    """
    table = settings.plugins.tables.read("pkcs11", Pkcs11Settings)
    token = open_token(table, plugin_context(settings))
    try:
        found, holders = token.run(_tried), token.run(_holders)
    finally:
        token.close()
    lines = [*map(_line, found), *([holders["says"]] if holders["present"] or holders["fault"] else [])]
    shown = {"present": holders["present"], "fault": holders["fault"]}
    show({"token": table.token, "keys": found, "holders": shown}, text=lambda _: "\n".join(lines) or "no keys")
    if holders["fault"] or any(one["fault"] for one in found):
        raise SystemExit(1)


def _tried(connection: Connection) -> list[dict[str, Any]]:
    from identity_custodian_pkcs11 import keys

    connection.check()
    found = []
    for name in keys.names(connection.session):
        try:
            key = keys.find(connection.session, name)
            fault = "there is no private key to this public key" if key is None else None
        except keys.KeyDamaged as error:
            key, fault = None, str(error)
        found.append({"name": name, "publicKey": None if key is None else key.public_key, "fault": fault})
    return found


def _holders(connection: Connection) -> dict[str, Any]:
    """Return whether there is what the secrets of holders follow from."""
    from identity_custodian_pkcs11 import keys, master

    try:
        is_there = master.find(connection.session) is not None
    except keys.KeyDamaged as error:
        return {"present": True, "fault": str(error), "says": f"{master.LABEL}  cannot be used: {error}"}
    return {"present": is_there, "fault": None, "says": f"{master.LABEL}  what the secrets of holders follow from"}


def _line(key: dict[str, Any]) -> str:
    return f"{key['name']}  {key['publicKey'] or 'cannot be used: ' + key['fault']}"
