"""The page of figures: what the benchmarks measured when they were last run."""

from __future__ import annotations

from pathlib import Path

from docs.generate.document import page
from tools.bench.page import body, load

FIGURES = Path(__file__).resolve().parents[1] / "reference" / "figures.json"


def figures_page() -> str:
    """The committed figures."""
    return page(
        "# Figures",
        "What the benchmarks measured when they were last run, beside what is promised. `python -m tools.bench.report` measures anew; "
        "`tools/bench/README.md` says how to read the figures.",
        f"```{{raw}} html\n{body(load(FIGURES))}\n```",
    )
