"""A refusal as a page."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from identity_ui.catalogues import HERE, TEMPLATES
from identity_ui.consent import NOTHING, unknown_attributes
from identity_ui.pages import explained
from identity_ui.render import _environment, page, static_pages, static_versions

from identity_client import Expectation, verify
from identity_client.action import pin_of
from identity_core.api import errors
from identity_core.api.request import Answer, Request
from identity_core.errors import DidNotFound
from identity_core.settings.fields import DEFAULT, Origin
from identity_core.settings.load import ShownSetting


async def refused(request: Request) -> Answer:
    raise DidNotFound


@pytest.mark.parametrize("guide", [True, False])
def test_an_error_leads_to_its_explanation_where_there_is_one(monkeypatch: pytest.MonkeyPatch, guide: bool) -> None:
    monkeypatch.setattr(errors, "guide_folder", lambda: "/guide" if guide else None)
    answer = asyncio.run(explained(refused)(Request(request_id="1", headers={}, operation_id="")))
    assert answer.status == 404
    assert (b'href="/docs/guide/reference/errors.html#did-not-found"' in answer.body) is guide


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [
        (None, False),
        ("", False),
        ("gzip", True),
        ("br, gzip, deflate", True),
        ("GZIP;q=0.5", True),
        ("deflate,\tgzip ; q=1.000", True),
        ("gzip;q=0", False),
        ("gzip;q=0.000, br", False),
        ("x-gzip", False),
        ("br;q=1, gzip;q=nonsense", False),
        ("gzip;q=2", False),
        ("gzip;" + "\t" * 30_000 + "x", False),
    ],
)
def test_a_file_is_packed_for_who_takes_that(accepted: str | None, packed: bool) -> None:
    headers = {} if accepted is None else {"accept-encoding": accepted}
    path, handler = next((path, one) for path, one in static_pages().items() if path.endswith("ui.css"))
    answer = asyncio.run(handler(Request(request_id="1", headers=headers, operation_id="")))
    assert (dict(answer.headers).get("content-encoding") == "gzip") is packed
    plain = gzip.decompress(answer.body) if packed else answer.body
    assert hashlib.sha256(plain).hexdigest().startswith(path.split("/")[3])
    assert ("vary", "Accept-Encoding") in answer.headers


MACROS = (
    _environment("en")
    .get_template("macros.html")
    .make_module({"versions": static_versions(), "signed_in": None, "labels": {}, "described": {}})
)


def words_of(markup: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", markup).split())


@pytest.mark.parametrize(
    ("actor", "said"),
    [
        ("did:did:ids:aki", "did:ids:aki"),
        ("sub:did:ids:aki", "did:ids:aki"),
        ("key:k-1", "API key k-1"),
        ("key:k-1 for did:ids:hana", "API key k-1 for did:ids:hana"),
        ("the service", "the service"),
        ("", "–"),
    ],
)
def test_a_row_of_the_timeline_says_who_asked(actor: str, said: str) -> None:
    assert words_of(MACROS.by(actor)) == said


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("zkp.prove.age.gte.18", "age is at least 18"),
        ("zkp.prove.age.lt", "age is less than a value that it chooses"),
        ("zkp.prove.%E2%81%A9%E2%80%AEage.lt", r"\u2069\u202eage is less than a value that it chooses"),
        ("zkp.prove.%D8%B9%D9%85%D8%B1%E2%80%8F.lt", "\u0639\u0645\u0631\u200f is less than a value that it chooses"),
        (f"zkp.prove.city.eq.{pin_of('Kyoto')}", "city is a fixed value"),
        (f"zkp.prove.%3Cb%3E.set_member.{pin_of([1, 2])}", "&lt;b&gt; is one of a fixed value"),
        ("zkp.prove.*.gte", ""),
        ("zkp.prove.age.*", ""),
        ("zkp.credential", ""),
    ],
)
def test_permissions_of_an_agent_are_in_words(action: str, said: str) -> None:
    assert words_of(MACROS.grant(action)) == (said or action)


@pytest.mark.parametrize(
    ("actions", "is_free"),
    [
        (["zkp.prove.age.gte.18"], False),
        (["zkp.prove.age.gte.18", f"zkp.credential.{pin_of('urn:uuid:1')}"], False),
        (["zkp.prove.age.gte"], True),
        (["zkp.prove.*.*"], True),
        (["zkp.prove.age.*"], True),
        (["zkp.prove.*.gte"], True),
        (["zkp.pseudonym"], True),
        (["zkp.credential", "zkp.prove.age.gte.18"], True),
        (["zkp.prove.age.same"], True),
        (["zkp.prove.age.same.0"], True),
    ],
)
def test_card_states_who_chooses_the_question(actions: list[str], is_free: bool) -> None:
    template = (TEMPLATES / "delegation.html").read_text()
    source = template[template.index("{# What is not understood") : template.index("<dt>")]
    shown = _environment("en").from_string(source + "{{ free }}").render(one={"actions": actions})
    assert shown.strip() == str(is_free)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("NL, FR", "NL, FR"),
        (18, "18"),
        (["NL", "FR"], "NL, FR"),
        (["NL, FR", "DE"], "“NL, FR”, DE"),
        (["NL", "NL "], "NL, “NL ”"),
        ([1, 2.5, True], "1, 2.5, True"),
    ],
)
def test_values_of_a_list_are_told_apart(value: Any, said: str) -> None:
    assert re.sub(r"<[^>]*>", "", MACROS.value(value)) == said


def test_value_of_pin_is_shown_where_only_one_fits() -> None:
    kyoto, tokyo = (f"zkp.prove.city.eq.{pin_of(one)}" for one in ("Kyoto", "Tokyo"))
    pins = [{"attributeName": "city", "type": "eq", "values": ["Kyoto"]}]
    assert words_of(MACROS.grant(kyoto, False, pins, [kyoto])) == "city is Kyoto"
    assert words_of(MACROS.grant(tokyo, False, pins, [kyoto, tokyo])) == "city is a fixed value"
    assert words_of(MACROS.grant("zkp.prove.city.eq", False, pins, [kyoto, "zkp.prove.city.eq"])) == (
        "city is a value that it chooses"
    )


def test_only_changed_settings_stand_first_and_lists_as_text() -> None:
    rows = [
        ShownSetting("key_stores", ("sql", "file"), DEFAULT, "Where keys are."),
        ShownSetting("cors_origins", (), DEFAULT, ""),
        ShownSetting("data_dir", "/data", Origin("command line", "--data-dir"), ""),
        ShownSetting("port", 8080, DEFAULT, ""),
        ShownSetting("url", None, DEFAULT, ""),
    ]
    request = Request(request_id="1", headers={}, operation_id="")
    text = page("operator_settings.html", request, operator="an operator", rows=rows).body.decode()
    values = re.findall(r'data-th="Value"><span>(.*?)</span>', text)
    assert values == ["/data", "sql, file", "–", "/data", "8080", "–"]


def test_rows_of_a_list_are_counted_where_the_total_is_known() -> None:
    assert words_of(MACROS.older("cursor=x", 1, 7, 31)) == "1–7 of 31 Older"
    assert words_of(MACROS.older("", 26, 31, 31)) == "26–31 of 31"
    assert words_of(MACROS.older("cursor=x")) == "Older"
    assert MACROS.older("") == ""


def test_example_of_check_a_proof_is_valid_as_of_its_day() -> None:
    """Python reads it as the browser does; a day later it has expired."""
    example = json.loads((HERE / "static" / "example.json").read_text())
    fields, now = example["fields"], datetime.fromisoformat(example["now"])
    predicate = {"attributeName": fields["attribute"], "type": fields["relation"], "value": int(fields["value"])}
    expect = Expectation(
        predicate=predicate, challenge=fields["challenge"], domain=fields["domain"], issuer_did=fields["issuer"]
    )
    proof = json.loads(fields["proof"])
    found = [verify(proof, expect=expect, logs=example["logs"], now=now + timedelta(days=day)) for day in (0, 2)]
    assert [one["verdict"] for one in found] == ["valid", "invalid"]


def test_request_that_waits_may_name_no_verifier_and_no_purpose() -> None:
    """The members that an agent leaves out are missing, and the page is served all the same."""
    stored = SimpleNamespace(agent="did:ids:aki", id="1", expires_at=datetime(2026, 1, 1, tzinfo=UTC))
    shown = {"predicates": [{"attributeName": "age", "type": "gte", "value": 18}]}
    waiting, values = [SimpleNamespace(stored=stored, shown=shown)], {"rows": [], "own": [], "last": None}
    for template, given in (("home.html", values), ("consent.html", NOTHING)):
        request = Request(request_id="1", headers={}, operation_id="")
        text = page(template, request, signed_in="did:ids:hana", waiting=waiting, **given).body.decode()
        assert "is your <bdi>age</bdi> at least" in text


@pytest.mark.parametrize(
    ("questions", "is_unknown"),
    [
        ([("gte", 18)], True),
        ([("gte", 18), ("gt", 20)], True),
        ([("lt", 65)], True),
        ([("neq", "NL")], True),
        ([("set_member", ["NL", "BE"])], True),
        ([("eq", 30)], False),
        ([("gte", 30), ("lte", 30)], False),
        ([("gt", 29), ("lt", 31)], False),
        ([("set_member", ["NL"])], False),
        ([("set_member", ["NL", "NL"])], False),
        ([("set_member", ["NL", "NL "])], False),
        ([("set_member", ["NL", "BE"]), ("set_member", ["NL", "DE"])], False),
        ([("set_member", ["NL", "BE"]), ("neq", "BE")], False),
        ([("neq", True)], False),
        ([("gte", 18), ("neq", 18)], False),
    ],
)
def test_page_states_what_the_answers_tell(questions: list[tuple[str, Any]], is_unknown: bool) -> None:
    predicates = [{"attributeName": "it", "type": type, "value": value} for type, value in questions]
    other = {"attributeName": "other", "type": "gte", "value": 1}
    assert unknown_attributes([*predicates, other]) == (["it", "other"] if is_unknown else ["other"])
