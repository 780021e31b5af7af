"""Output for terminals only: tables, colours, bars."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from pathlib import Path

import pytest
from identity_commands import terminal

from identity_core.cli import main
from tests.unit.cli.conftest import Commands

ESCAPE = "\x1b"
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PROFILES = {
    "use": "one",
    "profiles": {
        "one": {"url": "https://id.example", "credential": "api_key", "secret": "idk_1"},
        "two": {"url": "https://\x1b[31mid.example/" + "x" * 300, "credential": None, "secret": None},
    },
}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def profiles(here: Path) -> None:
    path = here / "config/identity/profiles.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(PROFILES))
    path.chmod(0o600)


def on_a_terminal(*words: str) -> tuple[str, str]:
    """Return what `identity` writes to the standard output and error of a real terminal."""
    shown = []
    with contextlib.ExitStack() as stack:
        for redirect in (contextlib.redirect_stdout, contextlib.redirect_stderr):
            master, slave = os.openpty()
            file = stack.enter_context(os.fdopen(slave, "w"))
            stack.enter_context(redirect(file))
            shown.append(master)
        with contextlib.suppress(SystemExit):
            main([*words], prog_name="identity")
        sys.stdout.flush()
        sys.stderr.flush()
        texts = []
        for master in shown:
            os.set_blocking(master, False)
            data = b""
            with contextlib.suppress(BlockingIOError):
                while part := os.read(master, 65536):
                    data += part
            texts.append(data.decode())
            os.close(master)
    return texts[0], texts[1]


def test_a_list_is_a_table_on_a_terminal(identity: Commands, profiles: None) -> None:
    text, _ = on_a_terminal("use")
    assert ESCAPE in text
    lines = SEQUENCE.sub("", text).splitlines()
    assert lines[0].split() == ["IN", "USE", "PROFILE", "URL", "CREDENTIAL"]
    assert lines[1].split() == ["yes", "one", "https://id.example", "an", "API", "key"]
    # One row a record, whatever others wrote: nothing of it is obeyed, nothing is cut.
    assert len(lines) == 3
    assert "\\u001b[31mid.example/" + "x" * 300 in lines[2]
    assert "idk_1" not in text


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_color_prints_like_a_pipe(
    identity: Commands, profiles: None, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    piped = identity.ok("use")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    text, _ = on_a_terminal("use")
    assert text.replace("\r\n", "\n") == piped
    _, error = on_a_terminal("did", "nothing")
    assert error.replace("\r\n", "\n") == identity("did", "nothing").stderr


def test_json_is_the_same_everywhere(identity: Commands, profiles: None) -> None:
    text, _ = on_a_terminal("use", "--json")
    assert text.replace("\r\n", "\n") == identity.ok("use", "--json")


def test_cells_of_two_columns_are_counted() -> None:
    lines = terminal.table_lines(
        {"NAME": "{a}", "MORE": "{b}"},
        [{"a": "\u9ebb\u5c0b", "b": "x"}, {"a": "abcde", "b": "y"}],
        str,
        in_colour=False,
    )
    assert lines == ["NAME   MORE", "\u9ebb\u5c0b   x", "abcde  y"]


def test_pipe_gets_no_progress(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "DELAY_SECONDS", 0)
    with terminal.progress([1, 2], "things") as steps:
        assert list(steps) == [1, 2]
    assert capfd.readouterr().err == ""


def test_errors_and_states_have_colours(identity: Commands, here: Path) -> None:
    _, error = on_a_terminal("did", "nothing")
    assert error.startswith("\x1b[31m\x1b[1merror:\x1b[0m No such command")
    text, _ = on_a_terminal("doctor")
    assert re.search(r"\x1b\[31m\x1b\[1mfail\x1b\[0m +installation", text)
    assert SEQUENCE.sub("", text).replace("\r\n", "\n") == identity("doctor").stdout


def shown_by(bar: terminal.Progress) -> None:
    """Waits until the line is shown, as it is after the delay."""
    bar._timer.join()


def test_progress_comes_with_the_delay_and_goes_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "DELAY_SECONDS", 0)
    with contextlib.redirect_stderr(Terminal()) as screen, terminal.Progress("entries", range(4)) as bar:
        bar.update(1)
        shown_by(bar)
        bar.update(3)
    assert "entries" in screen.getvalue()
    assert "100%" in screen.getvalue()
    # The line is cleared: what is printed next stands where it was.
    assert screen.getvalue().endswith("\x1b[2K")


def test_immediate_work_shows_no_progress() -> None:
    with contextlib.redirect_stderr(Terminal()) as screen:
        with terminal.progress(range(3), "entries") as steps:
            assert list(steps) == [0, 1, 2]
        with terminal.working("waiting"):
            pass
    assert screen.getvalue() == ""


def fail_under_progress() -> None:
    with terminal.working("entries") as bar:
        shown_by(bar)
        raise ValueError("broken")


def test_progress_ends_with_what_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "DELAY_SECONDS", 0)
    with contextlib.redirect_stderr(Terminal()) as screen, pytest.raises(ValueError, match="broken"):
        fail_under_progress()
    assert "entries" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")
