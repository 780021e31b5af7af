"""The plugins that verify bearer tokens, asked one after the other until one answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from identity_core.domain.caller import Caller
from identity_core.errors import PluginUnavailable
from identity_core.plugin.border import border
from identity_core.plugin.bulkhead import Bulkhead, Limits
from identity_core.plugin.collect import BearerOffer
from identity_core.plugin.results import check_for
from identity_core.plugin.sockets import BEARER_CONTRACT, BEARER_HOOK, BEARER_RESULT
from identity_core.ports.clock import Clock

Verifier = Callable[[str, datetime], Caller | None]


@dataclass(frozen=True, slots=True)
class BearerChain:
    """A ``BearerVerifier`` made of all of them, in order of their names."""

    verifiers: tuple[Verifier, ...]
    bulkheads: tuple[Bulkhead, ...]

    @classmethod
    def of(cls, offers: Iterable[BearerOffer], limits: Limits, clock: Clock, logger: logging.Logger) -> BearerChain:
        """The chain of all implementations of the hook, each behind the border."""
        offers = tuple(offers)
        bulkheads = tuple(
            Bulkhead(f"bearer:{offer.source.name}", limits, BEARER_CONTRACT, clock, logger) for offer in offers
        )
        check = check_for(BEARER_RESULT)
        verifiers = (
            border(_with_its_arguments(offer), BEARER_HOOK, check, bulkhead)
            for offer, bulkhead in zip(offers, bulkheads, strict=True)
        )
        return cls(tuple(verifiers), bulkheads)

    def __call__(self, token: str, now: datetime) -> Caller | None:
        """The caller of a bearer token, or None when no plugin knows it.

        Raises ``AuthFailed`` when the plugin that knows it refuses it. A plugin that breaks is passed over, so that it
        cannot hide a good one; only when no other answers, ``PluginUnavailable``: the token may have been good.
        """
        broken: PluginUnavailable | None = None
        for verify in self.verifiers:
            try:
                caller = verify(token, now)
            except PluginUnavailable as error:
                broken = error
                continue
            if caller is not None:
                return caller
        if broken is not None:
            raise broken
        return None


def _with_its_arguments(offer: BearerOffer) -> Verifier:
    def verify(token: str, now: datetime) -> Caller | None:
        given = {"token": token, "now": now}
        caller: Caller | None = offer.function(*[given[argument] for argument in offer.arguments])
        return caller

    return verify
