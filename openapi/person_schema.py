"""What Ivo's schema of the examples has, and what he says of Hana by it."""

from __future__ import annotations

from typing import Final

from identity_codec.strict_json import JsonValue
from openapi.story import Json

TITLES: Final[Json] = {"title": "Person", "titles": {"de": "Person", "ja": "人物"}}
AGE_TITLES: Final[Json] = {"title": "Age", "titles": {"de": "Alter"}}
ATTRIBUTES: Final[list[Json]] = [
    {"name": "name", "type": "string", "proofTypes": ["eq"]},
    {"name": "birthDate", "type": "date", "minimum": "1900-01-01", "maximum": "2100-12-31"},
    {
        "name": "age",
        "type": "integer",
        "minimum": 0,
        "maximum": 150,
        "unit": "years",
        **AGE_TITLES,
        "allowedThresholds": [16, 18, 21, 65],
    },
    {"name": "income", "type": "decimal", "scale": 2, "unit": "EUR"},
    {"name": "country", "type": "string"},
    {"name": "member", "type": "boolean"},
    {"name": "enrolledAt", "type": "datetime"},
]
VALUES: Final[dict[str, JsonValue]] = {
    "name": "Hana Novák",
    "birthDate": "2001-04-01",
    "age": 24,
    "income": "41250.00",
    "country": "CZ",
    "member": True,
    "enrolledAt": None,
}
