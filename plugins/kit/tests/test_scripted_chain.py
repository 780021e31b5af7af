"""The chain of the anchoring tests keeps the promises of the port, so that what is shown on it is shown."""

from __future__ import annotations

from typing import Any

import pytest
from identity_kit.conformance.anchoring import AnchoringLedgerConformance
from identity_kit.conformance.ledger import LedgerConformance

from tests.anchoring import ScriptedChain


class TestScriptedChain(LedgerConformance, AnchoringLedgerConformance):
    shared_chain = True

    @pytest.fixture
    def ledger(self) -> Any:
        return ScriptedChain(is_impatient=True)
