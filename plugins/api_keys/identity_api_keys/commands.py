"""``identity keys``: create, change and revoke API keys of this installation beside the running service."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from identity_commands.options import NONE, OrNone, opened_part, several, with_added_options
from identity_commands.terminal import ids_option, show_table

from identity_api_keys.options import comma_separated, known_scopes, or_null
from identity_codec.structs import UNSET, member_names, plain
from identity_codec.times import printed, printed_exactly
from identity_core.cli.options import Number, Whole, of_installation
from identity_core.cli.output import Text, fail, misused, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.domain.callers import ApiKey
from identity_core.errors import IdentityError, InvalidRequest
from identity_core.settings import Settings

if TYPE_CHECKING:
    from identity_core.domain.activity import RequestContext


def shown_key(key: ApiKey) -> dict[str, Any]:
    """Return the view of a key, with the names of the service's answers."""
    from identity_api_keys.manage import record_of

    return {name: value for name, value in plain(record_of(key, "")).items() if name not in ("fingerprint", "source")}


def _role(record: dict[str, Any]) -> str:
    return "admin" if record["admin"] else ",".join(record["scopes"])


def _end_text(record: dict[str, Any]) -> str:
    # A rotated key is revoked at the end of its grace period, which may be in the future.
    verb = "revoked" if (record["revokedAt"] or "") <= printed(datetime.now(UTC)) else "works until"
    return f"{verb} {record['revokedAt']}" if record["revokedAt"] else ""


def line_of(record: dict[str, Any]) -> str:
    """Return a key on one line."""
    return f"{record['id']}  {record['name']:<20} {_role(record)}  {_end_text(record)}".rstrip()


COLUMNS: Final[dict[str, Text]] = {
    "ID": "{id}",
    "NAME": "{name}",
    "MAY": _role,
    "EXPIRES": lambda record: record["expiresAt"] or "",
    "ENDED": _end_text,
}


def members_of(record: dict[str, Any]) -> str:
    """Return a key with a line for each of its members."""
    words = {None: "-", True: "true", False: "false"}
    shown = {name: ",".join(one) if isinstance(one, list) else words.get(one, one) for name, one in record.items()}
    return "\n".join(f"{name:<18} {word}" for name, word in shown.items())


def minted_text(record: dict[str, Any]) -> str:
    """Return the text for a new key."""
    return f"{line_of(record)}\n{record['apiKey']}\nThe key above is shown once: store it."


T = TypeVar("T")

PAGE = 200
# The limits of options for a rate, a burst and a number of days.
MOST = 1_000_000


@click.group(name="keys", cls=OpenGroup)
def command() -> None:
    """Create, list, change, rotate and revoke API keys.

    Works on the data directory or the database, with or without a running service, which sees a change within two seconds.
    """


def run_on_keys(settings: Settings, job: Callable[[Any], Coroutine[Any, Any, T]], *, may_begin: bool = False) -> T:
    """Run ``job`` on the key store of the installation. Only ``may_begin`` creates a missing one."""
    from identity_api_keys.administration import open_keys

    try:
        with opened_part(settings, open_keys, may_begin=may_begin) as (runner, opened):
            return runner.run(job(opened))
    except IdentityError as error:
        remedy = "see `identity keys list` for the ids"
        if error.details.get("field") == "allowedTargets":
            remedy = (
                "name the DIDs, such as did:ids:…, or for every DID say --allowed-targets none (create: --any-target)"
            )
        fail(f"{error.code}: {error}", str(settings.data_dir), remedy)


def _change(
    settings: Settings,
    operation: str,
    job: Callable[[Any, RequestContext], Coroutine[Any, Any, T]],
    *,
    may_begin: bool = False,
) -> T:
    """Run a change of a key. The audit log names it as the corresponding HTTP operation."""
    from identity_core.domain.activity import OPERATOR, RequestContext

    context = RequestContext(operation, OPERATOR)
    return run_on_keys(settings, lambda opened: job(opened.administration, context), may_begin=may_begin)


def _end(days: float | None) -> str | None:
    return None if days is None else printed_exactly(datetime.now(UTC) + timedelta(days=days))


def _check_targets(scopes: tuple[str, ...] | None, targets: tuple[str, ...], *, any_target: bool) -> None:
    """End the command if a new key may act for DIDs and no option names them."""
    from identity_api_keys.manage import require_targets

    if any_target and targets:
        misused("--any-target and --allowed-target exclude each other", "say one of them")
    try:
        require_targets(scopes, said=bool(targets) or any_target)
    except InvalidRequest:
        remedy = "--allowed-target with each DID, or --any-target for every one"
        misused("a key that acts for DIDs says for which", remedy)


@command.command()
@of_installation
@ids_option
@click.option("--name", required=True, help="Name of the key, for people.")
@click.option("--admin", is_flag=True, help="Permit every operation.")
@click.option(
    "--scopes",
    callback=known_scopes,
    help="Scopes separated by commas, such as dids:create,zkp:prove. The API document lists them all.",
)
@several("--allowed-target", "DID", "DID for which the key may act; repeatable.", into="targets")
@click.option("--any-target", is_flag=True, help="Let the key act for every DID.")
@click.option("--requests-per-second", type=Number(0.001, 1e6), help="Requests per second.  [default: the setting]")
@click.option("--burst", type=Whole(1, MOST), help="Requests at once.  [default: the setting]")
@click.option("--days", type=Number(0, 36_500), help="Lifetime in days.  [default: no end]")
def create(
    settings: Settings, admin: bool, scopes: Any, targets: Any, any_target: bool, days: float | None, **rest: Any
) -> None:
    """Create an API key. Give --admin or --scopes."""
    from identity_api_keys.wire import CreateApiKeyRequest

    if admin == (scopes is not None):
        misused("say --admin or --scopes, one of them", "--scopes dids:create,dids:list, or --admin")
    _check_targets(scopes, targets, any_target=any_target)
    wanted = CreateApiKeyRequest(
        admin=admin,
        scopes=UNSET if scopes is None else scopes,
        allowed_targets=targets or (None if any_target else UNSET),
        expires_at=_end(days),
        **rest,
    )
    minted = _change(settings, "createApiKey", lambda keys, context: keys.create(wanted, context), may_begin=True)
    show_table(shown_key(minted.key) | {"apiKey": minted.text}, text=minted_text)


@command.command(name="list")
@of_installation
@ids_option
def list_keys(settings: Settings) -> None:
    """List the API keys of the SQL store, including revoked ones."""
    from identity_api_keys.wire import ListApiKeysQuery

    query = ListApiKeysQuery(limit=PAGE)

    async def all_of(opened: Any) -> list[ApiKey]:
        keys: list[ApiKey] = []
        while page := await opened.administration.list(query, after=keys[-1].id if keys else None):
            keys += page
        return keys

    records = [shown_key(key) for key in run_on_keys(settings, all_of)]
    show_table(records, text=lambda _: "\n".join(map(line_of, records)) or "no keys", columns=COLUMNS)


@command.command(name="show")
@of_installation
@click.argument("key_id")
def show_key(settings: Settings, key_id: str) -> None:
    """Show an API key. Its text is not stored, so it is not shown."""
    show(shown_key(run_on_keys(settings, lambda opened: opened.administration.get(key_id))), text=members_of)


@command.command()
@of_installation
@click.argument("key_id")
@click.option("--name", help="Name of the key, for people.")
@click.option("--admin", is_flag=True, help="Permit every operation from now on.")
@click.option("--scopes", callback=known_scopes, help="Scopes separated by commas, in place of the present ones.")
@click.option("--allowed-targets", callback=comma_separated, help="DIDs separated by commas, or none for every DID.")
@click.option(
    "--requests-per-second", type=OrNone(Number(0, MOST, min_open=True)), help="Per second, or none for the setting."
)
@click.option("--burst", type=OrNone(Whole(1, MOST)), help="Requests at once, or none for the setting.")
@click.option("--days", type=OrNone(Number(0, MOST, min_open=True)), help="Days from now to its end, or none.")
def update(
    settings: Settings, key_id: str, name: Any, admin: bool, scopes: Any, allowed_targets: Any, days: Any, **rest: Any
) -> None:
    """Change the named properties of an API key."""
    from identity_api_keys.wire import UpdateApiKeyRequest

    if admin and scopes is not None:
        misused("--admin and --scopes exclude each other", "say one of them")
    said = UpdateApiKeyRequest(
        name=UNSET if name is None else name,
        admin=admin or UNSET,
        scopes=UNSET if scopes is None else scopes,
        allowed_targets=or_null(allowed_targets),
        expires_at=or_null(days if days == NONE else _end(days)),
        **{member: or_null(value) for member, value in rest.items()},
    )
    if not member_names(said):
        misused("there is nothing to change", "name at least one option, see --help")
    key = _change(settings, "updateApiKey", lambda keys, context: keys.update(key_id, said, context))
    show(shown_key(key), text=members_of)


@command.command()
@of_installation
@click.argument("key_id")
@click.option("--grace-hours", type=Number(0, 24 * 90), default=0, help="Hours for which the old key stays valid.")
@ids_option
@with_added_options("keys.rotate")
def rotate(settings: Settings, key_id: str, grace_hours: float) -> None:
    """Create a successor of an API key, or replace a key of the service: KEY_ID is log, token, checkpoint or seal.

    The service may run meanwhile. --compromised ends the old key at once.

    log: the old key is retired in the service log, and readers refuse entries that it signs later. DIDs from before
    pre-rotation delay the end.

    token: the old key verifies until its last token has expired. checkpoint: the old key signs beside the new one
    for thirty days.

    seal: everything that the custodian stores is sealed again under another data key. With --compromised the master
    key is replaced too.
    """
    from identity_api_keys.wire import RotateApiKeyRequest

    wanted = RotateApiKeyRequest(grace_seconds=round(grace_hours * 3600))
    rotated = _change(settings, "rotateApiKey", lambda keys, context: keys.rotate(key_id, wanted, context))
    minted = rotated.successor
    show_table(shown_key(minted.key) | {"apiKey": minted.text}, text=minted_text)


@command.command()
@of_installation
@click.argument("key_id")
def revoke(settings: Settings, key_id: str) -> None:
    """Revoke an API key."""
    key = _change(settings, "revokeApiKey", lambda keys, context: keys.revoke(key_id, context))
    show(shown_key(key), text=line_of)
