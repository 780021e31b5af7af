"""Choices that cannot be had: what is wrong, in which line of which file, and what there is instead."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import identity_keys_env
import pytest

from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import DidState
from identity_core.plugin.manager import PluginManager
from identity_core.ports.did_method import PreRotatingDidMethod, PublishingDidMethod, ResolvingDidMethod
from identity_core.settings import Settings, SettingsError, load
from tests.unit.plugin.parts import GoodCustodian, GoodKeys, GoodLedger, GoodMethod, manager, source
from tests.unit.plugin.test_manager import provides

SOURCES = (
    source("did_toy", provides("identity_provide_did_method", "toy", GoodMethod())),
    source("ledger_one", provides("identity_provide_ledger_backend", "one", GoodLedger())),
    source("ledger_two", provides("identity_provide_ledger_backend", "two", GoodLedger())),
    source("keys_toy", provides("identity_provide_key_store", "toy", GoodKeys())),
    source("keys_env", identity_keys_env),
    source("custodian_toy", provides("identity_provide_custodian", "toy", GoodCustodian())),
    source("prover_one", provides("identity_provide_prover", "one", SimpleNamespace())),
    source("prover_two", provides("identity_provide_prover", "two", SimpleNamespace())),
)


def choose_all(plugins: PluginManager, settings: Settings) -> None:
    """As a start does."""
    plugins.did_methods()
    plugins.ledger(settings.ledger.backend)
    plugins.key_stores(settings.key_stores)
    plugins.custodian(settings.custodian.backend)
    plugins.prover(settings.prover.backend)


RIGHT = {"did.method": '"toy"', "ledger.backend": '"one"', "key_stores": '["toy"]', "custodian.backend": '"toy"'}
WRONG = {
    "did.method": ('"nosuch"', "names nosuch, but no plugin provides the DID method nosuch.", ": toy."),
    "ledger.backend": ('"nosuch"', "names nosuch, but no plugin provides the ledger nosuch.", ": one, two."),
    "key_stores": ('["toy", "nix"]', "names nix, but no plugin provides the key store nix.", ": env, toy."),
    "custodian.backend": ('"hsm"', "names hsm, but no plugin provides the custodian hsm.", ": toy."),
    "prover.backend": ('"nosuch"', "names nosuch, but no plugin provides the prover nosuch.", ": one, two."),
    "plugins.disabled": (
        '["ledger_oen"]',
        "names ledger_oen, but no such plugin is installed.",
        "Did you mean ledger_one?",
    ),
}


@pytest.mark.parametrize("key", WRONG)
def test_a_wrong_choice_names_its_line_and_what_there_is(tmp_path: Path, key: str) -> None:
    value, what, fix = WRONG[key]
    file = tmp_path / "identity.toml"
    written = RIGHT | {key: value}
    file.write_text("".join(f"{one} = {text}\n" for one, text in written.items()))
    settings = load(file=file, environment={})
    with pytest.raises(SettingsError) as refusal:
        choose_all(manager(*SOURCES, settings=settings), settings)
    line = list(written).index(key) + 1
    assert refusal.value.what == f"{key} {what}"
    assert refusal.value.where == f"file {file}:{line} ({key})"
    assert refusal.value.fix.endswith(fix)


def test_one_of_two_provers_must_be_selected() -> None:
    with pytest.raises(SettingsError) as refusal:
        manager(*SOURCES).prover(None)
    assert refusal.value.what == "prover.backend must be set: more than one prover is installed."
    assert "IDENTITY_PROVER_BACKEND" in refusal.value.where
    assert refusal.value.fix == "Choose one that is installed: one, two."


def test_missing_prover_is_required() -> None:
    with pytest.raises(SettingsError) as refusal:
        manager().ledger("sql")
    assert refusal.value.fix == "Install a plugin that provides one."


@pytest.mark.parametrize(
    ("variable", "value", "what", "example"),
    [
        ("IDENTITY_API_KEYS", "ci:s3cr3t:b:c:d", "is written name:key", "IDENTITY_API_KEYS=ci:a-long-random-text"),
        ("IDENTITY_API_KEYS", "ci:s3cr3t:fast", "'ci' is not a number", "IDENTITY_API_KEYS=ci:a-long-random-text"),
        ("API_KEY", "s3cr3tä", "no HTTP header carries", "API_KEY=…"),
        ("IDENTITY_API_KEYS", "a:s3cr3t,b:s3cr3t", "two API keys have the same name or the same text", ""),
    ],
)
def test_a_wrong_api_key_names_its_variable_and_is_not_shown(
    variable: str, value: str, what: str, example: str
) -> None:
    settings = load(environment={variable: value})
    with pytest.raises(SettingsError) as refusal:
        manager(*SOURCES, settings=settings).key_stores(("env",))
    assert what in refusal.value.what
    assert refusal.value.where.startswith(f"environment {variable}")
    assert refusal.value.fix.endswith(example)
    assert "s3cr3t" not in str(refusal.value)


def test_the_list_says_what_a_start_says_of_two_provers() -> None:
    """Neither is chosen: a start would refuse."""
    rows = {row.name: row for row in manager(*SOURCES).installed() if row.hook == "identity_provide_prover"}
    assert {row.state for row in rows.values()} == {"available"}
    assert all("prover.backend" in row.reason for row in rows.values())


def test_a_plugin_has_every_form_of_its_port_that_it_fits() -> None:
    class Rich(GoodMethod):
        pre_rotates = True
        log_path = None

        async def resolve(self, did: Did) -> DidState | None:
            return None

        def published(self, name: str) -> Did | None:
            return None

        def draft(self, state: Any, change: Any, at: Any, *, signer: str, next_keys: Any = None) -> Any:
            return super().draft(state, change, at, signer=signer)

    forms = (ResolvingDidMethod, PreRotatingDidMethod, PublishingDidMethod)
    for method, fitting in ((Rich(), forms), (GoodMethod(), ())):
        plugins = manager(source("did_toy", provides("identity_provide_did_method", "toy", method)))
        guarded = plugins.did_methods()["toy"]
        assert tuple(form for form in forms if isinstance(guarded, form)) == fitting
