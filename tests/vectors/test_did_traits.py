"""DID Traits 1.0.0 (DIF): what the methods say of themselves fits the schema, by names that it has."""

from __future__ import annotations

import pytest
from identity_did_ids import DidIds, DidIdsSettings
from identity_did_key import DidKey, DidKeySettings
from identity_did_web import DidWeb
from identity_did_webvh import DidWebvh
from jsonschema_rs import Draft7Validator

from identity_core.ports.did_method import DescribedDidMethod
from tests.vectors.files import vector_json

METHODS = {"ids": DidIds(DidIdsSettings()), "key": DidKey(DidKeySettings()), "web": DidWeb, "webvh": DidWebvh}


@pytest.mark.parametrize("name", METHODS)
def test_the_traits_of_a_method_are_those_of_the_standard(name: str) -> None:
    method: DescribedDidMethod = METHODS[name]  # type: ignore[assignment]
    schema = vector_json("did-traits/traits.json")
    traits = {"name": name, **method.traits}
    assert traits.keys() <= schema["properties"].keys()
    assert list(Draft7Validator(schema).iter_errors(traits)) == []
