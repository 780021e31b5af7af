"""Which offer a setting means, and what to say when there is none."""

from __future__ import annotations

from collections.abc import Iterable

from identity_core.plugin.collect import Collection, Offer
from identity_core.plugin.errors import PluginError
from identity_core.plugin.sockets import PROVIDE_HOOKS
from identity_core.settings import Settings


def offers_of(collection: Collection, hook: str) -> list[Offer]:
    """Everything that is offered through ``hook``."""
    return [offer for offer in collection.offers if offer.hook == hook]


def chosen(collection: Collection, hook: str, name: str, key: str, settings: Settings) -> Offer:
    """The offer of this name, for which the setting ``key`` asks. Raises ``PluginError``."""
    offers = {offer.provider.name: offer for offer in offers_of(collection, hook)}
    if name not in offers:
        raise missing(collection, hook, name, key, settings, offers)
    return offers[name]


def chosen_or_lone(collection: Collection, hook: str, name: str | None, key: str, settings: Settings) -> Offer | None:
    """The offer of this name; for None the only one, or None when there is none. Raises ``PluginError``."""
    if name is not None:
        return chosen(collection, hook, name, key, settings)
    offers = offers_of(collection, hook)
    if len(offers) > 1:
        names = ", ".join(offer.provider.name for offer in offers)
        raise PluginError(f"{key} must name one of the installed {PROVIDE_HOOKS[hook]}s: {names}")
    return offers[0] if offers else None


def missing(
    collection: Collection, hook: str, name: str, key: str, settings: Settings, installed: Iterable[str]
) -> PluginError:
    """Nobody offers it: the line that says so, and who might have."""
    origin = settings.origin(key)
    failed = "; ".join(f"{source}: {reason}" for source, _, reason in collection.failed)
    disabled = ", ".join(source.name for source in collection.disabled)
    return PluginError(
        f"{key} is {name} ({origin}), but no plugin provides the {PROVIDE_HOOKS[hook]} {name}; "
        f"installed: {', '.join(sorted(installed)) or 'none'}"
        + (f"; disabled: {disabled}" if disabled else "")
        + (f"; failed: {failed}" if failed else "")
    )
