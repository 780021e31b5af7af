"""``identity serve``: the API on this machine."""

from __future__ import annotations

import logging
import logging.config
import os
import stat
from dataclasses import replace
from pathlib import Path

import click

from identity_core.cli import fork_server
from identity_core.cli.listening import Listening, admin_listening, listening_at
from identity_core.cli.options import (
    FILE,
    Whole,
    config_option,
    configured,
    data_dir_option,
    database_url_option,
    shown_database,
)
from identity_core.cli.output import Command, fail, show
from identity_core.settings import Settings, require_extras

LOOPBACK = ("127.0.0.1", "::1", "localhost")
# What listens everywhere, and where it can be reached from this machine.
EVERY_ADDRESS: dict[str | None, str] = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104

log = logging.getLogger("identity")


@click.command(name="serve", cls=Command)
@config_option
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=Whole(), help="Port to listen on; 0 takes a free one.  [default: 8080]")
@click.option(
    "--uds",
    "unix_socket",
    type=FILE,
    help="A Unix socket to listen on instead; server.public_url says where callers come in.",
)
@data_dir_option
@database_url_option
@click.option("--workers", type=Whole(), help="Server processes.  [default: 1]")
def command(config: Path | None, data_dir: Path | None, database_url: str | None, **server: object) -> None:
    """Serve the API until SIGTERM or Ctrl-C.

    The embedded default needs no other server. At the first start an API key is made and printed, unless one is configured.
    """
    named = {f"server.{name}": value for name, value in server.items()}
    settings = configured(config, {"data_dir": data_dir, "database_url": database_url, **named})
    require_extras(settings)
    from identity_core.cli.log_lines import logging_config

    logging.config.dictConfig(logging_config(settings.log))
    with listening_at(settings.server) as listening, admin_listening(settings.server) as admin:
        if admin is not None and admin.port == listening.port:
            what = "both listeners have one port, by which requests are told apart"
            fail(what, admin.place, "choose another server.admin_port", status=2)
        settings = _settled(settings, listening, admin)
        _open_folder(settings.data_dir)
        if settings.server.workers > 1:
            fork_server.ensure()
        # Imported after all that can go wrong at once.
        from identity_core.cli.serving import serve

        sockets = [one.socket for one in (listening, admin) if one is not None]
        status = serve(settings, sockets, lambda first_key: _announce(settings, listening, first_key))
    raise SystemExit(status)


def _settled(settings: Settings, listening: Listening, admin: Listening | None) -> Settings:
    """With the ports that were taken, the origin that callers see, and a folder that stays the same in every process."""
    server, host = settings.server, listening.host
    if host is None and server.public_url is None:
        what = "a Unix socket says nothing of the origin that callers see"
        fail(what, listening.place, "set server.public_url, such as https://id.example.org", status=2)
    shown = f"[{host}]" if host is not None and ":" in host else host
    origin = server.public_url or f"http://{EVERY_ADDRESS.get(host, shown)}:{listening.port}"
    if server.public_url is None and host not in LOOPBACK:
        log.warning("server.public_url is not set: challenges and tokens name %s", origin)
    admin_port = None if admin is None else admin.port
    server = replace(server, port=listening.port or server.port, admin_port=admin_port, public_url=origin)
    return replace(settings, data_dir=settings.data_dir.resolve(), server=server)


def _open_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(None, "Permission denied")
        if (owner := folder.stat().st_uid) not in (0, os.geteuid()):
            raise PermissionError(None, f"it belongs to user {owner}")
    except OSError as error:
        remedy = "serve as the user to whom it belongs, name another with --data-dir, or give it to this user: chown -R"
        fail(f"the data directory cannot be used: {error.strerror}", str(folder), remedy)
    if stat.S_IMODE(folder.stat().st_mode) & 0o007:
        log.warning("others may look into %s; set its mode to 0700", folder)


def _announce(settings: Settings, listening: Listening, first_key: str | None) -> None:
    origin = settings.server.public_url
    everywhere = f"\nOn every address of this machine, port {listening.port}" if listening.host in EVERY_ADDRESS else ""
    if listening.host is None:
        everywhere = f"\nOn {listening.place}"
    administration = None
    if settings.server.admin_port is not None:
        administration = f"{settings.server.admin_host}:{settings.server.admin_port}"
        everywhere += f"\nMetrics and administration on {administration}"
    body = {
        "url": origin,
        "listensOn": listening.place,
        "document": f"{origin}/docs",
        "dataDir": str(settings.data_dir),
        "settingsFile": None if settings.file is None else str(settings.file.absolute()),
        "database": "sqlite" if settings.database_url is None else "postgresql",
        "administrationOn": administration,
        "workers": settings.server.workers,
        "process": os.getpid(),
        "firstApiKey": first_key,
    }
    database = "" if settings.database_url is None else f"{shown_database(settings)}; files in "
    key = "" if first_key is None else f"\nFirst API key, shown once: {first_key}"
    text = f"Listening at {origin}  (document: {origin}/docs){everywhere}\nData in {database}{settings.data_dir}{key}"
    show(body, text=lambda _: text)
    processes = "1 process" if settings.server.workers == 1 else f"{settings.server.workers} processes"
    used = body["settingsFile"] or "no settings file"
    log.info("serves at %s on %s with %s, %s; %s", origin, body["listensOn"], processes, shown_database(settings), used)
