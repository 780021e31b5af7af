"""The page that a soak leaves: what was asked, what went wrong, and that nothing grew."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tools.bench.bench_soak import Sample
from tools.bench.plots import plot
from tools.soak.load import Told

MEBIBYTE = 2**20
STYLE = "body{font-family:sans-serif;max-width:760px;margin:2em auto}td,th{padding:.2em .8em;text-align:left}"


@dataclass(frozen=True)
class Fault:
    """What went wrong, and the seconds from its begin until a write was taken again."""

    what: str
    begin: float
    end: float


def page(
    seconds: float, told: Told, faults: Sequence[Fault], samples: Sequence[Sample], began: float, wrong: Sequence[str]
) -> str:
    """HTML with plots, loading nothing."""
    marks = [(one.begin, one.end, one.what) for one in faults]
    rates = [
        (b.second, (b.requests - a.requests) / (b.second - a.second))
        for a, b in itertools.pairwise(samples)
        if b.second > a.second
    ]
    failed = collections.Counter(int(moment - began) for moment, _ in told.failures)
    failures = [(float(second), float(failed[second])) for second in range(int(seconds))]
    alive = [one for one in samples if one.anonymous]
    plots = [
        plot("Answers", "a second; grey is a fault", {"all": rates, "failures": failures}, marks),
        plot("Memory", "MiB", {"anonymous": [(one.second, one.anonymous / MEBIBYTE) for one in alive]}, marks),
        plot(
            "Handles",
            "open at once",
            {
                "files": [(one.second, float(one.files)) for one in alive],
                "threads": [(one.second, float(one.threads)) for one in alive],
            },
            marks,
        ),
        plot(
            "Write-ahead logs",
            "MiB",
            {
                "ledger": [(one.second, one.ledger_wal / MEBIBYTE) for one in samples],
                "identity": [(one.second, one.identity_wal / MEBIBYTE) for one in samples],
            },
            marks,
        ),
    ]
    verdict = (
        "Nothing was lost, and nothing was refused that should not have been." if not wrong else "Something is wrong."
    )
    faulty = "".join(
        f"<tr><td>{escape(one.what)}<td>{one.begin:.0f} s<td>{one.end - one.begin:.1f} s" for one in faults
    )
    answers = "".join(
        f"<tr><td>{escape(what)}<td>{status or 'none'}<td>{count}"
        for (what, status), count in sorted(told.answers.items())
    )
    return "\n".join(
        [
            f"<!doctype html><html lang=en><meta charset=utf-8><title>Soak</title><style>{STYLE}</style><h1>Soak of {seconds:.0f} s</h1>",
            f"<p><strong>{verdict}</strong> {len(told.created)} DIDs were acknowledged, and changes of {len(told.changed)} of them.",
            *(f"<p>{escape(line)}" for line in wrong[:200]),
            *plots,
            f"<h2>Faults</h2><table><tr><th>what<th>at<th>until a write was taken{faulty}</table>",
            f"<h2>Answers</h2><table><tr><th>operation<th>status<th>how many{answers}</table></html>",
        ]
    )
