"""``identity ledger witness serve``: a witness over HTTP (C2SP tlog-witness v1.0.0), ``add-checkpoint`` and monitoring under one
prefix.

It listens on loopback by default. Connections, heads and waits have the limits of the service. Bastions and ``sign-subtree`` are
not supported.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
from identity_commands.log_policy import verifier_key
from identity_commands.options import FILE_THERE

from identity_core.cli.options import Whole
from identity_core.cli.output import Command, failing, misused, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_tlog.note import MAX_NOTE
from identity_tlog.tree import Malformed, Refuted
from identity_tlog.witness import NotSigned, Stale, UnknownLog
from identity_transparency.cli.ledger_cosigner import Cosigner, LogsUnknown, WatchedLogs, open_cosigner

if TYPE_CHECKING:
    import socket

    from identity_core.settings.server import Server

# An old size and 63 hashes stand before the note.
MAX_BODY: Final = MAX_NOTE + 4_096
BODY_SECONDS: Final = 10.0
CONNECTIONS: Final = 512
CONNECTIONS_OF_ADDRESS: Final = 32

STATUS: Final[dict[type[Exception], int]] = {UnknownLog: 404, NotSigned: 403, Stale: 409, Malformed: 400}
INCONSISTENT: Final = 422
TEXT: Final = "text/plain; charset=utf-8"
_MONITORED: Final = re.compile(r"/([0-9a-f]{64})/checkpoint", re.ASCII)

Message = MutableMapping[str, Any]


class Reply(NamedTuple):
    """Status, media type and text of an answer."""

    status: int
    media: str
    text: str


class WitnessApp:
    """The ASGI application around a ``Cosigner``."""

    def __init__(self, cosigner: Cosigner) -> None:
        self._cosigner = cosigner

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        """Answer one request, and write a line about it to stderr that contains no text of the client."""
        reply = await self._reply(scope, receive)
        if reply is None:
            return
        data = reply.text.encode()
        headers = [(b"content-type", reply.media.encode()), (b"content-length", b"%d" % len(data))]
        if reply.status in (408, 413):
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": data})
        click.echo(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {reply.status}", err=True)

    async def _reply(self, scope: Message, receive: Callable[[], Awaitable[Message]]) -> Reply | None:
        method, path = scope["method"], scope["path"]
        found = _MONITORED.fullmatch(path)
        if found is not None and method == "GET":
            return await self._monitored(found[1])
        if path == "/add-checkpoint" and method == "POST":
            return await self._added(scope, receive)
        if found is not None or path == "/add-checkpoint":
            return Reply(405, TEXT, "POST /add-checkpoint, GET /<SHA-256 of an origin>/checkpoint\n")
        return Reply(404, TEXT, "POST a checkpoint to /add-checkpoint\n")

    async def _added(self, scope: Message, receive: Callable[[], Awaitable[Message]]) -> Reply | None:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                data = await _body(receive)
        except TimeoutError:
            return Reply(408, TEXT, "the body did not arrive in time\n")
        if data is None:
            return None
        if len(data) > MAX_BODY:
            return Reply(413, TEXT, f"a submission has at most {MAX_BODY} bytes\n")
        try:
            return Reply(200, TEXT, await asyncio.to_thread(self._cosigner.add_checkpoint, data))
        except Stale as error:
            return Reply(409, "text/x.tlog.size", f"{error.size}\n")
        except (Malformed, Refuted) as error:
            return Reply(STATUS.get(type(error), INCONSISTENT), TEXT, f"{error}\n")
        except LogsUnknown as error:
            click.echo(f"nothing is cosigned: {error}", err=True)
            return Reply(503, TEXT, "the witness cannot read which logs it watches\n")
        except OSError as error:
            click.echo(f"the state cannot be kept, and nothing is cosigned: {error.strerror}", err=True)
            return Reply(503, TEXT, "the witness cannot keep its state\n")

    async def _monitored(self, origin_hash: str) -> Reply:
        try:
            note = await asyncio.to_thread(self._cosigner.latest, origin_hash)
        except OSError as error:
            click.echo(f"the state cannot be read: {error.strerror}", err=True)
            return Reply(503, TEXT, "the witness cannot read its state\n")
        if note is None:
            return Reply(404, TEXT, "no checkpoint of this log was cosigned here\n")
        return Reply(200, TEXT, note.decode())


async def _body(receive: Callable[[], Awaitable[Message]]) -> bytes | None:
    """Return the body, at most one byte above the limit; None if the client disconnected."""
    body, more = b"", True
    while more and len(body) <= MAX_BODY:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body


class ServingGroup(OpenGroup):
    """A command group whose options without a command are those of ``serve``, the oldest command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0].startswith("-") and args[0] not in ("--help", "-h"):
            args = ["serve", *args]
        return super().parse_args(ctx, args)


@click.group(name="witness", cls=ServingGroup, place="ledger.witness")
def witness() -> None:
    """Cosign checkpoints of append-only logs."""


@witness.command(name="serve", cls=Command)
@click.option("--log", "logs", multiple=True, help="Verifier key of a log to cosign, or its file; repeatable.")
@click.option(
    "--policy",
    type=FILE_THERE,
    help="File (tlog-policy) whose `log` lines name more logs. It is read again for each checkpoint, so keys can be added and removed.",
)
@click.option("--name", default="witness.invalid/identity", help="Name of the witness in its cosignatures.")
@click.option(
    "--folder", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of key and state."
)
@click.option("--ml-dsa", is_flag=True, help="Cosign with an ML-DSA-44 key too.")
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=Whole(0, 65535), default=8099, help="Port to listen on; 0 takes a free one.")
def serve(
    logs: Sequence[str], policy: Path | None, name: str, folder: Path, ml_dsa: bool, host: str, port: int
) -> None:
    """Cosign checkpoints of append-only logs. A fork is refused with 422 and a rollback with 409, even if it is
    signed.

    POST /add-checkpoint accepts submissions. GET /<SHA-256 of the origin>/checkpoint returns the last cosigned
    checkpoint.
    """
    from identity_core.cli.serve import listen
    from identity_core.settings.server import Server

    if not logs and policy is None:
        misused("a witness watches at least one log", "--log with its verifier key, or --policy")
    watched = WatchedLogs([verifier_key(text) for text in logs], policy)
    with failing(LogsUnknown, str(policy), "write it as c2sp.org/tlog-policy says"):
        first = watched()
    with failing(Malformed, name, "a name such as witness.example.org/w1, and a folder that a witness wrote"):
        cosigner, _lock = open_cosigner(folder, name, watched, with_ml_dsa=ml_dsa)
    with listen(host, port) as listening:
        url = f"http://{host}:{listening.getsockname()[1]}"
        keys = [str(one.key) for one in cosigner.keys]
        body = {
            "url": url,
            "verifierKey": keys[0],
            "verifierKeys": keys,
            "logs": [one.name for one in first],
            "process": os.getpid(),
        }
        listening.listen(CONNECTIONS)
        show(
            body, text=lambda shown: "\n".join([f"Witness at {url}", *(f"Key {key}" for key in shown["verifierKeys"])])
        )
        limits = Server(max_connections=CONNECTIONS, max_connections_per_address=CONNECTIONS_OF_ADDRESS)
        _run(WitnessApp(cosigner), listening, limits)
    click.echo("stopped", err=True)


def _run(app: WitnessApp, listening: socket.socket, limits: Server) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    import uvicorn

    from identity_core.cli.connections import BoundedProtocol, Connections

    protocol: Any = partial(BoundedProtocol, connections=Connections(limits))
    config = uvicorn.Config(
        app,
        lifespan="off",
        http=protocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
    )
    # Uvicorn raises the signal once more when it has stopped for it.
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])
