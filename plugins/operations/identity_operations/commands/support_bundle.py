"""``identity support-bundle``: one file of versions, settings and findings for a supporter, without secrets and personal data."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import click
import orjson
from identity_commands.options import installed_plugins
from identity_commands.profiles import signed_in
from identity_commands.remote import api_key_option, named_service_option

from identity_client import Session
from identity_core.cli.options import FILE, of_installation
from identity_core.cli.output import Command, fail, show
from identity_core.settings import Settings
from identity_core.settings.fields import is_table, public_fields
from identity_operations.commands.doctor import findings_of
from identity_operations.commands.redaction import Redaction

LOG_OCTETS: Final = 5 << 20
SERVICE: Final = ("/version", "/ready", "/metrics")
SERVICE_SECONDS: Final = 10.0


@click.command(name="support-bundle", cls=Command)
@click.option("--output", "-o", type=FILE, help="File to write.  [default: ./identity-support-TIME.tar.gz]")
@click.option("--log", type=click.File("rb"), help="Service log, of which the end is included; - is standard input.")
@named_service_option("URL of a running service whose state and metrics are included, with the API key.")
@api_key_option
@of_installation
def command(settings: Settings, output: Path | None, log: Any, url: str | None, api_key: str | None) -> None:
    """Write an archive with versions, settings, findings of `identity doctor` and names of files, for a request for help.

    Secrets, DIDs, addresses, mail addresses and long tokens are replaced. The archive contains no database and no key
    file. Read it before you send it. With a journal:

    \b
        journalctl -u identity -o cat | identity support-bundle --log -
    """
    began = datetime.now(UTC)
    path = output or Path(f"identity-support-{began:%Y%m%d-%H%M%S}.tar.gz")
    who = {} if url is None else signed_in(url, api_key)
    redaction = Redaction([*_secrets(settings, api_key), *filter(None, who.values())])
    parts = {name: _part(gather) for name, gather in _gatherers(settings, log, url, who).items()}
    data = _archive({name: _octets(part, redaction) for name, part in parts.items()}, began)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        fail("there is such a file already", str(path), "name another with --output")
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    body = {"file": str(path), "octets": len(data), "parts": [*parts], "replaced": redaction.replaced}
    show(body, text=_text)


def _text(body: dict[str, Any]) -> str:
    said = (
        f"wrote {body['file']} ({', '.join(body['parts'])}); {body['replaced']} secrets, names and addresses replaced"
    )
    return f"{said}\nread it before you send it: tar xzf {body['file']}"


def _gatherers(settings: Settings, log: Any, url: str | None, who: Mapping[str, Any]) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {
        "versions.json": _versions,
        "settings.json": lambda: _settings(settings),
        "doctor.json": lambda: findings_of(settings),
        "files.json": lambda: list(_files(settings.data_dir)),
    }
    if log is not None:
        found["log.txt"] = lambda: _end(log).decode("utf-8", "replace")
    if url is not None:
        found["service.json"] = lambda: _service(url, who)
    return found


def _part(gather: Callable[[], Any]) -> Any:
    """Return the gathered part. If that failed, return the error, because a bundle is needed when something is broken."""
    try:
        return gather()
    except Exception as error:  # noqa: BLE001  (whatever keeps a part away is what the reader wants to know)
        return {"error": f"{type(error).__name__}: {error}"}


def _octets(part: Any, redaction: Redaction) -> bytes:
    if isinstance(part, str):
        return redaction.text(part).encode()
    return orjson.dumps(redaction.json(part), option=orjson.OPT_INDENT_2, default=str)


def _archive(parts: dict[str, bytes], made: datetime) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in parts.items():
            member = tarfile.TarInfo(f"identity-support/{name}")
            member.size, member.mode, member.mtime = len(data), 0o600, int(made.timestamp())
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def _secrets(settings: Settings, api_key: str | None) -> list[str]:
    """Return the texts that must not be in the bundle: secret settings, those of plugins too, and API keys of the environment."""
    given = [api_key or "", os.environ.get("API_KEY", ""), os.environ.get("IDENTITY_API_KEY", "")]
    return [*secrets_of(settings, installed_plugins(settings).settings_tables()), *given]


def _versions() -> dict[str, Any]:
    import platform
    import sqlite3

    installed = {one.name: one.version for one in distributions()}
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "sqlite": sqlite3.sqlite_version,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "distributions": dict(sorted(installed.items())),
    }


def _settings(settings: Settings) -> list[dict[str, Any]]:
    from identity_operations.commands.config import show_settings

    return [{"key": row.key, "value": row.value, "origin": str(row.origin)} for row in show_settings(settings)]


def _files(folder: Path) -> Iterator[dict[str, Any]]:
    """Return names, sizes and modes of files, without their content."""
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        yield {
            "name": str(path.relative_to(folder)),
            "octets": status.st_size,
            "mode": stat.filemode(status.st_mode),
            "changed": datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds"),
        }


def _end(log: Any) -> bytes:
    """Return the whole lines among the last ``LOG_OCTETS`` of a file that may be a pipe."""
    kept = b""
    while block := log.read(LOG_OCTETS):
        kept = (kept + block)[-LOG_OCTETS - 1 :]
    return kept if len(kept) <= LOG_OCTETS else kept.partition(b"\n")[2]


def _service(url: str, who: Mapping[str, Any]) -> dict[str, Any]:
    with Session(url, **who, timeout_seconds=SERVICE_SECONDS) as client:
        return {path: _part(partial(client.call, "GET", path)) for path in SERVICE}


def secrets_of(settings: Settings, plugins: dict[str, list[type[Any]]]) -> list[str]:
    """Return the values that ``show`` masks, unmasked, to search other texts for them. Of a URL, add its password."""
    found: list[str] = []
    tables: list[Any] = [settings]
    tables += (settings.plugins.tables.read(name, one, {}) for name, all_of in plugins.items() for one in all_of)
    while tables:
        table = tables.pop()
        for field, kind in public_fields(type(table)):
            value = getattr(table, field.name)
            if is_table(kind):
                tables.append(value)
            elif value is not None and (field.metadata.get("secret") or not field.repr):
                password = urlsplit(str(value)).password or ""
                found += [str(value), password, unquote(password)]
    return found
