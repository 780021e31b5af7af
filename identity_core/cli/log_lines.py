"""What goes to stderr: one line a record, in the settings' format, for our own loggers and for the server's.

A record holds words of strangers (a path, a header, a plugin's message), so characters that a terminal or a line-based
collector would obey are escaped, and a line stays below 8 KiB. Left out: an access log; the metrics count requests.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

import orjson

from identity_core.cli.output import escaped
from identity_core.settings import Log

MESSAGE_CHARACTERS, TRACE_CHARACTERS = 2_000, 1_500


def logging_config(log: Log) -> dict[str, Any]:
    """For ``logging.config.dictConfig``, here and in every worker process."""
    level = log.level.upper()
    formatter = "JsonLines" if log.format == "json" else "TextLines"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"server": {"()": f"{__name__}.ServerLines", "all_lines": log.level == "debug"}},
        "formatters": {"lines": {"()": f"{__name__}.{formatter}"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines", "filters": ["server"]}},
        "root": {"handlers": ["stderr"], "level": "WARNING" if log.level in ("debug", "info") else level},
        "loggers": {"identity": {"level": level}, "identity_core": {"level": level}, "uvicorn": {"level": level}},
    }


class ServerLines(logging.Filter):
    """Of the HTTP server's own lines, keeps warnings and a worker's death; ours say the rest once."""

    def __init__(self, *, all_lines: bool) -> None:
        super().__init__()
        self._all_lines = all_lines

    def filter(self, record: logging.LogRecord) -> bool:
        if self._all_lines or not record.name.startswith("uvicorn") or record.levelno >= logging.WARNING:
            return True
        return str(record.msg).startswith("Child process")


class TextLines(logging.Formatter):
    """``2026-01-02T03:04:05Z WARNING identity: what happened``; the lines of a traceback follow after ``|``."""

    def format(self, record: logging.LogRecord) -> str:
        time, message, trace = _parts(self, record)
        head = f"{time} {record.levelname} {record.name}: {message}"
        return "\n".join([head, *(f"  | {line}" for line in trace)])


class JsonLines(logging.Formatter):
    """One object a line: ``time``, ``level``, ``logger``, ``message``, ``process``, and ``exception`` where there is
    one."""

    def format(self, record: logging.LogRecord) -> str:
        time, message, trace = _parts(self, record)
        line: dict[str, Any] = {"time": time, "level": record.levelname.lower(), "logger": record.name}
        line |= {"message": message, "process": record.process} | ({"exception": trace} if trace else {})
        return orjson.dumps(line).decode()


def _parts(formatter: logging.Formatter, record: logging.LogRecord) -> tuple[str, str, list[str]]:
    """The time, the message, and the end of the traceback: the last frames say where it happened."""
    time = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    message = escaped(record.getMessage()[:MESSAGE_CHARACTERS])
    if len(message) > MESSAGE_CHARACTERS:
        message = f"{message[: MESSAGE_CHARACTERS - 1]}…"
    trace = formatter.formatException(record.exc_info)[-TRACE_CHARACTERS:] if record.exc_info else ""
    return time, message, [escaped(line) for line in trace.splitlines()]
