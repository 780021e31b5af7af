"""``identity doctor``: what an operator should know about an installation before a user finds out.

It looks and never writes: databases are opened read-only, and what a plugin would have to make is made in a temporary
directory. What a start would compare it compares as well (``doctor_database``).
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from identity_core.cli.doctor_database import Diagnosis, database, index, storage
from identity_core.cli.options import of_installation
from identity_core.cli.output import as_json, show
from identity_core.settings import Settings, StartError, buckets_of

LOW_DISK_BYTES = 256 * 1024 * 1024
REDIS_SECONDS = 3.0
SHOWN = 5


@click.command(name="doctor")
@of_installation
@as_json
def command(settings: Settings) -> None:
    """Look at this installation and say what is wrong. Exit code 1 when something is."""
    findings = list(examine(settings))
    healthy = all(one.state != "fail" for one in findings)
    body = {"healthy": healthy, "findings": [dataclasses.asdict(one) for one in findings]}
    show(body, text=lambda _: "\n".join(map(_line, findings)))
    if not healthy:
        raise SystemExit(1)


def _line(finding: Diagnosis) -> str:
    remedy = f"\n      {'':<18} do: {finding.remedy}" if finding.remedy else ""
    return f"{finding.state:<5} {finding.check:<18} {finding.says}{remedy}"


def examine(settings: Settings) -> Iterator[Diagnosis]:
    """Every finding, in the order in which a start would meet what they are about."""
    yield from _data_directory(settings.data_dir)
    yield _curves()
    yield from database(settings)
    yield from index(settings)
    yield _throttle(settings)
    yield from _server(settings)
    is_there = settings.database_url is not None or (settings.data_dir.is_dir() and any(settings.data_dir.iterdir()))
    plugins = list(_plugins(settings))
    yield from plugins
    reported = {one.says for one in plugins}
    yield from (one for one in storage(settings) if one.says not in reported)
    try:
        yield from _keys(settings, look_inside=is_there)
    except StartError as error:
        stopped = Diagnosis.of("API keys", error, "put it right, then look again")
        if stopped.says not in reported:
            yield stopped


def _data_directory(folder: Path) -> Iterator[Diagnosis]:
    check = "data directory"
    if not folder.exists():
        yield Diagnosis(check, "warn", f"{folder} does not exist yet", "nothing: `identity serve` makes it")
        return
    status = folder.stat()
    if not folder.is_dir() or not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield Diagnosis(
            check, "fail", f"{folder} cannot be written", "name another with --data-dir, or change its owner"
        )
        return
    if status.st_uid != os.geteuid():
        yield Diagnosis(check, "warn", f"{folder} belongs to user {status.st_uid}", "run the service as that user")
    elif stat.S_IMODE(status.st_mode) & 0o077:
        yield Diagnosis(check, "warn", f"others may look into {folder}", f"chmod 700 {folder}")
    else:
        yield Diagnosis(check, "ok", f"{folder}, for its owner only")
    for path in sorted(folder.iterdir()):
        # SQLite files hold sealed keys and documents; the rest is worse.
        is_open = path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077
        if is_open and (path.suffix == ".key" or stat.S_IMODE(status.st_mode) & 0o077):
            yield Diagnosis(check, "warn", f"others may read {path.name}", f"chmod 600 {path}")
    free = shutil.disk_usage(folder).free
    if free < LOW_DISK_BYTES:
        yield Diagnosis(
            "disk", "warn", f"{free // 2**20} MiB are left at {folder}", "make room: a full disk stops writes"
        )


def _curves() -> Diagnosis:
    from identity_core.crypto.bls12381 import available

    states = available()
    usable = [one.name for one in states if one.curve is not None]
    lacking = [f"{one.name}: {one.reason}" for one in states if one.curve is None]
    says = f"BLS12-381 by {', '.join(usable) or 'nobody'}" + (f" (not {'; '.join(lacking)})" if lacking else "")
    if not usable:
        return Diagnosis("curves", "fail", says, "pip install pyblst")
    if usable == ["py_ecc"]:
        return Diagnosis("curves", "warn", says, "pip install pyblst: py_ecc is a hundred times slower")
    return Diagnosis("curves", "ok", says)


def _throttle(settings: Settings) -> Diagnosis:
    throttle = settings.throttle
    store = buckets_of(throttle, settings.server.workers)
    if store == "memory" and settings.server.workers > 1:
        remedy = 'set throttle.store to "sql"'
        return Diagnosis("throttle", "warn", "each worker has limits of its own, in memory", remedy)
    if store == "redis":
        reason = asyncio.run(_redis_fault(str(throttle.redis_url)))
        if reason is not None:
            remedy = "start it, or correct throttle.redis_url; until then each process limits for itself"
            return Diagnosis("throttle", "fail", f"Redis does not answer: {reason}", remedy)
    return Diagnosis("throttle", "ok", f"buckets in {store}")


async def _redis_fault(url: str) -> str | None:
    try:
        from identity_core.throttle.redis import TokenBucketRedisStorage
    except ImportError:
        return "its client is not installed (pip install 'identity-service[redis]')"
    try:
        storage = TokenBucketRedisStorage(f"async+tokenbucket+{url}")
        answers = await asyncio.wait_for(storage.check(), REDIS_SECONDS)
    except Exception as error:  # noqa: BLE001  (whatever the client raises is the finding)
        return type(error).__name__
    return None if answers else "no connection"


def _server(settings: Settings) -> Iterator[Diagnosis]:
    server = settings.server
    if server.public_url is None and server.host not in ("127.0.0.1", "::1", "localhost"):
        remedy = "set server.public_url to the origin that callers see"
        yield Diagnosis("server", "warn", f"listens at {server.host} without a public_url", remedy)
    else:
        yield Diagnosis("server", "ok", server.public_url or f"http://{server.host}:{server.port}, for this machine")
    if server.workers > (os.cpu_count() or 1):
        yield Diagnosis("server", "warn", f"{server.workers} workers on {os.cpu_count()} processors", "take fewer")


def _plugins(settings: Settings) -> Iterator[Diagnosis]:
    from identity_core.cli.plugins import check_plugins

    try:
        check = check_plugins(settings)
    except StartError as error:
        yield Diagnosis.of("plugins", error, "uninstall it, put it right, or name it in plugins.disabled")
        return
    for problem in check.problems:
        yield Diagnosis.of("plugins", problem, "see `identity plugins check`")
    for one in check.plugins:
        if one.state == "failed" and not any(one.reason in str(problem) for problem in check.problems):
            yield Diagnosis("plugins", "warn", f"{one.name} failed: {one.reason}", "see `identity plugins list`")
    if not check.problems:
        active = [one.name for one in check.plugins if one.state == "active"]
        yield Diagnosis("plugins", "ok", f"{len(active)} in use: {', '.join(active)}")


def _keys(settings: Settings, *, look_inside: bool) -> Iterator[Diagnosis]:
    from identity_core.cli.config import show_settings

    values = {row.key: row.value for row in show_settings(settings)}
    if settings.custodian.backend == "sealed" and values.get("plugins.sealed.passphrase") is None:
        says = "a file beside the keys that it seals, without a passphrase"
        remedy = "set IDENTITY_PLUGINS_SEALED_PASSPHRASE_FILE, and keep a copy of custodian.key until then"
        if not settings.data_dir.exists():
            says, remedy = f"the first start makes {says}", "set IDENTITY_PLUGINS_SEALED_PASSPHRASE_FILE before it"
        yield Diagnosis("master key", "warn", says, remedy)
    else:
        yield Diagnosis("master key", "ok", f"custodian {settings.custodian.backend}")
    stores = ", ".join(settings.key_stores)
    if not look_inside:
        yield Diagnosis("API keys", "ok", f"in {stores}")
        return
    from identity_core.bootstrap.look import look_at_keys

    with tempfile.TemporaryDirectory() as scratch:
        found = asyncio.run(look_at_keys(settings, Path(scratch)))
    if found.faults:
        named = "; ".join(found.faults[:SHOWN])
        says = f"{len(found.faults)} API keys are refused or gone: {named}"
        remedy = "put the right key store back; or `identity keys accept` where you put this one there yourself"
        yield Diagnosis("API keys", "fail", says, remedy)
    elif found.any:
        yield Diagnosis("API keys", "ok", f"in {stores}; there are some")
    else:
        yield Diagnosis("API keys", "warn", f"in {stores}; there is none yet", "nothing: the first start makes one")
