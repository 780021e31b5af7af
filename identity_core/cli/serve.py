"""``identity serve``: the API on this machine."""

from __future__ import annotations

import logging
import logging.config
import os
import socket
import stat
from dataclasses import replace
from pathlib import Path

import click

from identity_core.cli.options import config_option, configured, data_dir_option, database_url_option, shown_database
from identity_core.cli.output import Command, fail, show
from identity_core.settings import Settings, require_extras

LOOPBACK = ("127.0.0.1", "::1", "localhost")
# What listens everywhere, and where it can be reached from this machine.
EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104

log = logging.getLogger("identity")


@click.command(name="serve", cls=Command)
@config_option
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="Port to listen on; 0 takes a free one.  [default: 8080]")
@data_dir_option
@database_url_option
@click.option("--workers", type=int, help="Server processes.  [default: 1]")
def command(config: Path | None, data_dir: Path | None, database_url: str | None, **server: object) -> None:
    """Serve the API until SIGTERM or Ctrl-C.

    The embedded default needs no other server. At the first start an API key is made and printed, unless one is configured.
    """
    named = {f"server.{name}": value for name, value in server.items()}
    settings = configured(config, {"data_dir": data_dir, "database_url": database_url, **named})
    require_extras(settings)
    from identity_core.cli.log_lines import logging_config

    logging.config.dictConfig(logging_config(settings.log))
    with listen(settings.server.host, settings.server.port) as listening:
        settings = _settled(settings, listening.getsockname()[1])
        _open_folder(settings.data_dir)
        # Imported after all that can go wrong at once.
        from identity_core.cli.serving import serve

        status = serve(settings, listening, lambda first_key: _announce(settings, first_key))
    raise SystemExit(status)


def listen(host: str, port: int) -> socket.socket:
    """The bound socket: bound here, so that a taken port is one clear line and port 0 is known before anything starts."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        fail(f"cannot listen: {error.strerror}", f"{host}:{port}", "choose another --port or --host")
    return listening


def _settled(settings: Settings, port: int) -> Settings:
    """With the port that was taken, the origin that callers see, and a folder that stays the same in every process."""
    server = settings.server
    shown = f"[{server.host}]" if ":" in server.host else server.host
    origin = server.public_url or f"http://{EVERY_ADDRESS.get(server.host, shown)}:{port}"
    if server.public_url is None and server.host not in LOOPBACK:
        log.warning("server.public_url is not set: challenges and tokens name %s", origin)
    return replace(settings, data_dir=settings.data_dir.resolve(), server=replace(server, port=port, public_url=origin))


def _open_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(None, "Permission denied")
    except OSError as error:
        remedy = "name another with --data-dir, or give this user the right to write there"
        fail(f"the data directory cannot be used: {error.strerror}", str(folder), remedy)
    if stat.S_IMODE(folder.stat().st_mode) & 0o007:
        log.warning("others may look into %s; set its mode to 0700", folder)


def _announce(settings: Settings, first_key: str | None) -> None:
    origin, host, port = settings.server.public_url, settings.server.host, settings.server.port
    everywhere = f"\nOn every address of this machine, port {port}" if host in EVERY_ADDRESS else ""
    body = {
        "url": origin,
        "listensOn": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        "document": f"{origin}/docs",
        "dataDir": str(settings.data_dir),
        "database": "sqlite" if settings.database_url is None else "postgresql",
        "workers": settings.server.workers,
        "process": os.getpid(),
        "firstApiKey": first_key,
    }
    database = "" if settings.database_url is None else f"{shown_database(settings)}; files in "
    key = "" if first_key is None else f"\nFirst API key, shown once: {first_key}"
    text = f"Listening at {origin}  (document: {origin}/docs){everywhere}\nData in {database}{settings.data_dir}{key}"
    show(body, text=lambda _: text)
    processes = "1 process" if settings.server.workers == 1 else f"{settings.server.workers} processes"
    log.info("serves at %s on %s with %s, %s", origin, body["listensOn"], processes, shown_database(settings))
