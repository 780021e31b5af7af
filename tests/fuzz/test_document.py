"""Requests that the document describes, and near misses, by schemathesis: to strangers, and to those who hold a key."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, core, settings
from identity_commands.local_server import LocalServer
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

ROUNDS: Final = max(1, int(os.environ.get("IDENTITY_ROUNDS", "100")) // 100)
DOCUMENT: Final = Path(__file__).parents[2] / "openapi" / "reference.json"
CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def load_document() -> Any:
    """Load the document with the seed of ``--hypothesis-seed``: schemathesis draws one of its own for each run, and hides that one."""
    config = SchemathesisConfig(seed=core.global_force_seed)
    return schemathesis.openapi.from_dict(json.loads(DOCUMENT.read_text(encoding="utf-8")), config=config)


document: Any = load_document()


def test_document_takes_seed_of_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in (445, 990131):
        monkeypatch.setattr(core, "global_force_seed", seed)
        assert load_document().config.seed == seed


@pytest.mark.parametrize("is_known", [False, True], ids=["stranger", "admin"])
@document.parametrize()
@settings(
    max_examples=ROUNDS,
    deadline=None,
    database=None,
    derandomize="IDENTITY_ROUNDS" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
def test_answers_are_those_of_the_document(case: Any, service: LocalServer, is_known: bool) -> None:
    headers = {"X-API-Key": service.api_key} if is_known else {}
    answer = case.call(base_url=f"{service.url}/api/v1", headers=headers)
    case.validate_response(answer, checks=CHECKS)
