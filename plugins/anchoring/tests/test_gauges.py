"""The figures of anchoring in the metrics."""

from __future__ import annotations

from identity_anchoring.figures import Figures, anchoring_gauges
from identity_observability.metrics import Metrics


def test_they_follow_the_worker() -> None:
    figures = Figures()
    measured = Metrics([*anchoring_gauges(figures)], shared=None)
    figures.waiting, figures.confirmed, figures.trouble = 7, 3, "insufficient funds"
    text = measured.render({}).decode()
    assert "identity_anchoring_waiting 7.0" in text
    assert "identity_anchoring_stuck 1.0" in text
    assert "insufficient" not in text
    figures.waiting, figures.confirmed, figures.trouble = 0, 10, ""
    text = measured.render({}).decode()
    assert "identity_anchoring_waiting 0.0" in text
    assert "identity_anchoring_confirmed_total 10.0" in text
    assert "identity_anchoring_stuck 0.0" in text
