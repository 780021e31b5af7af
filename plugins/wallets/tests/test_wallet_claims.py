"""The claims of a stored credential in a wallet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from identity_wallets.domain import token_status
from identity_wallets.domain.claims import LIFE, check_names, claim_names, wallet_claims

from identity_codec.values import replace
from identity_core.domain.credentials import credential_schema
from identity_core.domain.credentials.credential import canonical_values
from identity_core.errors import InvalidCredential
from tests.credentials import ISSUER, NOW, VALUES, a_credential, a_schema


def claims(definition: Any = None, values: Any = None, **changed: Any) -> dict[str, Any]:
    definition = definition or a_schema()
    known = canonical_values(definition.schema, values or VALUES)
    credential = replace(a_credential(), **changed)
    return wallet_claims(credential, definition, known, NOW, "https://id.example")


def build_schema(*attributes: dict[str, Any]) -> Any:
    return credential_schema.read("urn:example:1", attributes)


def test_attributes_and_where_they_stand_to_each_threshold() -> None:
    found = claims()
    assert found["iss"] == str(ISSUER)
    assert found["vct"] == "urn:example:person:1"
    assert found["status"] == token_status.reference(a_credential(), "https://id.example")
    assert {name: found[name] for name in VALUES} == VALUES | {"income": "41250.50"}
    assert found["age_equal_or_over"] == {"18": True, "21": True}
    assert [name for name in found if name.endswith("_equal_or_over")] == ["age_equal_or_over"]


@pytest.mark.parametrize(("age", "adult"), [(17, False), (18, True), (19, True)])
def test_a_threshold_is_reached_by_what_is_equal(age: int, adult: bool) -> None:
    assert claims(values=VALUES | {"age": age})["age_equal_or_over"]["18"] is adult


def test_thresholds_are_compared_by_type() -> None:
    definition = build_schema(
        {"name": "since", "type": "date", "allowedThresholds": ["2020-01-01", "1999-12-31"]},
        {"name": "income", "type": "decimal", "scale": 2, "allowedThresholds": ["9.00", "10.00"]},
        {"name": "country", "type": "string", "allowedThresholds": ["DE"]},
    )
    found = claims(definition, {"since": "2000-06-01", "income": "9.50", "country": "DE"})
    assert list(found["since_equal_or_over"].items()) == [("1999-12-31", True), ("2020-01-01", False)]
    assert found["income_equal_or_over"] == {"9.00": True, "10.00": False}
    assert "country_equal_or_over" not in found
    assert ["since_equal_or_over", "2020-01-01"] in claim_names(definition)
    assert ["country"] in claim_names(definition)


def test_claim_without_value_is_not_disclosed() -> None:
    found = claims(values=VALUES | {"age": None, "name": None})
    assert {"age", "age_equal_or_over", "name"}.isdisjoint(found)


def test_it_ends_with_the_credential_and_soon_in_any_case() -> None:
    assert claims(valid_until=None)["exp"] == int((NOW + LIFE).timestamp())
    soon = NOW + timedelta(days=1)
    assert claims(valid_until=soon)["exp"] == int(soon.timestamp())
    begins = datetime(2025, 3, 1, tzinfo=UTC)
    assert claims(valid_from=begins)["nbf"] == int(begins.timestamp())


@pytest.mark.parametrize("name", ["iss", "exp", "nbf", "iat", "cnf", "vct", "status", "_sd", "_sd_alg", "...", "sub"])
def test_a_name_that_means_something_else_is_refused(name: str) -> None:
    with pytest.raises(InvalidCredential):
        check_names(build_schema({"name": name, "type": "string"}))


def test_a_name_that_a_boolean_would_take_is_refused() -> None:
    age = {"name": "age", "type": "integer", "allowedThresholds": [18]}
    check_names(build_schema(age, {"name": "height_equal_or_over", "type": "boolean"}))
    with pytest.raises(InvalidCredential):
        check_names(build_schema(age, {"name": "age_equal_or_over", "type": "boolean"}))
