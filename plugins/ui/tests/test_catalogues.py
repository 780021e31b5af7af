"""Every sentence of the templates is in every catalogue, and translated; the compiled catalogues are what the texts say."""

import gettext
from io import BytesIO

import pytest
from babel.messages import pofile
from identity_ui.catalogues import DOMAIN, LANGUAGES, LOCALE, language_of, translations

from tools.catalogues import extracted, written


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_a_catalogue_is_fresh_and_complete(language: str) -> None:
    folder = LOCALE / language / "LC_MESSAGES"
    source, compiled = written(language)
    assert (folder / f"{DOMAIN}.po").read_bytes() == source
    assert (folder / f"{DOMAIN}.mo").read_bytes() == compiled
    catalog = pofile.read_po(BytesIO(source), locale=language)
    assert [message.id for message in catalog if message.id and (not message.string or message.fuzzy)] == []
    assert [error for _, errors in catalog.check() for error in errors] == []
    assert {message.id for message in catalog if message.id} == {message.id for message in extracted() if message.id}
    assert len(catalog) > 100


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        (None, "en"),
        ("", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("en,de", "en"),
        ("fr, de;q=0.5, en;q=0.4", "de"),
        ("fr;q=1.0, de;q=0", "en"),
        ("DE", "de"),
        ("de;q=2", "en"),
        ("../../etc/passwd, de\x00", "en"),
        ("x," * 5_000 + "de", "en"),
    ],
)
def test_the_reader_chooses_the_language(accepted: str | None, language: str) -> None:
    assert language_of(accepted) == language


def test_english_stands_in_the_templates() -> None:
    assert type(translations("en")) is gettext.NullTranslations
    assert translations("de").gettext("Stop all agents") == "Alle Agenten anhalten"
