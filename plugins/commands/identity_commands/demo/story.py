"""The steps of the demo: each is run, timed, printed in two lines, and recorded for ``--json``.

Private keys and access tokens are masked everywhere, also those of a demo.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import click
import orjson
from msgspec import Struct, field

from identity_client import Exchange, ServiceError
from identity_core.cli.output import Text, fail

_MASKED: Final = ("privateKey", "access_token")
# Longer text (proofs, signatures, logs) says nothing to people and would fill the terminal.
_LONGEST: Final = 160
_REPORT: Final = "report this: the service is not what it promises"


class Story(Struct):
    """The run of the demo. ``exchanges`` are the requests and responses of the session; ``is_shown`` prints them below their step."""

    exchanges: list[Exchange]
    is_quiet: bool
    is_shown: bool
    steps: list[dict[str, Any]] = field(default_factory=list)
    _chapter: str = ""

    def say(self, text: str) -> None:
        """Print a line, unless only JSON is requested."""
        if not self.is_quiet:
            click.echo(text)

    def chapter(self, title: str) -> None:
        """Begin a chapter."""
        self.say(("\n" if self.steps else "") + click.style(title, bold=True))
        self._chapter = title

    def tell(self, title: str, text: Text, act: Callable[..., Any], *given: Any) -> Any:
        """Run one step, which is ``act`` with the ``given`` values, print a line about its result, and return its answer."""
        self.exchanges.clear()
        started = time.perf_counter()
        answer = act(*given)
        milliseconds = (time.perf_counter() - started) * 1000
        shown = text.format_map(answer) if isinstance(text, str) else text(answer)
        step = {"chapter": self._chapter, "step": title, "shows": shown, "milliseconds": round(milliseconds, 1)}
        step["answer"] = masked(answer)
        if self.is_shown:
            step["exchanges"] = [_recorded(one) for one in self.exchanges]
        self.steps.append(step)
        self.say(f"{len(self.steps):>3}. {title}\n     {click.style(shown, fg='green')}  ({milliseconds:.0f} ms)")
        if self.is_shown:
            self.say("\n".join(map(_exchange_text, self.exchanges)) if self.exchanges else _indented(answer))
        return answer

    def promise(self, kept: bool) -> None:
        """End the demo unless the last step had the expected result."""
        if not kept:
            step = self.steps[-1]
            fail(f"that is not what was promised: {step['shows']}", step["step"], _REPORT)

    def refused(self, title: str, code: str, act: Callable[..., Any], *given: Any) -> None:
        """Run a step that must be refused with ``code``; anything else ends the demo."""
        answer = self.tell(title, refusal_text, attempted, act, *given)
        if answer["code"] != code:
            fail(f"expected a refusal {code}, got {answer['code']}", title, _REPORT)


def attempted(act: Callable[..., Any], *given: Any) -> dict[str, Any]:
    """Return the refusal of ``act``, with its status; without a refusal status 200 and code ``none``."""
    try:
        answer = act(*given)
    except ServiceError as error:
        return {"status": error.status, "code": error.code, "message": error.message}
    return {"status": 200, "code": "none", "answer": answer}


def refusal_text(outcome: dict[str, Any]) -> str:
    """Return a refusal in words."""
    return f"refused: {outcome['status']} {outcome['code']}"


def masked(value: Any, longest: int | None = None) -> Any:
    """Return ``value`` with unusably shortened secrets, and texts cut at ``longest`` characters."""
    if isinstance(value, dict):
        return {name: f"{str(one)[:4]}…" if name in _MASKED else masked(one, longest) for name, one in value.items()}
    if isinstance(value, list):
        return [masked(one, longest) for one in value]
    return _cut(value, longest) if isinstance(value, str) and longest is not None else value


def _recorded(exchange: Exchange) -> dict[str, Any]:
    return {
        "method": exchange.method,
        "path": exchange.path,
        "body": masked(exchange.sent),
        "status": exchange.status,
        "answer": masked(exchange.answer),
        "milliseconds": round(exchange.milliseconds, 1),
    }


def _exchange_text(exchange: Exchange) -> str:
    asked = f"     > {exchange.method} {exchange.path}"
    answered = f"     < {exchange.status}  ({exchange.milliseconds:.0f} ms)"
    return "\n".join(filter(None, (asked, _indented(exchange.sent), answered, _indented(exchange.answer))))


def _indented(body: Any) -> str:
    if body is None:
        return ""
    if not isinstance(body, str):
        body = orjson.dumps(masked(body, _LONGEST), option=orjson.OPT_INDENT_2).decode()
    return "\n".join(f"       {_cut(line, _LONGEST)}" for line in body.splitlines())


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest // 2]}… ({len(text):,} characters)"
