from __future__ import annotations

import pytest
from identity_did_key import DidKey, DidKeySettings
from identity_kit.conformance.did_method import DidMethodConformance


class TestDidKey(DidMethodConformance):
    @pytest.fixture
    def method(self) -> DidKey:
        return DidKey(DidKeySettings())
