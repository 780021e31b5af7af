"""The log lines on stderr: one line a record, in the settings' format, for our own loggers and for the server's.

A record holds words of strangers (a path, a header, a plugin's message), so characters that a terminal or a line-based
collector would obey are escaped, and a line stays below 8 KiB. A record may bring ``fields``, names and values that follow the message,
and ``story``, by which a failure that repeats itself is known.

Lines of requests, of which there are thousands a second, are written together: so many as a pipe takes in one piece, and at the latest
after ``WAIT_SECONDS``, or at the end of the event loop's turn where one of them is a refusal.
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
# A failure is told again after this long, with how often it came in between; so many different ones are known.
REPEAT_SECONDS: Final = 60.0
STORIES: Final = 256
# The logger of ``api/access_log.py``: its records have fields, and neither arguments nor a failure.
REQUESTS: Final = "identity.request"
# Of a process that is killed such lines are lost. What is written in larger pieces than these bytes (PIPE_BUF) could be torn by another
# process that writes to the same pipe.
WAIT_SECONDS: Final = 0.1
OCTETS_AT_ONCE: Final = 4096
# About as many as fit into that.
LINES_AT_ONCE: Final = 20


def logging_config(log: Log) -> dict[str, Any]:
    """For ``logging.config.dictConfig``, here and in every worker process."""
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
    """Writes every record at once, but lines of requests as the module says; those that wait go out before the next record of another kind,
    and when the handler is flushed or closed, so at exit. Where no event loop runs nothing waits."""

    def __init__(self) -> None:
        super().__init__()
        # Lines of records, and requests with their times. Requests are formatted together, which takes half as long.
        # Appending needs no lock, because a flush takes the entries one by one.
        self._waiting: deque[str | tuple[AnsweredRequest, float]] = deque()
        self.formatter: TextLines | JsonLines | None = None
        # The loops that are going to flush, soon and at the end of the turn; one that ended before does not.
        self._soon: asyncio.AbstractEventLoop | None = None
        self._now: asyncio.AbstractEventLoop | None = None

    def answered(self, answered: AnsweredRequest) -> None:
        """Takes note of a request."""
        self._wait((answered, time.time()), is_refusal=answered.status >= 400)

    def handle(self, record: logging.LogRecord) -> bool:
        """Whether the record was let through: those of requests have nothing that the filters look for."""
        if record.name != REQUESTS:
            return bool(super().handle(record))
        self._wait(self.format(record), is_refusal=True)
        return True

    def _wait(self, line: str | tuple[AnsweredRequest, float], *, is_refusal: bool) -> None:
        # Before who flushes is looked for: he who has begun may have seen all that he writes.
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
        """Writes what waits, and the record."""
        self.flush()
        super().emit(record)

    def flush(self) -> None:
        """Writes what waits. A stream that is broken is reported as the library reports it, and the lines are lost."""
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
        """Writes what waits first."""
        self.flush()
        super().close()


def _pieces(lines: Sequence[str]) -> Iterator[str]:
    """The lines, as many at once as ``OCTETS_AT_ONCE`` has room for."""
    piece: list[str] = []
    data = 0
    for line in lines:
        # All of it is ASCII but what a plugin wrote.
        if piece and data + len(line) + 1 > OCTETS_AT_ONCE:
            yield "\n".join([*piece, ""])
            piece, data = [], 0
        piece.append(line)
        data += len(line) + 1
    yield "\n".join([*piece, ""])


class ServerLines(logging.Filter):
    """A filter of the HTTP server's own lines that keeps warnings and the end of a worker; our lines report the rest
    once."""

    def __init__(self, *, all_lines: bool) -> None:
        super().__init__()
        self._all_lines = all_lines

    def filter(self, record: logging.LogRecord) -> bool:
        if self._all_lines or not record.name.startswith("uvicorn") or record.levelno >= logging.WARNING:
            return True
        return str(record.msg).startswith("Child process")


class Repeats(logging.Filter):
    """A filter that passes one of several failures with the same ``story``, or the same traceback, in
    ``REPEAT_SECONDS``. It tells as ``timesBefore`` how many were not since the one before it; each request that failed
    has a line of its own in any case."""

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
        self._told.put(story, [now, 0])
        return True


def _traceback_of(record: logging.LogRecord) -> object:
    if not record.exc_info or record.exc_info[0] is None:
        return None
    kind, _, frames = record.exc_info
    return record.msg, kind, tuple((frame.f_code, line) for frame, line in traceback.walk_tb(frames))


class TextLines(logging.Formatter):
    """``2026-01-02T03:04:05Z WARNING identity: what happened name=value``; the lines of a traceback follow after ``|``."""

    def request(self, answered: AnsweredRequest, created: float) -> str:
        """The same as of a record with the fields of ``answered``."""
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
    """One object a line: ``time``, ``level``, ``logger``, ``message``, ``process``, the record's fields, and
    ``exception`` where there is one."""

    def request(self, answered: AnsweredRequest, created: float) -> str:
        """The same as of a record with the fields of ``answered``."""
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


# Of the same requests there are many in a second.
@lru_cache(maxsize=256)
def _text_head(second: int, method: str, operation: str, status: int) -> str:
    """A line of text, up to the milliseconds."""
    head = f"{_second(second)} INFO {REQUESTS}: request"
    return f"{head} method={method} operation={operation} status={status} milliseconds="


@lru_cache(maxsize=256)
def _json_head(second: int, process: int, method: str, operation: str, status: int) -> str:
    """The same of an object."""
    head = f'{{"time":"{_second(second)}","level":"info","logger":"{REQUESTS}","message":"request","process":{process}'
    return f'{head},"method":"{method}","operation":"{operation}","status":{status},"milliseconds":'


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _parts(formatter: logging.Formatter, record: logging.LogRecord) -> tuple[str, str, list[str]]:
    """The time, the message, and the end of the traceback: the last frames say where it happened."""
    time = _second(int(record.created))
    message = escaped(record.getMessage()[:MESSAGE_CHARACTERS])
    if len(message) > MESSAGE_CHARACTERS:
        message = f"{message[: MESSAGE_CHARACTERS - 1]}…"
    trace = formatter.formatException(record.exc_info)[-TRACE_CHARACTERS:] if record.exc_info else ""
    return time, message, [escaped(line) for line in trace.splitlines()]
