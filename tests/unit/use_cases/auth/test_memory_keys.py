from __future__ import annotations

import pytest
from identity_kit.conformance.key_store import WritableKeyStoreConformance

from tests.unit.use_cases.auth.memory_keys import MemoryKeys


class TestTheFake(WritableKeyStoreConformance):
    @pytest.fixture
    def store(self):
        return MemoryKeys()
