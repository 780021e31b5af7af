import copy
from typing import Any

import pytest

from identity_core.api.request import Answer, Request
from identity_core.errors import DidDeactivated, DidNotFound, IdentityError
from tests.toy_document import DOCUMENT, ToyHandlers, ask, build_toy

DID_PATH = "/api/v1/dids/did:toy:a"


def document() -> dict[str, Any]:
    changed = copy.deepcopy(DOCUMENT)
    error = {"type": "object", "required": ["error"], "additionalProperties": False, "properties": {"error": {}}}
    content = {"application/json": {"schema": error}}
    changed["paths"]["/dids/{did}"]["get"]["responses"] = {
        "200": {
            "description": "Found.",
            "content": {
                "application/json": {"schema": {"type": "object", "required": ["did"]}},
                "application/jsonl": {"schema": {"type": "string"}},
            },
        },
        "304": {"description": "Unchanged."},
        "404": {"description": "Not found.", "x-error-codes": ["DID_NOT_FOUND"], "content": content},
        "410": {"description": "Gone.", "x-error-codes": ["OTHER"], "content": content},
    }
    return changed


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Answer(200, {"did": "x"}), 200),
        (Answer(200, b'{"did":"x"}'), 200),
        (Answer(200, b"{}\n{}", "application/jsonl"), 200),
        (Answer(304, b""), 304),
        (DidNotFound(), 404),
        (Answer(200, {"other": "x"}), 500),
        (Answer(200, b"text", "text/plain"), 500),
        (Answer(201, {"did": "x"}), 500),
        (DidDeactivated(), 500),
    ],
)
def test_answers_outside_the_document_are_faults(
    outcome: Answer | IdentityError, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    class Answering(ToyHandlers):
        async def resolve_did(self, request: Request) -> Answer:
            if isinstance(outcome, Answer):
                return outcome
            raise outcome

    assert ask(build_toy(Answering(), document=document(), verify=True), target=DID_PATH).status == status
    assert ("PromiseBroken" in caplog.text) == (status == 500)


def test_production_does_not_look() -> None:
    class Answering(ToyHandlers):
        async def resolve_did(self, request: Request) -> Answer:
            return Answer(299, {})

    assert ask(build_toy(Answering(), document=document()), target=DID_PATH).status == 299
