"""How far witnesses are behind, in the metrics."""

from __future__ import annotations

from identity_observability.metrics import Metrics
from identity_transparency.extension import witness_gauges


class Fed:
    seconds = 2.5

    def lags(self) -> dict[str, float]:
        return {"w1": 0.0, "w\ufffd": self.seconds}

    def quorum_lag(self) -> float:
        return self.seconds * 2


def test_they_follow_the_feeder() -> None:
    fed = Fed()
    measured = Metrics([*witness_gauges(fed)], shared=None)
    text = measured.render({}).decode()
    assert 'identity_witness_lag_seconds{witness="w1"} 0.0' in text
    assert 'identity_witness_lag_seconds{witness="w\ufffd"} 2.5' in text
    assert "identity_witness_quorum_lag_seconds 5.0" in text
    fed.seconds = 0.0
    assert "identity_witness_quorum_lag_seconds 0.0" in measured.render({}).decode()
