"""Which offer a setting means, and what to say when there is none."""

from __future__ import annotations

from collections.abc import Iterable

from identity_core.plugin.collect import Collection, Offer
from identity_core.plugin.sockets import PROVIDE_HOOKS
from identity_core.settings import Settings, SettingsError, places_of


def offers_of(collection: Collection, hook: str) -> list[Offer]:
    """Everything that is offered through ``hook``."""
    return [offer for offer in collection.offers if offer.hook == hook]


def chosen(collection: Collection, hook: str, name: str, key: str, settings: Settings) -> Offer:
    """The offer of this name, for which the setting ``key`` asks. Raises ``SettingsError``."""
    offers = {offer.provider.name: offer for offer in offers_of(collection, hook)}
    if name not in offers:
        raise missing(collection, hook, name, key, settings, offers)
    return offers[name]


def chosen_or_lone(collection: Collection, hook: str, name: str | None, key: str, settings: Settings) -> Offer | None:
    """The offer of this name; for None the only one, or None when there is none. Raises ``SettingsError``."""
    if name is not None:
        return chosen(collection, hook, name, key, settings)
    offers = offers_of(collection, hook)
    if len(offers) > 1:
        what = f"{key} must be set: more than one {PROVIDE_HOOKS[hook]} is installed."
        raise SettingsError(what, places_of(key), _choose(offer.provider.name for offer in offers))
    return offers[0] if offers else None


def missing(
    collection: Collection, hook: str, name: str, key: str, settings: Settings, installed: Iterable[str]
) -> SettingsError:
    """Nobody offers it: which setting asks for it, who might have, and what there is instead."""
    failed = "; ".join(f"{source}: {reason}" for source, _, reason in collection.failed)
    disabled = ", ".join(source.name for source in collection.disabled)
    return SettingsError(
        f"{key} names {name}, but no plugin provides the {PROVIDE_HOOKS[hook]} {name}"
        + (f"; disabled: {disabled}" if disabled else "")
        + (f"; failed: {failed}" if failed else "")
        + ".",
        f"{settings.origin(key)} ({key})",
        _choose(installed),
    )


def _choose(installed: Iterable[str]) -> str:
    names = ", ".join(sorted(installed))
    return f"Choose one that is installed: {names}." if names else "Install a plugin that provides one."
