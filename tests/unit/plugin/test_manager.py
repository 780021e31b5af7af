"""The manager: what stops the start, what only fails a plugin, and what is chosen."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from identity_core.domain.callers import Caller
from identity_core.errors import AuthFailed, PluginUnavailable
from identity_core.plugin import BuildContext, Provider, hookimpl, in_threads
from identity_core.plugin.load import installed_sources
from identity_core.plugin.manager import PluginManager
from identity_core.plugin.sockets import PluginError
from identity_core.ports.key_store import WritableKeyStore
from identity_core.settings import SettingsError, StartError, load, setting
from tests.unit.plugin.parts import (
    KEY,
    NOW,
    GoodCustodian,
    GoodKeys,
    GoodLedger,
    GoodMethod,
    HandClock,
    log,
    manager,
    source,
)


def ledger_plugin(name: str = "toy", build: Any = None, **more: Any) -> Any:
    """A plugin that provides a ledger."""

    @hookimpl
    def identity_provide_ledger_backend() -> Provider[Any]:
        return Provider(name, build or (lambda settings, context: GoodLedger()), **more)

    return SimpleNamespace(identity_provide_ledger_backend=identity_provide_ledger_backend)


def provides(hook: str, name: str, thing: Any) -> Any:
    """A plugin whose ``hook`` provides ``thing``."""

    def provide() -> Provider[Any]:
        return Provider(name, lambda settings, context: thing)

    provide.__name__ = hook
    return SimpleNamespace(**{hook: hookimpl(provide)})


METHOD = source("did_toy", provides("identity_provide_did_method", "toy", GoodMethod()))


def three_lines(error: pytest.ExceptionInfo[SettingsError]) -> tuple[str, str, str]:
    parts = (error.value.what, error.value.where, error.value.fix)
    assert "\n" not in "".join(parts), "one line each"
    return parts


def line_of(error: pytest.ExceptionInfo[StartError]) -> str:
    text = str(error.value)
    assert "\n" not in text, "one line"
    return text


# -- What is chosen ----------------------------------------------------------------------------------------------------


def test_each_accessor_builds_once_what_the_settings_name() -> None:
    built = []

    def build(settings: object, context: BuildContext) -> GoodLedger:
        built.append(context)
        return GoodLedger()

    settings = load(environment={}, overrides={"did.method": "toy", "data_dir": "/somewhere", "server.workers": 3})
    plugins = manager(source("ledger_toy", ledger_plugin(build=build)), METHOD, settings=settings)
    assert built == [], "nothing is built before it is asked for"
    ledger = plugins.ledger("toy")
    assert plugins.ledger("toy") is ledger
    assert len(built) == 1
    assert (built[0].data_dir, built[0].workers, built[0].database_url) == (Path("/somewhere"), 3, None)
    assert built[0].logger.name == "identity.tests.toy"
    assert plugins.did_methods()["toy"].mutable is True


def test_a_choice_that_nobody_provides_names_what_there_is() -> None:
    plugins = manager(source("ledger_toy", ledger_plugin("toy")), source("broken", lambda: 1 / 0))
    with pytest.raises(SettingsError) as refusal:
        plugins.ledger("sql")
    what, where, fix = three_lines(refusal)
    assert what.startswith("ledger.backend names sql, but no plugin provides the ledger sql; failed: ")
    assert "plugin broken (identity-broken 2.1): import failed: ZeroDivisionError" in what
    assert (where, fix) == ("default (ledger.backend)", "Choose one that is installed: toy.")


def test_a_plugin_gets_its_own_settings() -> None:
    @dataclass(frozen=True)
    class Own:
        depth: int = setting(1, "How deep.", least=0)

    seen = []
    plugin = ledger_plugin(build=lambda settings, context: seen.append(settings) or GoodLedger(), settings=Own)
    settings = load(environment={"IDENTITY_PLUGINS_TOY_DEPTH": "7"})
    manager(source("ledger_toy", plugin), settings=settings).ledger("toy")
    assert seen == [Own(7)]
    for environment in ({"IDENTITY_PLUGINS_TOY_DEPTH": "-7"}, {"IDENTITY_PLUGINS_TOY_DEPHT": "7"}):
        with pytest.raises(SettingsError):
            manager(source("ledger_toy", plugin), settings=load(environment=environment)).ledger("toy")


def test_key_stores_come_in_the_order_of_the_settings() -> None:
    class Writable(GoodKeys):
        async def create(self, key): ...
        async def get(self, key_id): ...
        async def list(self, *, after, limit): ...
        async def replace(self, key, *, expected): ...

    hook = "identity_provide_key_store"
    sources = (source("keys_a", provides(hook, "sql", Writable())), source("keys_b", provides(hook, "env", GoodKeys())))
    plugins = manager(*sources, settings=load(environment={}, overrides={"key_stores": ["env", "sql"]}))
    stores = plugins.key_stores(["env", "sql"])
    assert [isinstance(store, WritableKeyStore) for store in stores] == [False, True]
    assert asyncio.run(stores[0].find(KEY.digest)) == KEY
    # The setting key_stores is absent: the default's "file" is not installed and is left out.
    assert len(manager(*sources).key_stores(("sql", "file", "env"))) == 2
    with pytest.raises(SettingsError, match="key_stores names file, but no plugin provides the key store file"):
        plugins.key_stores(("sql", "file"))


def test_did_methods_go_by_their_own_names() -> None:
    class Other(GoodMethod):
        name = "other"

    hook = "identity_provide_did_method"
    settings = load(environment={}, overrides={"did.method": "other"})
    assert set(manager(source("a", provides(hook, "toy", Other())), settings=settings).did_methods()) == {"other"}
    with pytest.raises(SettingsError, match=r"did\.method names toy") as refusal:
        manager(source("a", provides(hook, "toy", Other()))).did_methods()
    _, where, fix = three_lines(refusal)
    assert (where, fix) == ("command line --method (did.method)", "Choose one that is installed: other.")
    two = (source("a", provides(hook, "x", Other())), source("b", provides(hook, "y", Other())))
    with pytest.raises(PluginError, match=r"plugin b \(identity-b 2.1\): is a second DID method other.*identity-a"):
        manager(*two, settings=settings).did_methods()


@pytest.mark.parametrize("error", [OSError("no such file"), SystemExit("no such file")])
def test_a_did_method_that_cannot_be_built_fails_alone(error: BaseException) -> None:
    def explode(settings: object, context: object) -> None:
        raise error

    broken = SimpleNamespace(
        identity_provide_did_method=hookimpl(_named("identity_provide_did_method", lambda: Provider("web", explode)))
    )
    plugins = manager(METHOD, source("did_web", broken))
    assert set(plugins.did_methods()) == {"toy"}
    (row,) = [row for row in plugins.installed() if row.name == "web"]
    assert row.state == "failed"
    assert f"could not be built: {type(error).__name__}: no such file" in row.reason


def _named(name: str, function: Any) -> Any:
    def provide() -> Any:
        return function()

    provide.__name__ = name
    return provide


# -- What stops the start ----------------------------------------------------------------------------------------------


def test_a_misspelt_hook_stops_the_start() -> None:
    plugin = SimpleNamespace(
        identity_provide_ledger=hookimpl(_named("identity_provide_ledger", GoodLedger)),
        identity_provide_did_method=hookimpl(_named("identity_provide_did_method", GoodMethod)),
    )
    with pytest.raises(PluginError) as refusal:
        manager(source("typo", plugin))
    text = line_of(refusal)
    assert text.startswith("plugin typo (identity-typo 2.1): there is no hook identity_provide_ledger.")
    assert "Did you mean identity_provide_ledger_backend?" in text


def test_an_argument_that_the_hook_does_not_have_stops_the_start() -> None:
    @hookimpl
    def identity_verify_bearer(token: str, now: object, database: object) -> None: ...

    with pytest.raises(PluginError) as refusal:
        manager(source("greedy", SimpleNamespace(identity_verify_bearer=identity_verify_bearer)))
    expected = (
        "plugin greedy (identity-greedy 2.1): its identity_verify_bearer takes 'database', which the hook does not have"
    )
    assert line_of(refusal) == expected


def test_a_plugin_without_a_hook_stops_the_start() -> None:
    plugin = SimpleNamespace(identity_provide_ledger_backend=lambda: None)
    with pytest.raises(PluginError, match="implements no hook; is @hookimpl missing"):
        manager(source("bare", plugin))


def test_two_providers_of_one_name_stop_the_start() -> None:
    with pytest.raises(PluginError) as refusal:
        manager(source("one", ledger_plugin("toy")), source("two", ledger_plugin("toy")))
    text = line_of(refusal)
    assert "identity-one 2.1" in text
    assert "identity-two 2.1" in text
    assert "the ledger toy" in text


def test_two_entry_points_of_one_name_stop_the_start() -> None:
    two = (source("x", ledger_plugin("a")), source("x", ledger_plugin("b"), distribution="other"))
    with pytest.raises(PluginError, match=r"plugin x \(other 2.1\): has the entry point name of plugin x \(identity-x"):
        manager(*two)


def test_plugins_of_two_kinds_may_share_a_name() -> None:
    plugins = manager(
        source("one", ledger_plugin("sql")),
        source("two", provides("identity_provide_custodian", "sql", GoodCustodian())),
    )
    assert plugins.ledger("sql") is not None
    assert plugins.custodian("sql") is not None
    assert set(plugins.in_use()) == {"ledger:sql", "custodian:sql"}


class Lacking:
    async def find(self, digest): ...

    head = None


class Synchronous(GoodLedger):
    def append(self, did, entry, *, expected_version): ...  # type: ignore[override]


class OtherNames(GoodLedger):
    async def append(self, identifier, entry, *, expected_version): ...  # type: ignore[override]


class TooFew(GoodLedger):
    async def entries_after(self, sequence): ...  # type: ignore[override]


class TooMany(GoodLedger):
    async def head(self, timeout): ...  # type: ignore[override]


class AsyncMethod(GoodMethod):
    async def apply(self, state, entry): ...  # type: ignore[override]


@pytest.mark.parametrize(
    ("thing", "reason"),
    [
        (None, "NoneType has no append, which LedgerBackend needs"),
        (Lacking(), "Lacking has no append"),
        (Synchronous(), "append is not async; write async def, or hand over in_threads(…, workers=n)"),
        (OtherNames(), "append does not take (did, entry, expected_version)"),
        (TooFew(), "entries_after does not take (sequence, limit)"),
        (TooMany(), "head does not take ()"),
    ],
)
def test_an_object_that_does_not_fit_its_port_stops_the_start(thing: object, reason: str) -> None:
    plugins = manager(source("ledger_toy", ledger_plugin(build=lambda settings, context: thing)))
    with pytest.raises(PluginError) as refusal:
        plugins.ledger("toy")
    text = line_of(refusal)
    assert text.startswith("plugin ledger_toy (identity-ledger_toy 2.1): the ledger toy does not fit its port: ")
    assert reason in text
    (row,) = plugins.installed()
    assert row.state == "failed"


def test_a_coroutine_in_a_plain_port_does_not_fit() -> None:
    with pytest.raises(PluginError, match="apply is async, but DidMethod is a plain port"):
        manager(source("did_toy", provides("identity_provide_did_method", "toy", AsyncMethod()))).did_methods()


def test_a_synchronous_object_fits_in_threads() -> None:
    class Plain:
        def find(self, digest):
            return KEY

    thing = in_threads(Plain(), workers=1)
    plugins = manager(source("keys", provides("identity_provide_key_store", "sql", thing)))
    (store,) = plugins.key_stores(["sql"])
    assert asyncio.run(store.find("0")) == KEY
    asyncio.run(plugins.close())


# -- What only fails the plugin ----------------------------------------------------------------------------------------


def _raises(error: BaseException) -> Any:
    def raising() -> Any:
        raise error

    return raising


@pytest.mark.parametrize(
    ("importing", "reason"),
    [
        (_raises(ImportError("No module named 'hvac'")), "import failed: ImportError: No module named 'hvac'"),
        (
            _raises(ModuleNotFoundError("No module named 'identity_tape.notes'", name="identity_tape.notes")),
            "it requires the module identity_tape, which is not installed; "
            "install its distribution, or name vault in plugins.disabled",
        ),
        (_raises(SystemExit(3)), "import failed: SystemExit: 3"),
        (_raises(SyntaxError("line one\nline two")), "import failed: SyntaxError: line one line two"),
    ],
)
def test_an_import_that_fails_is_shown_and_harms_nobody(importing: Any, reason: str) -> None:
    plugins = manager(METHOD, source("vault", importing))
    assert set(plugins.did_methods()) == {"toy"}
    (row,) = [row for row in plugins.installed() if row.name == "vault"]
    assert (row.state, row.hook, row.distribution, row.version) == ("failed", "-", "identity-vault", "2.1")
    assert row.reason == reason


def test_an_import_that_hangs_is_left_behind() -> None:
    import time

    settings = load(environment={}, overrides={"did.method": "toy", "plugins.import_seconds": 0.1})
    plugins = manager(METHOD, source("slow", lambda: time.sleep(30)), settings=settings)
    (row,) = [row for row in plugins.installed() if row.name == "slow"]
    assert (row.state, row.reason) == ("failed", "import took longer than 0.1 s")


@pytest.mark.parametrize(
    ("provided", "reason"),
    [
        (ValueError("x"), "raised ValueError: x"),
        (SystemExit(3), "raised SystemExit: 3"),
        ({"name": "toy"}, "returned a dict, not a Provider"),
        (None, "returned a NoneType, not a Provider"),
        (Provider("To y", lambda settings, context: None), "whose name is not of the form"),
        (Provider("disabled", lambda settings, context: None), "with the reserved name disabled"),
        (Provider("toy", lambda settings, context: None, dict), "whose settings are not a dataclass"),
        (Provider("toy", None), "whose build cannot be called"),  # type: ignore[arg-type]
    ],
)
def test_a_hook_that_misbehaves_fails_its_plugin(provided: object, reason: str) -> None:
    def give() -> object:
        if isinstance(provided, BaseException):
            raise provided
        return provided

    hook = "identity_provide_ledger_backend"
    plugins = manager(METHOD, source("odd", SimpleNamespace(**{hook: hookimpl(_named(hook, give))})))
    (row,) = [row for row in plugins.installed() if row.name == "odd"]
    assert (row.state, row.hook) == ("failed", hook)
    assert reason in row.reason
    with pytest.raises(SettingsError, match="odd"):
        plugins.ledger("toy")


@pytest.mark.parametrize("error", [OSError("refused"), StartError("wrong passphrase"), KeyError("x")])
def test_a_build_that_raises_stops_the_start_when_it_was_chosen(error: Exception) -> None:
    def build(settings: object, context: object) -> None:
        raise error

    plugins = manager(source("ledger_toy", ledger_plugin(build=build)))
    with pytest.raises(PluginError) as refusal:
        plugins.ledger("toy")
    assert line_of(refusal).startswith("plugin ledger_toy (identity-ledger_toy 2.1): the ledger toy")
    assert str(error.args[0]) in str(refusal.value)


# -- Disabling, modules, entry points ----------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["ledger_toy", "identity-ledger_toy"])
def test_a_disabled_plugin_is_not_imported(word: str) -> None:
    imported = []
    settings = load(environment={"IDENTITY_PLUGINS_TOY_X": "1"}, overrides={"plugins.disabled": [word]})
    plugins = manager(source("ledger_toy", lambda: imported.append(1)), settings=settings)
    assert imported == []
    (row,) = plugins.installed()
    assert (row.name, row.state) == ("ledger_toy", "disabled")
    with pytest.raises(SettingsError, match="disabled: ledger_toy"):
        plugins.ledger("toy")


def test_disabling_what_is_not_there_is_an_error() -> None:
    settings = load(environment={}, overrides={"plugins.disabled": ["ledger_typ"]})
    with pytest.raises(SettingsError, match="Did you mean ledger_toy"):
        manager(source("ledger_toy", ledger_plugin()), settings=settings)


def test_a_module_in_the_making_needs_no_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_toy_plugin.py").write_text(
        "from identity_core.plugin import Provider, hookimpl\n"
        "from tests.unit.plugin.parts import GoodLedger\n"
        "@hookimpl\n"
        "def identity_provide_ledger_backend():\n"
        "    return Provider('mine', lambda settings, context: GoodLedger())\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    plugins = manager(settings=load(environment={"IDENTITY_PLUGINS_MODULES": "my_toy_plugin"}))
    assert asyncio.run(plugins.ledger("mine").head()).sequence == 0
    (row,) = plugins.installed()
    assert (row.name, row.distribution, row.state) == ("mine", "setting plugins.modules", "active")


def test_installed_entry_points_are_found_without_importing_them() -> None:
    program = """
import sys
from identity_core.plugin.load import installed_sources
names = [source.name for source in installed_sources()]
assert names == sorted(names)
ours = ("identity_core", "identity_bbs", "identity_client", "identity_codec", "identity_tlog")
assert not [name for name in sys.modules if name.startswith("identity_") and not name.startswith(ours)]
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_installed_plugins_are_collected() -> None:
    """Every first-party plugin that is installed loads, or says in one line why not."""
    if not installed_sources():
        pytest.skip("no plugin is installed in this environment")
    plugins = PluginManager.load(load(environment={}), clock=HandClock(), logger=log)
    assert [row for row in plugins.installed() if row.state == "failed"] == []


# -- Bearer tokens -----------------------------------------------------------------------------------------------------


def bearer(function: Any) -> Any:
    """A plugin that verifies bearer tokens."""
    return SimpleNamespace(identity_verify_bearer=hookimpl(function))


def test_bearer_plugins_are_asked_until_one_answers() -> None:
    asked = []

    def identity_verify_bearer(token):
        asked.append(token)

    first = bearer(identity_verify_bearer)

    def identity_verify_bearer(token, now):
        assert now == NOW
        return Caller(api_key=KEY) if token == "good" else None

    plugins = manager(source("a", first), source("b", bearer(identity_verify_bearer)))
    assert plugins.verify_bearer("good", NOW) == Caller(api_key=KEY)
    assert plugins.verify_bearer("other", NOW) is None
    assert asked == ["good", "other"]
    assert {row.name for row in plugins.installed()} == {"a", "b"}


def test_refusal_ends_chain_and_broken_plugin_is_passed(caplog: pytest.LogCaptureFixture) -> None:
    def identity_verify_bearer(token):
        raise ZeroDivisionError(token)

    broken = bearer(identity_verify_bearer)

    def identity_verify_bearer(token, now):
        if token == "bad":
            raise AuthFailed
        return Caller(api_key=KEY) if token == "good" else None

    plugins = manager(source("a", broken), source("b", bearer(identity_verify_bearer)))
    assert plugins.verify_bearer("good", NOW) is not None
    with pytest.raises(AuthFailed):
        plugins.verify_bearer("bad", NOW)
    with pytest.raises(PluginUnavailable):
        plugins.verify_bearer("secret-token", NOW)
    assert "secret-token" not in caplog.text
    assert plugins.in_use()["bearer:a"].bulkhead.failures == 3


# -- Closing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [OSError("x"), SystemExit(3)])
def test_close_reaches_everything_even_when_one_fails(caplog: pytest.LogCaptureFixture, error: BaseException) -> None:
    closed = []

    class Closing(GoodLedger):
        async def close(self) -> None:
            closed.append("ledger")

    class Failing(GoodCustodian):
        def close(self) -> None:
            closed.append("custodian")
            raise error

    class Plain(GoodKeys):
        def close(self) -> None:
            closed.append("keys")

    plugins = manager(
        source("a", ledger_plugin(build=lambda settings, context: Closing())),
        source("b", provides("identity_provide_custodian", "toy", Failing())),
        source("c", provides("identity_provide_key_store", "toy", Plain())),
    )
    plugins.ledger("toy")
    plugins.custodian("toy")
    plugins.key_stores(["toy"])
    with caplog.at_level(logging.ERROR):
        asyncio.run(plugins.close())
        asyncio.run(plugins.close())
    assert closed == ["keys", "custodian", "ledger"]
    assert f"could not be closed: {type(error).__name__}" in caplog.text


def test_the_inventory_says_what_is_in_use() -> None:
    settings = load(environment={}, overrides={"did.method": "toy", "ledger.backend": "a", "custodian.backend": "c"})
    plugins = manager(
        METHOD,
        source("one", ledger_plugin("a", summary="A ledger")),
        source("two", ledger_plugin("b")),
        source("three", provides("identity_provide_custodian", "c", GoodCustodian())),
        settings=settings,
    )
    plugins.ledger("a")
    states = {(row.hook, row.name): row.state for row in plugins.installed()}
    assert states == {
        ("identity_provide_ledger_backend", "a"): "active",
        ("identity_provide_ledger_backend", "b"): "available",
        ("identity_provide_custodian", "c"): "chosen",
        ("identity_provide_did_method", "toy"): "chosen",
    }
    assert [row.summary for row in plugins.installed() if row.name == "a"] == ["A ledger"]
