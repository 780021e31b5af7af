"""Look-ups on a PostgreSQL server without a thread: one connection, on which many are under way at once (libpq's pipeline mode).

Handing a statement to a thread and its rows back takes 80 µs of CPU, five times what asking on the event loop does. Each look-up is
followed by a Sync, so that one which fails undoes no other. The connection is made by a thread when the first is asked; what was under way
when it was lost is asked once more. One that holds up all others, because the server's process is frozen or waits for a lock, costs the
connection.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import lru_cache
from itertools import count
from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg import errors, pq
from psycopg.adapt import Transformer

from identity_core.database.interface import DatabaseClosed, DatabaseError, ValueNotStorable
from identity_postgresql.session import PARAMETER, translated

# Each is by an index: it need not be planned anew for its values, and how the server goes about it must not depend on statistics.
BY_INDEX: Final = (
    "SELECT set_config('plan_cache_mode', 'force_generic_plan', false), set_config('enable_seqscan', 'off', false)"
)
PATIENCE_SECONDS: Final = 5
"""How long one is waited for, or up to a second less: as long as for a connection and for a lock."""
_BINARY: Final = 1

Rows = list[Any]


class LookUp(Struct, eq=False):
    """One that was asked; ``result`` is what has come of it."""

    sql: str
    values: Sequence[bytes | None]
    formats: Sequence[int]
    future: asyncio.Future[Rows]
    asked: int
    """The second, of those in which something was under way."""
    is_repeated: bool = False
    result: pq.abc.PGresult | None = None


class LookUps:
    """``connect`` makes a connection, on a thread of ``threads``."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]], threads: Executor) -> None:
        self._connect = connect
        self._threads = threads
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: psycopg.Connection[Any] | None = None
        self._socket = -1
        self._rows = Transformer()
        self._names: dict[str, bytes] = {}
        self._numbers = count()
        self._is_connecting = self._is_writing = False
        self._waiting: list[LookUp] = []
        self._sent: deque[LookUp] = deque()
        # A timer for all of them: one for each would cost a sixth of a look-up.
        self._seconds = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def under_way(self) -> int:
        """Return how many are, or wait for a connection."""
        return len(self._sent) + len(self._waiting)

    def ask(self, sql: str, parameters: Mapping[str, object]) -> asyncio.Future[Rows]:
        """See ``Database.look_up``."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._move(loop)
        values, formats = _encoded(parameters[name] for name in numbered(sql)[1])
        look_up = LookUp(sql, values, formats, loop.create_future(), self._seconds)
        if self._timer is None:
            self._timer = loop.call_later(1, self._look_at_the_clock)
        self._send([look_up])
        return look_up.future

    def _move(self, loop: asyncio.AbstractEventLoop) -> None:
        """Bind to ``loop`` from now on; no caller waits on the former loop."""
        self._drop()
        self._loop, self._timer, self._is_connecting = loop, None, False
        self._waiting.clear()
        self._sent.clear()

    def _send(self, look_ups: Sequence[LookUp]) -> None:
        if self._connection is None:
            self._waiting += look_ups
            self._begin_connecting()
            return
        try:
            self._sent += look_ups
            for look_up in look_ups:
                self._queue(self._connection.pgconn, look_up)
            self._flush(self._connection.pgconn)
        except psycopg.OperationalError as error:
            self._lost(error)

    def _queue(self, connection: pq.abc.PGconn, look_up: LookUp) -> None:
        name = self._names.get(look_up.sql)
        if name is None:
            name = self._names[look_up.sql] = b"look_up_%d" % next(self._numbers)
            connection.send_prepare(name, numbered(look_up.sql)[0])
        connection.send_query_prepared(name, look_up.values, look_up.formats, result_format=_BINARY)
        connection.pipeline_sync()

    # The connection

    def _begin_connecting(self) -> None:
        loop = self._loop
        if self._is_connecting or loop is None:
            return
        self._is_connecting = True
        loop.run_in_executor(self._threads, self._connected).add_done_callback(self._take)

    def _connected(self) -> psycopg.Connection[Any]:
        connection = self._connect()
        connection.pgconn.nonblocking = 1
        connection.pgconn.enter_pipeline_mode()
        return connection

    def _take(self, connecting: asyncio.Future[psycopg.Connection[Any]]) -> None:
        error = connecting.exception()
        waiting, self._waiting, self._is_connecting = self._waiting, [], False
        if isinstance(error, psycopg.Error):
            _fail(waiting, translated(error))
        elif error is not None:
            _fail(waiting, DatabaseClosed("the database is closed"))
        elif self._loop is None:
            connecting.result().close()
        else:
            self._connection = connecting.result()
            self._rows = Transformer(self._connection)
            # libpq closes its own when the connection is lost, before the loop can be told.
            self._socket = os.dup(self._connection.pgconn.socket)
            self._loop.add_reader(self._socket, self._receive)
            # Sent ahead and not waited for by the thread, which would wait without an end for a server that is frozen.
            cancelled = self._loop.create_future()
            cancelled.cancel()
            self._send([LookUp(BY_INDEX, (), (), cancelled, self._seconds), *waiting])

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
        os.close(self._socket)
        self._is_writing = False
        self._names.clear()
        connection.close()

    def _lost(self, error: psycopg.Error, late: int = -1) -> None:
        """Repeat an interrupted query on a new connection, once, unless it was sent in the second ``late`` or
        before."""
        self._drop()
        sent = [*self._sent]
        self._sent.clear()
        _fail([look_up for look_up in sent if look_up.is_repeated or look_up.asked <= late], translated(error))
        if again := [look_up for look_up in sent if not look_up.future.done()]:
            self._repeat(again)

    def _look_at_the_clock(self) -> None:
        """Check the deadlines, each second in which a query runs. A process that was suspended itself has not waited meanwhile."""
        self._timer = None
        self._seconds += 1
        late = self._seconds - PATIENCE_SECONDS
        error = psycopg.OperationalError("the server does not answer")
        _fail([look_up for look_up in self._waiting if look_up.asked <= late], translated(error))
        self._waiting = [look_up for look_up in self._waiting if not look_up.future.done()]
        if any(look_up.asked <= late for look_up in self._sent):
            self._lost(error, late)
        if self._loop is not None and self.under_way:
            self._timer = self._loop.call_later(1, self._look_at_the_clock)

    def _repeat(self, look_ups: Sequence[LookUp]) -> None:
        for look_up in look_ups:
            look_up.is_repeated, look_up.result = True, None
        self._send(look_ups)

    def close(self) -> None:
        """Stop all queries."""
        self._drop()
        self._loop = None
        if self._timer is not None:
            self._timer.cancel()
        _fail([*self._sent, *self._waiting], DatabaseClosed("the database is closed"))
        self._sent.clear()
        self._waiting.clear()

    # What is under way

    def _flush(self, connection: pq.abc.PGconn) -> None:
        """Send what the socket takes; the rest when it takes more."""
        is_left = connection.flush() == 1
        if is_left is self._is_writing or self._loop is None:
            return
        self._is_writing = is_left
        if is_left:
            self._loop.add_writer(self._socket, self._go_on)
        else:
            self._loop.remove_writer(self._socket)

    def _go_on(self) -> None:
        if self._connection is not None:
            try:
                self._flush(self._connection.pgconn)
            except psycopg.OperationalError as error:
                self._lost(error)

    def _receive(self) -> None:
        if self._connection is None:
            return
        connection = self._connection.pgconn
        try:
            connection.consume_input()
            self._flush(connection)
            self._take_results(connection)
        except psycopg.OperationalError as error:
            self._lost(error)

    def _take_results(self, connection: pq.abc.PGconn) -> None:
        """Read the results: each look-up has its own, a NULL after each, and a Sync."""
        was_null = False
        while self._sent and not connection.is_busy():
            result = connection.get_result()
            if result is None:
                if was_null:
                    raise psycopg.OperationalError("the connection is lost")
                was_null = True
                continue
            was_null = False
            if result.status == pq.ExecStatus.PIPELINE_SYNC:
                self._finish(self._sent.popleft())
            elif result.status != pq.ExecStatus.PIPELINE_ABORTED:
                self._sent[0].result = result

    def _finish(self, look_up: LookUp) -> None:
        result, future = look_up.result, look_up.future
        if future.done() or result is None:
            return
        if result.status != pq.ExecStatus.TUPLES_OK:
            self._names.pop(look_up.sql, None)
            error = errors.error_from_result(result)
            if isinstance(error, errors.InvalidSqlStatementName) and not look_up.is_repeated:
                # It was prepared for one before, whose preparation failed.
                self._repeat([look_up])
            else:
                future.set_exception(translated(error))
            return
        self._rows.set_pgresult(result)
        future.set_result(self._rows.load_rows(0, result.ntuples, tuple))


@lru_cache(maxsize=256)
def numbered(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a statement with ``$1`` instead of ``:name``, and the names in their order."""
    names = tuple(dict.fromkeys(PARAMETER.findall(sql)))
    return PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", sql).encode(), names


def _encoded(values: Any) -> tuple[list[bytes | None], list[int]]:
    """Values as they are sent, and their formats: the server knows by itself what types it expects. Raises ``ValueNotStorable``."""
    encoded: list[bytes | None] = []
    formats: list[int] = []
    for value in values:
        is_octets = isinstance(value, bytes)
        if not is_octets and value is not None:
            value = str(value).encode()
            if b"\0" in value:
                raise ValueNotStorable("a text with U+0000")
        encoded.append(value)
        formats.append(is_octets)
    return encoded, formats


def _fail(look_ups: Sequence[LookUp], error: DatabaseError) -> None:
    for look_up in look_ups:
        if not look_up.future.done():
            look_up.future.set_exception(error)
