"""``identity keys``: API keys of this installation, made and revoked beside the running service."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import click

from identity_core.cli.configuration import config_option, configured
from identity_core.cli.output import as_json, fail, show
from identity_core.domain.caller import ApiKey
from identity_core.domain.errors import IdentityError
from identity_core.domain.times import printed

T = TypeVar("T")

data_dir_option = click.option("--data-dir", type=click.Path(path_type=Path), help="Where files are stored.")


@click.group(name="keys")
def command() -> None:
    """Create, list, change, rotate and revoke API keys.

    Works on the data directory or the database, with or without a running service, which sees a change within two seconds.
    """


def _run(config: Path | None, data_dir: Path | None, job: Callable[[Any], Awaitable[T]]) -> T:
    """Runs ``job`` on the key desk of the installation."""
    from identity_core import bootstrap
    from identity_core.settings import StartError

    settings = configured(config, {"data_dir": data_dir})

    async def opened() -> T:
        async with bootstrap.key_desk(settings) as desk:
            return await job(desk)

    try:
        return asyncio.run(opened())
    except IdentityError as error:
        fail(f"{error.code}: {error}", str(settings.data_dir), "see `identity keys list` for the ids")
    except StartError as error:
        fail(str(error), str(settings.data_dir), "put it right and try again")


def _record(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "fingerprint": key.fingerprint,
        "admin": key.scopes is None,
        "scopes": None if key.scopes is None else sorted(key.scopes),
        "allowedTargets": None if key.allowed_targets is None else sorted(key.allowed_targets),
        "requestsPerSecond": key.requests_per_second,
        "burst": key.burst,
        "createdAt": printed(key.created_at),
        "expiresAt": None if key.expires_at is None else printed(key.expires_at),
        "revokedAt": None if key.revoked_at is None else printed(key.revoked_at),
    }


def _line(record: dict[str, Any]) -> str:
    role = "admin" if record["admin"] else ",".join(record["scopes"])
    end = f"  revoked {record['revokedAt']}" if record["revokedAt"] else ""
    return f"{record['id']}  {record['fingerprint']}  {record['name']:<20} {role}{end}"


def _minted(record: dict[str, Any]) -> str:
    return f"{_line(record)}\n{record['apiKey']}\nThe key above is shown once: store it."


@command.command()
@config_option
@data_dir_option
@click.option("--name", required=True)
@click.option("--admin", is_flag=True, help="May do everything.")
@click.option("--scopes", help="Comma-separated, such as dids:create,dids:list.")
@click.option(
    "--allowed-target", "targets", multiple=True, metavar="DID", help="DIDs that it may act for; all by default."
)
@click.option("--requests-per-second", type=float)
@click.option("--burst", type=int)
@click.option("--days", type=float, help="How long it is valid; for ever by default.")
@as_json
def create(
    config: Path | None,
    data_dir: Path | None,
    name: str,
    admin: bool,
    scopes: str | None,
    targets: tuple[str, ...],
    requests_per_second: float | None,
    burst: int | None,
    days: float | None,
    json_output: bool,
) -> None:
    """Make a key. Say --admin or --scopes."""
    from identity_core.use_cases.api_keys.create import NewApiKey

    if admin == (scopes is not None):
        fail("say --admin or --scopes", "identity keys create", "--scopes dids:create,dids:list, or --admin")
    wanted = NewApiKey(
        name=name,
        scopes=None if admin else frozenset((scopes or "").split(",")),
        allowed_targets=frozenset(targets) or None,
        requests_per_second=requests_per_second,
        burst=burst,
        expires_at=None if days is None else datetime.now(UTC) + timedelta(days=days),
    )
    minted = _run(config, data_dir, lambda desk: desk.create(wanted))
    show(_record(minted.key) | {"apiKey": minted.text}, json_output=json_output, text=_minted)


@command.command(name="list")
@config_option
@data_dir_option
@as_json
def list_keys(config: Path | None, data_dir: Path | None, json_output: bool) -> None:
    """List the keys of the SQL store, revoked ones included."""
    keys = _run(config, data_dir, lambda desk: desk.list(after=None, limit=10_000))
    show(
        [_record(key) for key in keys],
        json_output=json_output,
        text=lambda records: "\n".join(map(_line, records)) or "no keys",
    )


@command.command()
@config_option
@data_dir_option
@click.argument("key_id")
@click.option("--grace-hours", type=float, default=0, show_default=True, help="How long the old key still works.")
@as_json
def rotate(config: Path | None, data_dir: Path | None, key_id: str, grace_hours: float, json_output: bool) -> None:
    """Make a successor with the same rights."""
    rotated = _run(config, data_dir, lambda desk: desk.rotate(key_id, grace=timedelta(hours=grace_hours)))
    minted = rotated.successor
    show(_record(minted.key) | {"apiKey": minted.text}, json_output=json_output, text=_minted)


@command.command()
@config_option
@data_dir_option
@click.argument("key_id")
@as_json
def revoke(config: Path | None, data_dir: Path | None, key_id: str, json_output: bool) -> None:
    """End a key."""
    key = _run(config, data_dir, lambda desk: desk.revoke(key_id))
    show(_record(key), json_output=json_output, text=_line)
