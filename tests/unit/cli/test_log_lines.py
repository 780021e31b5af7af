"""Log lines: one line a record, nothing in it that a terminal obeys, and of the server's own only what matters."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import logging.config
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_core.api import access_log
from identity_core.api.access_log import AnsweredRequest
from identity_core.cli import log_lines
from identity_core.cli.log_lines import (
    OCTETS_AT_ONCE,
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


def test_only_important_server_lines_are_logged() -> None:
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


def request(number: int, code: str = "") -> AnsweredRequest:
    return AnsweredRequest(
        "GET", "resolveDid", 401 if code else 200, 0.81, 0, 812, "key:3f2a90c1d7e8", f"a-{number}", code
    )


def line_of(number: int, code: str = "") -> str:
    return TextLines().request(request(number, code), 1767323045.9) + "\n"


@pytest.fixture(autouse=True)
def standing_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines.time, "time", lambda: 1767323045.9)


def test_the_logger_of_requests_is_known_by_its_name() -> None:
    assert access_log.log.name == REQUESTS


def test_the_line_of_a_request() -> None:
    assert line_of(1) == (
        "2026-01-02T03:04:05Z INFO identity.request: request method=GET operation=resolveDid status=200 milliseconds=0.81 "
        "octetsIn=0 octetsOut=812 caller=key:3f2a90c1d7e8 requestId=a-1\n"
    )


@pytest.mark.parametrize("lines", [TextLines(), JsonLines()])
@pytest.mark.parametrize("code", ["", "AUTH_REQUIRED"])
@pytest.mark.parametrize("milliseconds", [0.0, 0.81, 12345.67, 1e9])
def test_a_line_without_a_record_is_the_one_of_a_record(
    lines: TextLines | JsonLines, code: str, milliseconds: float
) -> None:
    answered = request(1, code)._replace(milliseconds=milliseconds)
    made = logging.getLogger(REQUESTS).makeRecord(
        REQUESTS, logging.INFO, __file__, 0, "request", (), None, extra={"fields": answered.fields()}
    )
    made.created = 1767323045.9
    assert lines.request(answered, made.created) == lines.format(made)


def writes_of(*requests: AnsweredRequest, wait_for: int) -> list[str]:
    """What is written of requests that are answered in one turn, when there are so many writes."""
    stream = Stream()
    handler = stderr(stream)

    async def answer() -> None:
        for each in requests:
            handler.answered(each)
        async with asyncio.timeout(30):
            while len(stream.writes) < wait_for:
                await asyncio.sleep(0)

    asyncio.run(answer())
    return stream.writes


def test_lines_of_requests_are_one_write_after_a_while() -> None:
    assert writes_of(*map(request, range(3)), wait_for=1) == ["".join(map(line_of, range(3)))]


def test_a_refusal_waits_for_the_end_of_the_turn_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "WAIT_SECONDS", 3_600)
    assert writes_of(request(0), request(1, "AUTH_REQUIRED"), request(2), wait_for=1) == [
        line_of(0) + line_of(1, "AUTH_REQUIRED") + line_of(2)
    ]


def test_no_write_is_larger_than_what_a_pipe_takes_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "WAIT_SECONDS", 3_600)
    writes = writes_of(*map(request, range(200)), wait_for=1)
    assert all(len(each) <= OCTETS_AT_ONCE and each.endswith("\n") for each in writes)
    # What is left does not fill a piece.
    assert "".join(map(line_of, range(200))).startswith("".join(writes))
    assert 200 - sum(each.count("\n") for each in writes) <= OCTETS_AT_ONCE / len(line_of(199))


def test_nor_where_the_lines_are_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "WAIT_SECONDS", 3_600)
    stream = Stream()
    handler = stderr(stream)
    handler.setFormatter(JsonLines())
    longest = request(0, "DELEGATION_LIMIT_EXCEEDED")._replace(request_id="r" * 64, caller="did:" + "c" * 64)

    async def answer() -> None:
        for _ in range(100):
            handler.answered(longest)

    asyncio.run(answer())
    handler.flush()
    assert all(len(each) <= OCTETS_AT_ONCE and each.endswith("\n") for each in stream.writes)
    assert "".join(stream.writes) == 100 * (JsonLines().request(longest, 1767323045.9) + "\n")


def test_queued_line_has_the_time_of_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([1767323045.9, 1767323046.0])
    monkeypatch.setattr(log_lines.time, "time", lambda: next(times))
    (written,) = writes_of(request(0), request(1), wait_for=1)
    assert [line.partition(" ")[0] for line in written.splitlines()] == ["2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"]


def test_no_line_is_lost_or_told_twice() -> None:
    stream = Stream()
    handler = stderr(stream)
    ended = threading.Event()

    def break_in() -> None:
        while not ended.is_set():
            handler.handle(record("broke", level=logging.ERROR))

    async def answer() -> None:
        for number in range(5_000):
            handler.answered(request(number))

    thread = threading.Thread(target=break_in)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        asyncio.run(answer())
    finally:
        sys.setswitchinterval(before)
        ended.set()
        thread.join()
    handler.flush()
    told = [line for line in "".join(stream.writes).splitlines() if "broke" not in line]
    assert told == [line_of(number).rstrip() for number in range(5_000)]


def test_another_record_comes_after_the_requests_before_it() -> None:
    stream = Stream()
    handler = stderr(stream)

    async def turn() -> list[str]:
        handler.answered(request(0))
        handler.handle(record("broke", level=logging.ERROR))
        return [*stream.writes]

    written = asyncio.run(turn())
    assert "".join(written) == line_of(0) + "2026-01-02T03:04:05Z ERROR identity: broke\n"


def test_nothing_waits_where_no_loop_runs() -> None:
    stream = Stream()
    handler = stderr(stream)
    handler.answered(request(0))
    assert stream.writes == [line_of(0)]
    loop = asyncio.new_event_loop()
    # The loop ends in the turn in which the request was answered.
    loop.call_soon(lambda: (handler.answered(request(1)), loop.stop()))
    loop.run_forever()
    loop.close()

    async def another() -> None:
        handler.answered(request(2))
        await asyncio.sleep(0)
        handler.answered(request(3))

    asyncio.run(another())
    handler.answered(request(4))
    assert "".join(stream.writes) == "".join(map(line_of, range(5)))


def test_ended_loop_does_not_block_another_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "WAIT_SECONDS", 0.001)
    stream = Stream()
    handler = stderr(stream)

    async def answer(number: int, wait_for: int) -> None:
        handler.answered(request(number, "AUTH_REQUIRED"))
        handler.answered(request(number))
        async with asyncio.timeout(30):
            while len("".join(stream.writes).splitlines()) < wait_for:
                await asyncio.sleep(0)

    # The first loop ends in the turn in which the request was answered.
    asyncio.run(answer(0, 0))
    asyncio.run(answer(1, 4))
    assert "".join(stream.writes) == "".join(
        line_of(each // 2, "" if each % 2 else "AUTH_REQUIRED") for each in range(4)
    )


def test_queued_lines_are_written_when_handler_is_replaced() -> None:
    stream = Stream()
    handler = stderr(stream)

    async def turn() -> None:
        handler.answered(request(0))
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
    handler.answered(request(0))
    handler.setStream(working := Stream())
    handler.answered(request(1))
    assert len(failed) == 1
    assert working.writes == [line_of(1)]
