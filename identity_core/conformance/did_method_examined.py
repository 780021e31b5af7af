"""A DID method under examination: whose DIDs it makes, who signs, and one DID that lives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest

from identity_core.conformance.controller import Controller, Life, WalletSigner
from identity_core.domain.change import Create
from identity_core.ports.did_method import DidMethod


class ExaminedDidMethod:
    """The method that every group of promises is about."""

    carries_evidence: ClassVar[bool] = True
    """Whether entries hold the authorization of a change, so that ``apply`` checks it again and knows which challenges were used."""

    step: ClassVar[timedelta] = timedelta(microseconds=1)
    """The steps in which the method records times; a time between two steps is recorded as the earlier."""

    def recorded(self, at: datetime) -> datetime:
        """The time of a version that was drafted for ``at``, long after the version before it."""
        return at - (at - datetime(1970, 1, 1, tzinfo=UTC)) % self.step

    @pytest.fixture
    def method(self) -> DidMethod:
        """The method under test."""
        raise NotImplementedError("give a fixture named method that returns the DID method under test")

    @pytest.fixture
    def controller(self) -> Controller:
        """Whose DIDs they are: the source of all key material."""
        return Controller("conformance")

    @pytest.fixture
    def signer(self) -> WalletSigner:
        """Who signs the entries."""
        return WalletSigner("conformance")

    @pytest.fixture
    def creation(self, method: DidMethod, controller: Controller, signer: WalletSigner) -> Create:
        """How a DID of the method begins."""
        return controller.creation(signer, recovery=method.mutable)

    @pytest.fixture
    def life(self, method: DidMethod, creation: Create, controller: Controller, signer: WalletSigner) -> Life:
        """A DID that was created."""
        return Life(method, creation, controller, signer)
