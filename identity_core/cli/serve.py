"""``identity serve``: the API on this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import click

from identity_core.cli.configuration import config_option, configured
from identity_core.cli.output import fail


@click.command(name="serve")
@config_option
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="Port to listen on; 0 takes a free one.  [default: 8080]")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where files are stored.  [default: ./identity-data]")
@click.option("--database-url", help="A PostgreSQL server instead of SQLite files.")
@click.option("--workers", type=int, help="Server processes.  [default: 1]")
def command(
    config: Path | None,
    host: str | None,
    port: int | None,
    data_dir: Path | None,
    database_url: str | None,
    workers: int | None,
) -> None:
    """Serve the API until SIGTERM or Ctrl-C.

    The embedded default needs no other server. At the first start an API key is made and printed, unless one is configured.
    """
    overrides: dict[str, object] = {
        "server.host": host,
        "server.port": port,
        "data_dir": data_dir,
        "database_url": database_url,
        "server.workers": workers,
    }
    settings = configured(config, overrides)
    import asyncio

    import uvicorn

    from identity_core import bootstrap
    from identity_core.settings import StartError

    listening = _listen(settings.server.host, settings.server.port)
    origin = settings.server.public_url or _origin(settings.server.host, listening.getsockname()[1])
    try:
        first_key = asyncio.run(bootstrap.prepare(settings))
    except StartError as error:
        fail(str(error), "start-up", "put it right and start again")
    click.echo(f"Listening at {origin}  (document: {origin}/docs)")
    click.echo(f"Data in {(settings.database_url and 'PostgreSQL') or settings.data_dir.resolve()}")
    if first_key is not None:
        click.echo(f"First API key, shown once: {first_key}")
    # Workers are fresh processes; they read the same configuration from here.
    os.environ.update(_hand_over(overrides | {"server.public_url": origin, "data_dir": settings.data_dir.resolve()}))
    if config is not None:
        os.environ["IDENTITY_CONFIG"] = str(config)
    config_of_uvicorn = uvicorn.Config(
        "identity_core.bootstrap:application",
        factory=True,
        workers=settings.server.workers,
        fd=listening.fileno() if settings.server.workers > 1 else None,
        lifespan="on",
        loop="uvloop" if os.name == "posix" else "asyncio",
        http="httptools",
        ws="none",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        log_level=settings.log.level,
        timeout_graceful_shutdown=int(settings.server.shutdown_seconds),
        h11_max_incomplete_event_size=None,
        backlog=2048,
    )
    server = uvicorn.Server(config_of_uvicorn)
    if settings.server.workers > 1:
        from uvicorn.supervisors import Multiprocess

        Multiprocess(config_of_uvicorn, sockets=[listening]).run()
    else:
        server.run(sockets=[listening])
    if not server.started and settings.server.workers == 1:
        raise SystemExit(3)


def _listen(host: str, port: int) -> socket.socket:
    """The bound socket: bound here, so that a taken port is one clear line and port 0 is known before anything starts."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        fail(f"cannot listen: {error.strerror}", f"{host}:{port}", "choose another --port or --host")
    listening.set_inheritable(True)
    return listening


def _origin(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{'127.0.0.1' if shown == '0.0.0.0' else shown}:{port}"


def _hand_over(values: dict[str, object]) -> dict[str, str]:
    from identity_core.settings.fields import variable

    return {variable(key): str(value) for key, value in values.items() if value is not None}
