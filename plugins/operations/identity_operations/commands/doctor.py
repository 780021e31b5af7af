"""The command ``identity doctor``: report faults of an installation before users see them.

It never writes: databases are opened read-only, and files that a plugin would create are created in a temporary directory. It makes
the same comparisons as a start (``checks/database``).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
from identity_commands.options import NAME_IT, absence, refuse_absent
from identity_commands.terminal import working
from msgspec import structs

from identity_core.cli.options import of_installation
from identity_core.cli.output import Command, show
from identity_core.cli.serve import LOOPBACK
from identity_core.database import DatabaseError, DatabaseUnavailable
from identity_core.database.interface import BUCKETS, driver_of
from identity_core.extension.declaration import SHOWN, Diagnosis, InstallationCheck, ok, stopped, unchecked, warn, wrong
from identity_core.files import install_command
from identity_core.settings import Settings, StartError, buckets_of
from identity_operations.checks import database, machine
from identity_operations.checks.database import BEFORE
from identity_operations.commands.extensions import chosen_extensions

LOW_DISK_BYTES = 256 * 1024 * 1024
REDIS_SECONDS = 3.0


@click.command(name="doctor", cls=Command)
@click.option(
    "--held",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Examine this file of a holder, which `identity credential request` created, in place of the installation.",
)
@of_installation
def command(settings: Settings, held: Path | None) -> None:
    """Examine this installation and report each fault with a remedy.

    The exit code is 1 if there is a fault, and 2 if there is no installation.
    """
    with working("looking at the installation"):
        findings = findings_of(settings, held)
    healthy = all(one["state"] != "fail" for one in findings)
    show({"healthy": healthy, "findings": findings}, text=lambda body: "\n".join(map(_line, body["findings"])))
    if held is None:
        refuse_absent(settings)
    if not healthy:
        raise SystemExit(1)


def _line(finding: dict[str, str]) -> str:
    remedy = f"\n            {'':<18} do: {finding['remedy']}" if finding["remedy"] else ""
    return f"{finding['state']:<11} {finding['check']:<18} {finding['says']}{remedy}"


def findings_of(settings: Settings, held: Path | None = None) -> list[dict[str, str]]:
    """Return the findings, as the command shows them. ``held``: the file of a holder to check instead."""
    if held is not None:
        # Only this needs the extension of bound credentials.
        from identity_operations.checks.holder_file import holders_file
    found = examine(settings) if held is None else (("holder's file", one) for one in holders_file(held))
    return [{"check": check, **structs.asdict(one)} for check, one in found]


def examine(settings: Settings) -> Iterator[tuple[str, Diagnosis]]:
    """Yield the findings, in the order of a start. A fault that several checks find is reported once."""
    said: set[str] = set()
    missing = absence(settings)
    for check in _checks(settings):
        try:
            if missing is not None and check.name in OF_DATA:
                found = [unchecked(f"{check.name}: {missing[0]}")]
            else:
                found = list(check.run(settings))
        except StartError as error:
            found = [stopped(error, check.remedy)]
        except Exception as error:  # noqa: BLE001  (the border: whatever the check of an extension raises)
            found = [wrong(f"the check failed: {type(error).__name__}: {error}", "report this to its maintainer")]
        yield from ((check.name, one) for one in found if one.says not in said)
        said |= {one.says for one in found}


def _checks(settings: Settings) -> Iterator[InstallationCheck]:
    yield from CHECKS
    # Other checks report what keeps the extensions from being chosen.
    with contextlib.suppress(StartError, DatabaseError):
        yield from chosen_extensions(settings).declared("checks")


def _installation(settings: Settings) -> Iterator[Diagnosis]:
    if missing := absence(settings):
        yield wrong(": ".join(missing), NAME_IT)


def _data_directory(settings: Settings) -> Iterator[Diagnosis]:
    folder = settings.data_dir
    if not folder.exists():
        return
    if not folder.is_dir() or not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield wrong(f"{folder} cannot be written", "name another with --data-dir, or change its owner")
        return
    status = folder.stat()
    is_open = stat.S_IMODE(status.st_mode) & 0o077
    if status.st_uid != os.geteuid():
        yield warn(f"{folder} belongs to user {status.st_uid}", "run the service as that user")
    elif is_open:
        yield warn(f"others may look into {folder}", f"chmod 700 {folder}")
    else:
        yield ok(f"{folder}, for its owner only")
    # A user who can write a folder above can replace this one, unless the folder above is sticky.
    for above in folder.resolve().parents:
        if stat.S_IMODE(above.stat().st_mode) & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH:
            yield warn(f"every user can replace {folder}: {above} can be written by all", f"chmod o-w {above}")
    for path in sorted(folder.iterdir()):
        # SQLite files hold sealed keys and documents; the rest is worse.
        if (path.suffix == ".key" or is_open) and path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield warn(f"others may read {path.name}", f"chmod 600 {path}")


def _disk(settings: Settings) -> Iterator[Diagnosis]:
    folder = settings.data_dir
    free = shutil.disk_usage(folder).free if folder.is_dir() else LOW_DISK_BYTES
    if free < LOW_DISK_BYTES:
        yield warn(f"{free // 2**20} MiB are left at {folder}", "make room: a full disk stops writes")


def _curves(_: Settings) -> Iterator[Diagnosis]:
    from identity_bbs.bls12381 import available

    states = available()
    usable = [one.name for one in states if one.curve is not None]
    extras = {"blst": "; the extra `blst` installs it"}
    lacking = "; ".join(f"{one.name}: {one.reason}{extras.get(one.name, '')}" for one in states if one.curve is None)
    says = f"BLS12-381 by {', '.join(usable) or 'no backend'}" + (f" (not {lacking})" if lacking else "")
    if not usable:
        yield wrong(says, "pip install pyblst")
    elif usable == ["py_ecc"]:
        yield warn(says, "pip install pyblst: py_ecc is a hundred times slower")
    else:
        yield ok(says)


def _throttle(settings: Settings) -> Iterator[Diagnosis]:
    store = buckets_of(settings.throttle, settings.server.workers, settings.database_url)
    reason = asyncio.run(_redis_fault(str(settings.throttle.redis_url))) if store == "redis" else None
    if store == "memory" and (settings.server.workers > 1 or settings.database_url is not None):
        yield warn("each worker and replica has limits of its own, in memory", 'set throttle.store to "sql"')
    elif reason is not None:
        remedy = "start it, or correct throttle.redis_url; until then each process limits for itself"
        yield wrong(f"Redis does not answer: {reason}", remedy)
    else:
        yield ok(f"buckets in {store}")


async def _redis_fault(url: str) -> str | None:
    try:
        driver = driver_of(BUCKETS, url)
    except DatabaseUnavailable:
        return f"its client is not installed ({install_command('identity-service[redis]')})"
    try:
        storage = driver(f"async+tokenbucket+{url}")
        answers = await asyncio.wait_for(storage.check(), REDIS_SECONDS)
    except Exception as error:  # noqa: BLE001  (whatever the client raises is the finding)
        return type(error).__name__
    return None if answers else "no connection"


def _server(settings: Settings) -> Iterator[Diagnosis]:
    server = settings.server
    if server.unix_socket is not None and server.public_url is None:
        yield wrong("a Unix socket says nothing of the origin that callers see", "set server.public_url to it")
    elif server.public_url is None and server.host not in LOOPBACK:
        remedy = "set server.public_url to the origin that callers see"
        yield warn(f"listens at {server.host} without a public_url", remedy)
    else:
        yield ok(server.public_url or f"http://{server.host}:{server.port}, for this machine")
    if server.workers > (os.cpu_count() or 1):
        yield warn(f"{server.workers} workers on {os.cpu_count()} processors", "take fewer")


def _plugins(settings: Settings) -> Iterator[Diagnosis]:
    from identity_operations.commands.plugins_check import check_plugins

    check = check_plugins(settings)
    for problem in check.problems:
        yield stopped(problem, "see `identity plugins check`")
    for one in check.plugins:
        if one.state == "failed" and not any(one.reason in str(problem) for problem in check.problems):
            yield warn(f"{one.name} failed: {one.reason}", PLUGIN_REMEDY)
    if not check.problems:
        active = [one.name for one in check.plugins if one.state == "active"]
        yield ok(f"{len(active)} in use: {', '.join(active)}")


def _master_key(settings: Settings) -> Iterator[Diagnosis]:
    from identity_operations.commands.config import show_settings

    values, folder = {row.key: row.value for row in show_settings(settings)}, settings.data_dir
    is_elsewhere = values.get("plugins.sealed.passphrase") is not None or (
        folder.is_dir() and any(folder.iterdir()) and not (folder / "custodian.key").exists()
    )
    if settings.custodian.backend != "sealed" or is_elsewhere:
        yield unchecked(f"custodian {settings.custodian.backend}; `plugins` reports whether it opens")
        return
    says = "custodian.key in the data directory, without a passphrase; keep a copy of it elsewhere"
    if settings.server.public_url is None and settings.server.host in LOOPBACK:
        yield ok(says)
    else:
        yield warn(says, "set IDENTITY_PLUGINS_SEALED_PASSPHRASE_FILE, start the service, then remove custodian.key")


def _api_keys(settings: Settings) -> Iterator[Diagnosis]:
    stores, folder = ", ".join(settings.key_stores), settings.data_dir
    if settings.database_url is None and not (folder.is_dir() and any(folder.iterdir())):
        yield unchecked(f"in {stores}")
        return
    from identity_operations.examination.storage import look_at_keys

    found = asyncio.run(look_at_keys(settings))
    if found.faults:
        says = f"{len(found.faults)} API keys are refused or gone: {'; '.join(found.faults[:SHOWN])}"
        remedy = "put the right key store back; or `identity keys accept` where you put this one there yourself"
        yield wrong(says, remedy)
    elif found.any:
        yield ok(f"in {stores}; at least one exists")
    else:
        yield warn(f"in {stores}; there is none yet", "nothing: the first start makes one")


PLUGIN_REMEDY: Final = "uninstall it, put it right, or name it in plugins.disabled"
LATER: Final = "put it right, then look again"
OF_DATA: Final = frozenset({"clock", "storage"})
CHECKS: Final = (
    InstallationCheck("libraries", machine.extras, "install it"),
    InstallationCheck("installation", _installation),
    InstallationCheck("data directory", _data_directory),
    InstallationCheck("disk", _disk),
    InstallationCheck("clock", machine.clocks),
    InstallationCheck("curves", _curves),
    InstallationCheck("database", database.database),
    InstallationCheck("tables", database.tables),
    InstallationCheck("index", database.index),
    InstallationCheck("throttle", _throttle),
    InstallationCheck("server", _server),
    InstallationCheck("listener", machine.listener),
    InstallationCheck("plugins", _plugins, PLUGIN_REMEDY),
    InstallationCheck("storage", database.storage, BEFORE),
    InstallationCheck("checkpoint", database.checkpoint, LATER),
    InstallationCheck("master key", _master_key, LATER),
    InstallationCheck("API keys", _api_keys, LATER),
    InstallationCheck("backups", machine.backups),
)
"""The checks of the kernel. Those of extensions follow."""
