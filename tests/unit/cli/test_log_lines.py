"""Log lines: one line a record, nothing in it that a terminal obeys, and of the server's own only what matters."""

from __future__ import annotations

import json
import logging
import logging.config
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_core.cli import log_lines
from identity_core.cli.log_lines import REPEAT_SECONDS, JsonLines, Repeats, ServerLines, TextLines, logging_config
from identity_core.settings import Log

NASTY = "a\r\nb\x1b[31m\u2028\u202e\x00\ud800\x9b"


def record(message: str, *arguments: object, name: str = "identity", level: int = logging.INFO) -> logging.LogRecord:
    made = logging.LogRecord(name, level, __file__, 1, message, arguments, None)
    made.created = 1767323045.9
    return made


def test_text() -> None:
    assert TextLines().format(record("said %s", "so")) == "2026-01-02T03:04:05Z INFO identity: said so"


def test_json() -> None:
    line = json.loads(JsonLines().format(record("said %s", "so", level=logging.WARNING)))
    process = line.pop("process")
    assert line == {
        "time": "2026-01-02T03:04:05Z",
        "level": "warning",
        "logger": "identity",
        "message": "said so",
    }
    assert process > 0


@pytest.mark.parametrize("lines", [TextLines(), JsonLines()])
@given(text=st.text(max_size=50) | st.just(NASTY))
def test_nobody_writes_a_second_line(lines: logging.Formatter, text: str) -> None:
    line = lines.format(record("%s", text))
    assert line.isprintable()


@pytest.mark.parametrize("lines", [TextLines(), JsonLines()])
def test_an_exception_is_told_and_short(lines: logging.Formatter) -> None:
    try:
        raise RuntimeError(NASTY + "x" * 100_000)
    except RuntimeError:
        made = record("broke: %s", "y\n" * 100_000)
        made.exc_info = sys.exc_info()
    line = lines.format(made)
    assert len(line.encode()) <= 8192
    assert all(part.isprintable() for part in line.split("\n"))
    if isinstance(lines, JsonLines):
        assert "\n" not in line
        assert json.loads(line)["exception"]


def passes(level: str, name: str, message: str, severity: int) -> bool:
    return ServerLines(all_lines=level == "debug").filter(record(message, name=name, level=severity))


def test_of_the_server_only_what_matters() -> None:
    assert not passes("info", "uvicorn.error", "Started server process [%d]", logging.INFO)
    assert passes("debug", "uvicorn.error", "Started server process [%d]", logging.INFO)
    assert passes("info", "uvicorn.error", "Child process [1] died", logging.INFO)
    assert passes("info", "uvicorn.error", "Exception in ASGI application", logging.ERROR)
    assert passes("info", "identity", "anything", logging.INFO)


@pytest.mark.parametrize(("form", "formatter"), [("text", TextLines), ("json", JsonLines)])
def test_the_settings_choose(form: str, formatter: type, monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    loggers = {name: logging.getLogger(name).level for name in ("identity", "identity_core", "uvicorn")}
    try:
        logging.config.dictConfig(logging_config(Log(level="warning", format=form)))  # type: ignore[arg-type]
        assert type(root.handlers[0].formatter) is formatter
        assert not logging.getLogger("identity.sealed").isEnabledFor(logging.INFO)
        assert logging.getLogger("identity.sealed").isEnabledFor(logging.WARNING)
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        for name, own in loggers.items():
            logging.getLogger(name).setLevel(own)


def with_fields(story: object, **fields: object) -> logging.LogRecord:
    made = record("failed", level=logging.ERROR)
    made.fields, made.story = fields, story
    return made


def test_fields_follow_the_message() -> None:
    made = with_fields(None, status=200, requestId="a-1")
    assert TextLines().format(made) == "2026-01-02T03:04:05Z ERROR identity: failed status=200 requestId=a-1"
    line = json.loads(JsonLines().format(made))
    assert (line["message"], line["status"], line["requestId"]) == ("failed", 200, "a-1")


def test_a_failure_that_repeats_itself_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(log_lines.time, "monotonic", lambda: now)
    repeats = Repeats()
    told = [repeats.filter(with_fields("disk full", requestId=str(number))) for number in range(1000)]
    assert told == [True] + [False] * 999
    assert repeats.filter(with_fields("another"))
    assert all(repeats.filter(record("no failure")) for _ in range(3))
    now += REPEAT_SECONDS
    again = with_fields("disk full", requestId="last")
    assert repeats.filter(again)
    assert again.fields == {"requestId": "last", "timesBefore": 999}  # type: ignore[attr-defined]


def test_a_traceback_that_repeats_itself_is_counted() -> None:
    repeats, told = Repeats(), []
    for kind in (ValueError, ValueError, KeyError):
        try:
            raise kind
        except (ValueError, KeyError):
            made = record("broke")
            made.exc_info = sys.exc_info()
            told.append(repeats.filter(made))
    assert told == [True, False, True]
