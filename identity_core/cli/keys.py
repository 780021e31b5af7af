"""``identity keys``: API keys of this installation, made and revoked beside the running service."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import click

from identity_core.cli.key_rights import check_targets, listed, positive, remedy_for, scopes_of
from identity_core.cli.options import of_installation, opened_part, refuse_absent
from identity_core.cli.output import as_json, fail, fail_start, prints_json, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.domain.caller import ApiKey
from identity_core.domain.times import printed
from identity_core.errors import IdentityError
from identity_core.settings import Settings, StartError

T = TypeVar("T")

PAGE = 1_000
UNLIMITED = "none"


@click.group(name="keys", cls=OpenGroup)
def command() -> None:
    """Create, list, change, rotate and revoke API keys.

    Works on the data directory or the database, with or without a running service, which sees a change within two seconds.
    """


def _run(settings: Settings, job: Callable[[Any], Coroutine[Any, Any, T]], *, may_begin: bool = False) -> T:
    """Runs ``job`` on the key store of the installation; only one that ``may_begin`` makes a new data directory, so that
    a misspelt one is seen."""
    from identity_core import bootstrap

    if not may_begin:
        refuse_absent(settings, "name the one of the service with --data-dir; `identity serve` makes it", status=1)
    try:
        with opened_part(bootstrap.open_keys(settings)) as (runner, opened):
            return runner.run(job(opened))
    except IdentityError as error:
        fail(f"{error.code}: {error}", str(settings.data_dir), remedy_for(error))
    except StartError as error:
        fail_start(error, str(settings.data_dir), "put it right and try again")


def _record(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "admin": key.scopes is None,
        "scopes": None if key.scopes is None else sorted(key.scopes),
        "allowedTargets": None if key.allowed_targets is None else sorted(key.allowed_targets),
        "requestsPerSecond": key.requests_per_second,
        "burst": key.burst,
        "createdAt": printed(key.created_at),
        "expiresAt": None if key.expires_at is None else printed(key.expires_at),
        "revokedAt": None if key.revoked_at is None else printed(key.revoked_at),
        "lineage": key.lineage,
    }


def _line(record: dict[str, Any]) -> str:
    role = "admin" if record["admin"] else ",".join(record["scopes"])
    # A rotated key is revoked at the end of its grace period, which may be to come.
    verb = "revoked" if (record["revokedAt"] or "") <= printed(datetime.now(UTC)) else "works until"
    end = f"  {verb} {record['revokedAt']}" if record["revokedAt"] else ""
    return f"{record['id']}  {record['name']:<20} {role}{end}"


def _whole(record: dict[str, Any]) -> str:
    return "\n".join(f"{name:<18} {_word(value)}" for name, value in record.items())


def _word(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(value)
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _minted(record: dict[str, Any]) -> str:
    return f"{_line(record)}\n{record['apiKey']}\nThe key above is shown once: store it."


def _end(days: float | None) -> datetime | None:
    return None if days is None else datetime.now(UTC) + timedelta(days=days)


@command.command()
@of_installation
@click.option("--name", required=True, help="What people call it.")
@click.option("--admin", is_flag=True, help="May do everything.")
@click.option("--scopes", help="Comma-separated, such as dids:create,zkp:prove; the document lists them all.")
@click.option(
    "--allowed-target", "targets", multiple=True, metavar="DID", help="DID that it may act for; may be repeated."
)
@click.option("--any-target", is_flag=True, help="It may act for every DID.")
@click.option("--requests-per-second", type=click.FloatRange(0.001, 1e6), help="Its rate; the setting's by default.")
@click.option("--burst", type=click.IntRange(1, 1_000_000), help="Requests at once; the setting's by default.")
@click.option("--days", type=click.FloatRange(0, 36_500), help="How long it is valid; for ever by default.")
@as_json
def create(
    settings: Settings,
    name: str,
    admin: bool,
    scopes: str | None,
    targets: tuple[str, ...],
    any_target: bool,
    requests_per_second: float | None,
    burst: int | None,
    days: float | None,
) -> None:
    """Make a key. Say --admin or --scopes."""
    from identity_core.use_cases.api_keys.create import NewApiKey

    if admin == (scopes is not None):
        remedy = "--scopes dids:create,dids:list, or --admin"
        fail("say --admin or --scopes, one of them", "identity keys create", remedy, status=2)
    rights = None if admin else scopes_of(scopes or "", "identity keys create")
    check_targets(rights, targets, any_target=any_target)
    wanted = NewApiKey(
        name=name,
        scopes=rights,
        allowed_targets=frozenset(targets) or None,
        requests_per_second=requests_per_second,
        burst=burst,
        expires_at=_end(days),
    )
    minted = _run(settings, lambda opened: opened.administration.create(wanted), may_begin=True)
    show(_record(minted.key) | {"apiKey": minted.text}, text=_minted)


@command.command(name="list")
@of_installation
@as_json
def list_keys(settings: Settings) -> None:
    """List the keys of the SQL store, revoked ones included."""

    async def all_of(opened: Any) -> list[ApiKey]:
        keys: list[ApiKey] = []
        while page := await opened.administration.list(after=keys[-1].id if keys else None, limit=PAGE):
            keys += page
        return keys

    show(
        [_record(key) for key in _run(settings, all_of)],
        text=lambda records: "\n".join(map(_line, records)) or "no keys",
    )


@command.command(name="show")
@of_installation
@click.argument("key_id")
@as_json
def show_key(settings: Settings, key_id: str) -> None:
    """Show one key, without its text, which nobody has."""
    key = _run(settings, lambda opened: opened.administration.get(key_id))
    show(_record(key), text=_whole)


@command.command()
@of_installation
@click.argument("key_id")
@click.option("--name", help="What people call it.")
@click.option("--admin", is_flag=True, help="May do everything from now on.")
@click.option("--scopes", help="Comma-separated; in place of what it may do now.")
@click.option("--allowed-targets", help="Comma-separated DIDs, or none for every DID.")
@click.option("--requests-per-second", help="Its rate, or none for the setting's.")
@click.option("--burst", help="Requests at once, or none for the setting's.")
@click.option("--days", help="How long from now it is valid, or none for ever.")
@as_json
def update(
    settings: Settings,
    key_id: str,
    name: str | None,
    admin: bool,
    scopes: str | None,
    allowed_targets: str | None,
    requests_per_second: str | None,
    burst: str | None,
    days: str | None,
) -> None:
    """Change what is named, keep the rest."""
    from identity_core.use_cases.api_keys.update import KeyChanges

    if admin and scopes is not None:
        fail("--admin and --scopes exclude each other", "identity keys update", "say one of them", status=2)
    changes: dict[str, Any] = {} if name is None else {"name": name}
    if admin or scopes is not None:
        changes["scopes"] = None if admin else scopes_of(scopes or "", "identity keys update")
    limits: tuple[tuple[str, str | None, Callable[[str], Any]], ...] = (
        ("allowed_targets", allowed_targets, listed),
        ("requests_per_second", requests_per_second, positive(float)),
        ("burst", burst, positive(int)),
        ("expires_at", days, lambda text: _end(positive(float)(text))),
    )
    try:
        changes |= {
            field: None if text == UNLIMITED else read(text) for field, text, read in limits if text is not None
        }
    except ValueError as error:
        fail(str(error), "identity keys update", "give a positive number, or none", status=2)
    if not changes:
        fail("there is nothing to change", "identity keys update", "name at least one option, see --help", status=2)
    key = _run(settings, lambda opened: opened.administration.update(key_id, KeyChanges(**changes)))
    show(_record(key), text=_whole)


@command.command()
@of_installation
@click.argument("key_id")
@click.option(
    "--grace-hours",
    type=click.FloatRange(0, 24 * 90),
    default=0,
    show_default=True,
    help="How long the old key still works.",
)
@as_json
def rotate(settings: Settings, key_id: str, grace_hours: float) -> None:
    """Make a successor with the same rights."""
    rotated = _run(settings, lambda opened: opened.administration.rotate(key_id, grace=timedelta(hours=grace_hours)))
    minted = rotated.successor
    show(_record(minted.key) | {"apiKey": minted.text}, text=_minted)


@command.command()
@of_installation
@click.argument("key_id")
@as_json
def revoke(settings: Settings, key_id: str) -> None:
    """End a key."""
    key = _run(settings, lambda opened: opened.administration.revoke(key_id))
    show(_record(key), text=_line)


@command.command()
@of_installation
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json
def accept(settings: Settings, yes: bool) -> None:
    """Take every key in the key store as it is now: after an older one was put back on purpose.

    Keys that were revoked after that backup work again; revoke them anew.
    """
    faults = _run(settings, lambda opened: opened.keys.faults())
    for fault in faults:
        click.echo(fault, err=True)
    if faults:
        if not yes and (prints_json() or not click.confirm("Take these keys as they are?", err=True)):
            fail("nothing was changed", str(settings.data_dir), "say --yes to take the keys as they are")
        _run(settings, lambda opened: opened.keys.accept(opened.audit))
    show(
        {"accepted": [*faults]},
        text=lambda body: f"{len(body['accepted'])} accepted" if faults else "every key is as this service left it",
    )
