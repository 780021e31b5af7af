from __future__ import annotations

from datetime import timedelta

import pytest
from identity_did_webvh import DidWebvh
from identity_kit.conformance.did_method import DidMethodConformance
from webvh_life import make


class TestDidWebvh(DidMethodConformance):
    carries_evidence = False
    step = timedelta(seconds=1)

    @pytest.fixture
    def method(self) -> DidWebvh:
        return make()


class TestWithPortAndWithoutPath(DidMethodConformance):
    carries_evidence = False
    step = timedelta(seconds=1)

    @pytest.fixture
    def method(self) -> DidWebvh:
        return make(host="id.example:8443", path="")
