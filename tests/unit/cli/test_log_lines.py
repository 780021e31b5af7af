"""Log lines: one line a record, nothing in it that a terminal obeys, and of the server's own only what matters."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import logging.config
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_core.api import request_log
from identity_core.api.request_log import RequestRecord
from identity_core.cli import log_lines
from identity_core.cli.log_lines import (
    REPEAT_SECONDS,
    REQUESTS,
    JsonLines,
    Repeats,
    ServerLines,
    Stderr,
    TextLines,
    logging_config,
)
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


class Stream(io.StringIO):
    """Remembers each call."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def write(self, text: str) -> int:
        self.writes.append(text)
        return len(text)


def stderr(stream: io.StringIO) -> Stderr:
    handler = Stderr()
    handler.setStream(stream)
    handler.setFormatter(TextLines())
    return handler


def request(number: int) -> logging.LogRecord:
    made = RequestRecord({"status": 200, "requestId": str(number)})
    made.created = 1767323045.9
    return made


def line_of(number: int) -> str:
    return f"2026-01-02T03:04:05Z INFO identity.request: request status=200 requestId={number}\n"


def test_the_logger_of_requests_is_known_by_its_name() -> None:
    assert request_log.log.name == REQUESTS


@pytest.mark.parametrize("lines", [TextLines(), JsonLines()])
def test_a_record_of_a_request_is_written_as_any_other_with_its_fields(lines: logging.Formatter) -> None:
    ours, plain = request(1), record("request", name=REQUESTS)
    ours.fields = plain.fields = {"status": 200, "requestId": NASTY.replace("\ud800", "")}  # type: ignore[attr-defined]
    # The same record under the name of another logger goes the way of all others.
    plain.name = "identity.others"
    assert lines.format(ours) == lines.format(plain).replace("identity.others", REQUESTS)
    assert "\n" not in lines.format(ours)


def test_lines_of_requests_of_one_turn_are_one_write() -> None:
    stream = Stream()
    handler = stderr(stream)

    async def turns() -> list[int]:
        for number in range(3):
            handler.handle(request(number))
        seen = [len(stream.writes)]
        await asyncio.sleep(0)
        handler.handle(request(3))
        await asyncio.sleep(0)
        return [*seen, len(stream.writes)]

    assert asyncio.run(turns()) == [0, 2]
    assert stream.writes == ["".join(map(line_of, range(3))), line_of(3)]


def test_another_record_comes_after_the_requests_before_it() -> None:
    stream = Stream()
    handler = stderr(stream)

    async def turn() -> list[str]:
        handler.handle(request(0))
        handler.handle(record("broke", level=logging.ERROR))
        return [*stream.writes]

    written = asyncio.run(turn())
    assert "".join(written) == line_of(0) + "2026-01-02T03:04:05Z ERROR identity: broke\n"


def test_nothing_waits_where_no_loop_runs_and_nothing_is_lost_at_the_end() -> None:
    stream = Stream()
    handler = stderr(stream)
    handler.handle(request(0))
    assert stream.writes == [line_of(0)]
    loop = asyncio.new_event_loop()
    # The loop ends in the turn in which the request was answered.
    loop.call_soon(lambda: (handler.handle(request(1)), loop.stop()))
    loop.run_forever()
    loop.close()

    async def another() -> None:
        handler.handle(request(2))
        await asyncio.sleep(0)
        handler.handle(request(3))

    asyncio.run(another())
    handler.handle(request(4))
    assert "".join(stream.writes) == "".join(map(line_of, range(5)))


def test_what_waits_is_written_when_the_handler_is_replaced() -> None:
    stream = Stream()
    handler = stderr(stream)

    async def turn() -> None:
        handler.handle(request(0))
        # As ``dictConfig`` does it when the settings are read again.
        logging.shutdown([lambda: handler])
        assert stream.writes == [line_of(0)]

    asyncio.run(turn())
    assert stream.writes == [line_of(0)]


def test_a_stream_that_is_broken_breaks_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    handler = stderr(stream)
    stream.close()
    failed = []
    monkeypatch.setattr(handler, "handleError", failed.append)
    handler.handle(request(0))
    handler.setStream(working := Stream())
    handler.handle(request(1))
    assert len(failed) == 1
    assert working.writes == [line_of(1)]
