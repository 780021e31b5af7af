"""The log lines on stderr: one line per record, in the settings' format, for this service's loggers and the HTTP
server's.

A record may contain text of unauthenticated clients (a path, a header, a plugin's message). So control characters for
a terminal or a line-based collector are escaped, and a line is shorter than 8 KiB. A record may have ``fields``,
names and values that follow the message, and ``story``, which identifies a repeated failure.

Lines of requests, of which there are thousands per second, are written together, up to the size that a pipe takes in
one piece. They wait at most ``WAIT_SECONDS``; with a refusal among them they wait until the end of the event loop's
iteration.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TextIO

import orjson

from identity_core.api.access_log import AnsweredRequest, RequestHandler
from identity_core.cache import BoundedCache
from identity_core.cli.output import escaped
from identity_core.settings import Log

MESSAGE_CHARACTERS, TRACE_CHARACTERS = 2_000, 1_500
# A failure is logged again after this time, with the number of repetitions; so many different failures are
# remembered.
REPEAT_SECONDS: Final = 60.0
STORIES: Final = 256
# The logger of ``api/access_log.py``: its records have fields, and neither arguments nor a failure.
REQUESTS: Final = "identity.request"
# If a process is killed, such lines are lost. Larger pieces than these bytes (PIPE_BUF) could be interleaved with
# those of another process that writes to the same pipe.
WAIT_SECONDS: Final = 0.1
OCTETS_AT_ONCE: Final = 4096
# About the number of lines that fit into that.
LINES_AT_ONCE: Final = 20


def logging_config(log: Log) -> dict[str, Any]:
    """Return the settings of ``logging.config.dictConfig``, for this process and every worker."""
    level = log.level.upper()
    formatter = "JsonLines" if log.format == "json" else "TextLines"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "server": {"()": f"{__name__}.ServerLines", "all_lines": log.level == "debug"},
            "repeats": {"()": f"{__name__}.Repeats"},
        },
        "formatters": {"lines": {"()": f"{__name__}.{formatter}"}},
        "handlers": {"stderr": {"class": f"{__name__}.Stderr", "formatter": "lines", "filters": ["server", "repeats"]}},
        "root": {"handlers": ["stderr"], "level": "WARNING" if log.level in ("debug", "info") else level},
        "loggers": {"identity": {"level": level}, "identity_core": {"level": level}, "uvicorn": {"level": level}},
    }


class Stderr(logging.StreamHandler[TextIO], RequestHandler):
    """Handler that writes every record at once, but lines of requests together. Waiting lines are written before the
    next record of another kind, and when the handler is flushed or closed, so at exit. Without an event loop no line
    waits."""

    def __init__(self) -> None:
        super().__init__()
        # Lines of records, and requests with their times. Requests are formatted together, which takes half as long.
        # Appending needs no lock, because a flush takes the entries one by one.
        self._waiting: deque[str | tuple[AnsweredRequest, float]] = deque()
        self.formatter: TextLines | JsonLines | None = None
        # The loops with a scheduled flush, soon and at the end of the iteration; the flush of a loop that ended does
        # not happen.
        self._soon: asyncio.AbstractEventLoop | None = None
        self._now: asyncio.AbstractEventLoop | None = None

    def answered(self, answered: AnsweredRequest) -> None:
        """Queue the line of a request."""
        self._wait((answered, time.time()), is_refusal=answered.status >= 400)

    def handle(self, record: logging.LogRecord) -> bool:
        """Handle a record, and return whether it was passed. Records of requests skip the filters, which do not apply
        to them."""
        if record.name != REQUESTS:
            return bool(super().handle(record))
        self._wait(self.format(record), is_refusal=True)
        return True

    def _wait(self, line: str | tuple[AnsweredRequest, float], *, is_refusal: bool) -> None:
        # Appended before the scheduled flush is checked: a flush that has begun may have read the whole queue.
        self._waiting.append(line)
        loop = asyncio._get_running_loop()
        if loop is None or len(self._waiting) >= LINES_AT_ONCE:
            self.flush()
        elif is_refusal:
            if self._now is not loop:
                self._now = loop
                loop.call_soon(self._flush_now)
        elif self._soon is not loop:
            self._soon = loop
            loop.call_later(WAIT_SECONDS, self._flush_late)

    def _flush_now(self) -> None:
        self._now = None
        self.flush()

    def _flush_late(self) -> None:
        self._soon = None
        self.flush()

    def emit(self, record: logging.LogRecord) -> None:
        """Write the waiting lines, and the record."""
        self.flush()
        super().emit(record)

    def flush(self) -> None:
        """Write the waiting lines. A broken stream is reported in the way of ``logging``, and the lines are lost."""
        with self.lock:  # type: ignore[union-attr]
            waiting, request = self._waiting, self.formatter.request if self.formatter is not None else None
            taken = [waiting.popleft() for _ in range(len(waiting))]
            lines = [each if isinstance(each, str) else request(*each) for each in taken]  # type: ignore[misc]
            if lines:
                try:
                    for piece in _pieces(lines):
                        self.stream.write(piece)
                except Exception:  # noqa: BLE001  (a log that cannot be written must not break what it tells of)
                    self.handleError(logging.LogRecord(REQUESTS, logging.INFO, __file__, 0, lines[0], None, None))
                    return
            super().flush()

    def close(self) -> None:
        """Write the waiting lines, and close the handler."""
        self.flush()
        super().close()


def _pieces(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines in pieces of at most ``OCTETS_AT_ONCE`` bytes."""
    piece: list[str] = []
    data = 0
    for line in lines:
        # All of it is ASCII except text from a plugin.
        if piece and data + len(line) + 1 > OCTETS_AT_ONCE:
            yield "\n".join([*piece, ""])
            piece, data = [], 0
        piece.append(line)
        data += len(line) + 1
    yield "\n".join([*piece, ""])


class ServerLines(logging.Filter):
    """A filter of the HTTP server's own lines that keeps warnings and the end of a worker. The other events are
    logged by this service."""

    def __init__(self, *, all_lines: bool) -> None:
        super().__init__()
        self._all_lines = all_lines

    def filter(self, record: logging.LogRecord) -> bool:
        if self._all_lines or not record.name.startswith("uvicorn") or record.levelno >= logging.WARNING:
            return True
        return str(record.msg).startswith("Child process")


class Repeats(logging.Filter):
    """A filter that passes one of several failures with the same ``story``, or the same traceback, in
    ``REPEAT_SECONDS``. Its ``timesBefore`` is the number of failures that were dropped since the previous one. Each
    failed request has its own request line in any case."""

    def __init__(self) -> None:
        super().__init__()
        self._told: BoundedCache[object, list[float]] = BoundedCache(STORIES)

    def filter(self, record: logging.LogRecord) -> bool:
        story = getattr(record, "story", None) or _traceback_of(record)
        if story is None:
            return True
        now = time.monotonic()
        told = self._told.get(story)
        if told is not None and now - told[0] < REPEAT_SECONDS:
            told[1] += 1
            return False
        if told is not None and told[1]:
            record.fields = getattr(record, "fields", {}) | {"timesBefore": int(told[1])}
        self._told.store(story, [now, 0])
        return True


def _traceback_of(record: logging.LogRecord) -> object:
    if not record.exc_info or record.exc_info[0] is None:
        return None
    kind, _, frames = record.exc_info
    return record.msg, kind, tuple((frame.f_code, line) for frame, line in traceback.walk_tb(frames))


class TextLines(logging.Formatter):
    """``2026-01-02T03:04:05Z WARNING identity: what happened name=value``; the lines of a traceback follow after ``|``."""

    def request(self, answered: AnsweredRequest, created: float) -> str:
        """Return the line of a record with the fields of ``answered``."""
        method, operation, status, milliseconds, octets_in, octets_out, caller, request_id, code = answered
        refusal = f" code={code}" if code else ""
        return (
            f"{_text_head(int(created), method, operation, status)}{milliseconds} octetsIn={octets_in} "
            f"octetsOut={octets_out} caller={caller} requestId={request_id}{refusal}"
        )

    def format(self, record: logging.LogRecord) -> str:
        time, message, trace = _parts(self, record)
        fields = "".join(f" {name}={value}" for name, value in getattr(record, "fields", {}).items())
        head = f"{time} {record.levelname} {record.name}: {message}{escaped(fields)}"
        if not trace:
            return head
        return "\n".join([head, *(f"  | {line}" for line in trace)])


class JsonLines(logging.Formatter):
    """One object per line: ``time``, ``level``, ``logger``, ``message``, ``process``, the record's fields, and
    ``exception`` if there is one."""

    def request(self, answered: AnsweredRequest, created: float) -> str:
        """Return the line of a record with the fields of ``answered``."""
        method, operation, status, milliseconds, octets_in, octets_out, caller, request_id, code = answered
        refusal = f',"code":"{code}"' if code else ""
        return (
            f'{_json_head(int(created), os.getpid(), method, operation, status)}{milliseconds},"octetsIn":{octets_in},'
            f'"octetsOut":{octets_out},"caller":"{caller}","requestId":"{request_id}"{refusal}}}'
        )

    def format(self, record: logging.LogRecord) -> str:
        time, message, trace = _parts(self, record)
        line: dict[str, Any] = {"time": time, "level": record.levelname.lower(), "logger": record.name}
        line |= {"message": message, "process": record.process} | getattr(record, "fields", {})
        if trace:
            line["exception"] = trace
        return orjson.dumps(line).decode()


# Cached, because many requests of one second have the same head.
@lru_cache(maxsize=256)
def _text_head(second: int, method: str, operation: str, status: int) -> str:
    """Return the start of a line of text, up to the milliseconds."""
    head = f"{_second(second)} INFO {REQUESTS}: request"
    return f"{head} method={method} operation={operation} status={status} milliseconds="


@lru_cache(maxsize=256)
def _json_head(second: int, process: int, method: str, operation: str, status: int) -> str:
    """Return the start of a JSON object, up to the milliseconds."""
    head = f'{{"time":"{_second(second)}","level":"info","logger":"{REQUESTS}","message":"request","process":{process}'
    return f'{head},"method":"{method}","operation":"{operation}","status":{status},"milliseconds":'


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _parts(formatter: logging.Formatter, record: logging.LogRecord) -> tuple[str, str, list[str]]:
    """Return the time, the message, and the end of the traceback, whose last frames contain the place of the error."""
    time = _second(int(record.created))
    message = escaped(record.getMessage()[:MESSAGE_CHARACTERS])
    if len(message) > MESSAGE_CHARACTERS:
        message = f"{message[: MESSAGE_CHARACTERS - 1]}…"
    trace = formatter.formatException(record.exc_info)[-TRACE_CHARACTERS:] if record.exc_info else ""
    return time, message, [escaped(line) for line in trace.splitlines()]
