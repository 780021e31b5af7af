"""The description of the installed DID methods, with and without a description of their own."""

from __future__ import annotations

from typing import Any

from identity_did_key import DidKey, DidKeySettings
from identity_universal.identifiers import Identifiers

from identity_codec.structs import plain
from identity_core.domain.dids.did import Did

KEY = DidKey(DidKeySettings())
OWN = KEY.test_identifiers[0]


class Silent:
    """A method of before there were descriptions."""

    name = "silent"
    mutable = True

    def check(self, did: Did) -> None: ...

    def draft(self, *given: Any, **more: Any) -> Any: ...

    def apply(self, *given: Any) -> Any: ...

    def expand(self, did: Did) -> Any: ...


METHODS: dict[str, Any] = {"silent": Silent(), "key": KEY}
UNUSED: Any = None
KNOWN = Identifiers(UNUSED, METHODS)


def test_names_are_sorted() -> None:
    assert KNOWN.names() == ["key", "silent"]


def test_the_operators_dids_stand_behind_those_of_the_method() -> None:
    listed = (Did.parse("did:silent:1"), Did.parse("did:key:z6Mk"))
    assert Identifiers(UNUSED, METHODS, listed).test_identifiers() == {
        "key": [OWN, "did:key:z6Mk"],
        "silent": ["did:silent:1"],
    }
    assert Identifiers(UNUSED, {"silent": METHODS["silent"]}).test_identifiers() == {}


def test_method_without_traits_gets_those_of_port() -> None:
    traits = KNOWN.traits()
    assert traits["silent"] == {"name": "silent", "supportsUpdate": True, "supportsDeactivate": True}
    assert traits["key"] == {"name": "key", **KEY.traits}


def test_properties_are_those_of_this_installation() -> None:
    told = plain(KNOWN.properties())
    flags = {"mutable": True, "publishesLogs": False, "looksElsewhere": False}
    assert told["silent"] == flags | {"http": {"pattern": "^did:silent:.+$"}}
    assert told["key"]["mutable"] is False
