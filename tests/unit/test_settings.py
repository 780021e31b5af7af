"""The settings: four layers, one tree, and wrong configurations answered in three lines."""

from __future__ import annotations

import pickle
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_core.settings import Settings, SettingsError, load, setting, show
from identity_core.settings.fields import keys_of, variable
from identity_core.settings.sources import line_numbers


@dataclass(frozen=True, slots=True)
class Depth:
    metres: float = setting(1.0, "How deep.", least=0)


@dataclass(frozen=True, slots=True)
class VaultSettings:
    """What a plugin's author writes; the last four need no help text."""

    url: str = setting(MISSING, "Where it is.", example='"https://vault"')
    token: str | None = setting(None, "How to get in.", secret=True)
    retries: int = 3
    mode: Literal["fast", "safe"] = "safe"
    names: tuple[str, ...] = ()
    depth: Depth = Depth()


@pytest.mark.parametrize("folder", ["other", "data", None])
def test_checkpoint_belongs_to_its_data_directory(tmp_path: Path, folder: str | None) -> None:
    """A copy that is opened beside an installation must not write over the checkpoint of that installation."""
    (tmp_path / "data").mkdir()
    path = tmp_path / "identity.toml"
    path.write_text(f'data_dir = "{tmp_path / "data"}"\n[ledger]\ncheckpoint_path = "{tmp_path / "kept"}"\n')
    named = None if folder is None else tmp_path / folder
    for environment, overrides in (
        ({}, {"data_dir": named}),
        ({} if named is None else {"IDENTITY_DATA_DIR": f"{named}/"}, {}),
    ):
        settings = load(file=path, environment=environment, overrides=overrides)
        assert settings.data_dir == (named or tmp_path / "data")
        assert settings.ledger.checkpoint_path == tmp_path / ("other.checkpoint" if folder == "other" else "kept")
    own = load(file=path, environment={}, overrides={"data_dir": named, "ledger.checkpoint_path": tmp_path / "own"})
    assert own.ledger.checkpoint_path == tmp_path / "own"
    variable = {"IDENTITY_LEDGER_CHECKPOINT_PATH": str(tmp_path / "own")}
    assert (
        load(file=path, environment=variable, overrides={"data_dir": named}).ledger.checkpoint_path == tmp_path / "own"
    )


@pytest.fixture
def toml(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "identity.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_without_anything_the_defaults_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load(environment={})
    assert (settings.ledger.backend, settings.custodian.backend, settings.key_stores) == (
        "sql",
        "sealed",
        ("sql", "file", "env"),
    )
    assert (settings.challenge.lifetime_seconds, settings.challenge.cap) == (300, 64)
    assert settings.anchoring.enabled is None
    assert settings.database_url is None
    assert str(settings.origin("server.port")) == "default"


def test_later_layers_win_and_every_value_knows_its_origin(toml) -> None:
    path = toml('data_dir = "/from/file"\n[server]\nhost = "0.0.0.0"\nport = 1\nworkers = 2\n')
    settings = load(
        file=path,
        environment={"IDENTITY_SERVER_PORT": "2", "IDENTITY_SERVER_HOST": "::1"},
        overrides={"server.port": 3, "data_dir": None},
    )
    assert (settings.server.port, settings.server.host, settings.server.workers) == (3, "::1", 2)
    assert settings.data_dir == Path("/from/file")
    assert str(settings.origin("server.port")) == "command line --port"
    assert str(settings.origin("server.host")) == "environment IDENTITY_SERVER_HOST"
    assert str(settings.origin("server.workers")) == f"file {path}:5"


def test_settings_file_is_found_by_variable(toml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = toml("[server]\nport = 7\n")
    assert load(environment={"IDENTITY_CONFIG": str(path)}).server.port == 7
    monkeypatch.chdir(tmp_path)
    assert load(environment={}).server.port == 7


def test_environment_texts_become_typed_values() -> None:
    settings = load(
        environment={
            "IDENTITY_ANCHORING_ENABLED": "true",
            "IDENTITY_KEY_STORES": "env, file",
            "IDENTITY_THROTTLE_KEY_PER_SECOND": "2.5",
            "IDENTITY_DATA_DIR": "/var/lib/identity",
            "IDENTITY_SERVER_PUBLIC_URL": "https://id.example.org",
            "IDENTITY_LOG_LEVEL": "",
        }
    )
    assert settings.anchoring.enabled is True
    assert settings.key_stores == ("env", "file")
    assert settings.throttle.key_per_second == 2.5
    assert settings.data_dir == Path("/var/lib/identity")
    assert settings.server.public_url == "https://id.example.org"
    assert settings.log.level == "info", "an empty variable counts as unset"


def test_a_secret_can_come_from_a_mounted_file(tmp_path: Path) -> None:
    secret = tmp_path / "url"
    secret.write_text("postgresql://u:pw@h/db\n")
    settings = load(environment={"IDENTITY_DATABASE_URL_FILE": str(secret)})
    assert settings.database_url == "postgresql://u:pw@h/db"
    assert str(settings.origin("database_url")) == "environment IDENTITY_DATABASE_URL_FILE"


@pytest.mark.parametrize(
    "variable_and_value",
    [
        ("IDENTITY_SERVICE_HOST", "10.0.0.1"),
        ("IDENTITY_SERVICE_PORT_HTTP", "80"),
        ("IDENTITY_PORT", "tcp://10.0.0.1:80"),
        ("IDENTITY_PORT_80_TCP_ADDR", "10.0.0.1"),
        ("IDENTITY_SERVER_PORT", "tcp://10.0.0.1:80"),
        ("IDENTITY_VECTORS", "/somewhere"),
        ("IDENTITY_AGENT_DID", "did:key:z6Mk"),
        ("IDENTITY_AGENT_KEY_FILE", "/home/aki/aki.key"),
        ("IDENTITY_ISSUER", "https://id.example"),
    ],
)
def test_foreign_environment_variables_are_ignored(
    variable_and_value: tuple[str, str],
) -> None:
    assert load(environment=dict([variable_and_value])).server.port == 8080


def test_secrets_show_nowhere(tmp_path: Path) -> None:
    environment = {
        "IDENTITY_DATABASE_URL": "postgresql://u:hunter2@h/db?sslpassword=hunter2",
        "API_KEY": "hunter2",
        "IDENTITY_PLUGINS_VAULT_TOKEN": "hunter2",
        "IDENTITY_PLUGINS_VAULT_URL": "x",
    }
    settings = load(environment=environment)
    rows = show(settings, {"vault": [VaultSettings]})
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in repr(rows)
    shown = {row.key: (row.value, str(row.origin)) for row in rows}
    assert shown["database_url"] == ("postgresql://u:***@h/db?***", "environment IDENTITY_DATABASE_URL")
    assert shown["plugins.vault.token"] == ("***", "environment IDENTITY_PLUGINS_VAULT_TOKEN")
    assert shown["plugins.vault.retries"] == (3, "default")
    assert "hunter2" not in repr(settings.plugins.tables.read("vault", VaultSettings))


@pytest.mark.parametrize(
    ("url", "value"),
    [
        ("postgresql://u:hunter2@a:5432,b:5433/db", "postgresql://u:***@a:5432,b:5433/db"),
        ("postgresql://[::1]:5432,b/db", "postgresql://[::1]:5432,b/db"),
        ("postgresql:///db", "***"),
    ],
)
def test_every_host_shows_and_no_part_of_a_password(url: str, value: str) -> None:
    rows = show(load(environment={"IDENTITY_DATABASE_URL": url}))
    assert [row.value for row in rows if row.key == "database_url"] == [value]


def test_a_plugin_gets_its_table_from_every_layer(toml, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t\n")
    path = toml('[plugins.vault]\nurl = "a"\nretries = 4\nmode = "fast"\nnames = ["x"]\ndepth.metres = 2\n')
    settings = load(
        file=path,
        environment={"IDENTITY_PLUGINS_VAULT_RETRIES": "5", "IDENTITY_PLUGINS_VAULT_TOKEN_FILE": str(token)},
        overrides={"plugins.vault.url": "b"},
    )
    settings.plugins.tables.refuse_unknown({"vault": [VaultSettings]})
    assert settings.plugins.tables.read("vault", VaultSettings) == VaultSettings(
        "b", "t", 5, "fast", ("x",), Depth(2.0)
    )


def test_a_plugin_name_with_a_dash_or_underscore_is_no_riddle() -> None:
    settings = load(environment={"IDENTITY_PLUGINS_MY_VAULT_URL": "a", "IDENTITY_PLUGINS_MY_URL": "b"})
    tables = settings.plugins.tables
    assert tables.read("my-vault", VaultSettings).url == "a"
    assert tables.read("my", VaultSettings).url == "b"
    tables.refuse_unknown({"my-vault": [VaultSettings], "my": [VaultSettings]})


def test_plugins_of_two_kinds_may_share_a_name_and_a_table(toml) -> None:
    path = toml('[plugins.sql]\nurl = "a"\nmetres = 3\n')
    tables = load(file=path, environment={}).plugins.tables
    tables.refuse_unknown({"sql": [VaultSettings, Depth]})
    assert (tables.read("sql", VaultSettings).url, tables.read("sql", Depth).metres) == ("a", 3.0)


def test_api_key_of_specification_is_setting_of_env_store() -> None:
    @dataclass(frozen=True)
    class Env:
        api_key: str | None = None

    tables = load(environment={"API_KEY": "k"}).plugins.tables
    assert tables.read("env", Env).api_key == "k"
    tables.refuse_unknown({})  # so general a name may belong to another program


def test_a_plugin_that_did_not_load_keeps_its_table(toml) -> None:
    tables = load(file=toml("[plugins.broken]\nx = 1\n"), environment={"IDENTITY_PLUGINS_BROKEN_Y": "1"}).plugins.tables
    tables.refuse_unknown({}, all_loaded=False)


def test_settings_can_be_sent_to_a_worker_process() -> None:
    settings = load(environment={"IDENTITY_PLUGINS_VAULT_URL": "a"}, overrides={"server.port": 1})
    copy = pickle.loads(pickle.dumps(settings))
    assert copy == settings
    assert copy.plugins.tables.read("vault", VaultSettings).url == "a"


def test_every_key_has_a_meaning_and_a_variable_of_its_own() -> None:
    assert all(row.help for row in show(load(environment={})))
    keys = keys_of(Settings, "")
    assert len({variable(key) for key in keys}) == len(keys)
    assert not [key for key in keys if key.endswith("_file")], "NAME_FILE is kept for mounted secrets"


WRONG_FILES = {
    "misspelt key": ("[server]\nprot = 1\n", "server.prot is not a setting", ":2", "Did you mean server.port?"),
    "misspelt table": ("[sever]\nport = 1\n", "sever.port is not a setting", ":2", "server.port"),
    "empty misspelt table": ("[serverr]\n", "serverr is not a setting", ":1", "Did you mean server?"),
    "text for a number": ('[server]\nport = "http"\n', 'must be a whole number, not "http"', ":2", "port = 8080"),
    "truth for a number": ("[server]\n\nport = true\n", "must be a whole number, not true", ":3", "port = 8080"),
    "fraction for a number": ("server.port = 80.5\n", "must be a whole number, not 80.5", ":1", "port = 8080"),
    "number out of range": ("[server]\nport = 70000\n", "must be from 0 to 65535, not 70000", ":2", "port = 8080"),
    "negative lifetime": ("[challenge]\nlifetime_seconds = -1\n", "from 10 to 3600", ":2", "lifetime_seconds = 300"),
    "nan": ("[ledger]\ndeadline_seconds = nan\n", "from 0.01 to 600, not nan", ":2", "deadline_seconds = 5.0"),
    "number for a truth": ("[anchoring]\nenabled = 1\n", "must be true or false, not 1", ":2", "enabled = false"),
    "unknown word": ('[log]\nlevel = "loud"\n', "one of debug, info, warning, error", ":2", 'level = "info"'),
    "text for a list": ('key_stores = "sql"\n', 'key_stores must be a list, not "sql"', ":1", '["sql", "file", "env"]'),
    "number in a list": ("key_stores = [1]\n", "key_stores must be a text", ":1", '["sql", "file", "env"]'),
    "key store twice": ('key_stores = ["sql", "sql"]\n', "names a store twice", ":1", "Change"),
    "bad plugin name": ('[ledger]\nbackend = "My Ledger"\n', "must be of the form", ":2", 'backend = "sql"'),
    "bad method": ('[did]\nmethod = "Ids"\n', "must be of the form [a-z0-9]{1,32}", ":2", 'method = "ids"'),
    "path in the origin": ('[server]\npublic_url = "https://a/b"\n', "not an origin", ":2", '"https://id.example.org"'),
    "no network": ('[server]\ntrusted_proxies = ["proxy"]\n', "not valid", ":2", '["10.0.0.0/8"]'),
    "unknown database": ('database_url = "mysql://u:hunter2@h/d"\n', "only PostgreSQL", ":1", '"postgresql://'),
    "redis without url": ('[throttle]\nstore = "redis"\n', 'store = "redis" needs redis_url', ":2", "[throttle]"),
    "table for a value": ("[server.port]\nx = 1\n", "server.port.x is not a setting", ":2", "server.port"),
    "value for a table": ("server = 8080\n", "server must be a table", ":1", "[server]"),
    "value for a plugin": ("[plugins]\nvault = 1\n", "a plugin's settings are a table", ":2", "[plugins.vault]"),
    "not TOML": ("[server]\nhost = localhost\n", "not TOML: Invalid value", ":2", "texts need quotes"),
    "half a file": ('[server]\nhost = "a', "not TOML", "at its end", "quotes"),
    "key twice": ("[server]\nport = 1\nport = 2\n", "not TOML: Cannot overwrite a value", ":3", "Correct"),
    "long value": (f'[did]\nmethod = "{"x" * 5000}"\n', "xxx…", ":2", 'method = "ids"'),
}


@pytest.mark.parametrize(("text", "what", "where", "fix"), WRONG_FILES.values(), ids=WRONG_FILES.keys())
def test_a_wrong_file_is_answered_in_three_lines(toml, text: str, what: str, where: str, fix: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        load(file=toml(text), environment={})
    assert_three_lines(refusal.value, what, where, fix)


WRONG_VARIABLES = {
    "misspelt": (
        {"IDENTITY_SERVER_PROT": "1"},
        "IDENTITY_SERVER_PROT is not a setting",
        "PROT",
        "IDENTITY_SERVER_PORT?",
    ),
    "no number": ({"IDENTITY_SERVER_PORT": "١٢"}, "whole number", "IDENTITY_SERVER_PORT", "IDENTITY_SERVER_PORT=8080"),
    "underscores": ({"IDENTITY_SERVER_PORT": "8_0"}, "whole number", "IDENTITY_SERVER_PORT", "=8080"),
    "no truth": (
        {"IDENTITY_ANCHORING_ENABLED": "maybe"},
        "true or false",
        "ANCHORING_ENABLED",
        "IDENTITY_ANCHORING_ENABLED=false",
    ),
    "both": ({"API_KEY": "a", "API_KEY_FILE": "b"}, "both set", "API_KEY, API_KEY_FILE", "Unset one"),
    "no file": ({"IDENTITY_DATABASE_URL_FILE": "/nowhere/x"}, "cannot be read", "/nowhere/x", "readable file"),
    "a directory": ({"IDENTITY_DATABASE_URL_FILE": "/"}, "cannot be read", "file /", "readable file"),
    "list": ({"IDENTITY_KEY_STORES": "sql,A B"}, "must be of the form", "KEY_STORES", "KEY_STORES=sql, file, env"),
    "config": ({"IDENTITY_CONFIG": "/nowhere/identity.toml"}, "does not exist", "/nowhere", "Create the file"),
}


@pytest.mark.parametrize(("environment", "what", "where", "fix"), WRONG_VARIABLES.values(), ids=WRONG_VARIABLES.keys())
def test_a_wrong_variable_is_answered_in_three_lines(
    environment: dict[str, str], what: str, where: str, fix: str
) -> None:
    with pytest.raises(SettingsError) as refusal:
        load(environment=environment)
    assert_three_lines(refusal.value, what, where, fix)


WRONG_TABLES = {
    "missing": ("", {}, "plugins.vault.url must be set", "IDENTITY_PLUGINS_VAULT_URL", 'url = "https://vault"'),
    "unknown key": ('[plugins.vault]\nurl="a"\nretrys=1', {}, "not a setting of the plugin vault", ":3", "retries?"),
    "unknown plugin": (
        "[plugins.vualt]\nurl=1",
        {},
        "no plugin of this name is installed",
        ":2",
        "Did you mean vault?",
    ),
    "unknown variable": ("", {"IDENTITY_PLUGINS_VAULT_ULR": "a"}, "not a setting of any", "ULR", "VAULT_URL?"),
    "secret of a wrong type": ('[plugins.vault]\nurl="a"\ntoken=123456', {}, "must be a text.", ":3", "token ="),
    "nested": ('[plugins.vault]\nurl="a"\ndepth.metres=-1', {}, "0 or more, not -1", ":3", "metres = 1.0"),
}


@pytest.mark.parametrize(
    ("text", "environment", "what", "where", "fix"), WRONG_TABLES.values(), ids=WRONG_TABLES.keys()
)
def test_a_wrong_plugin_table_is_answered_in_three_lines(
    toml, text: str, environment: dict[str, str], what: str, where: str, fix: str
) -> None:
    tables = load(file=toml(text), environment=environment).plugins.tables

    def claim() -> None:
        tables.refuse_unknown({"vault": [VaultSettings]})
        tables.read("vault", VaultSettings)

    with pytest.raises(SettingsError) as refusal:
        claim()
    assert_three_lines(refusal.value, what, where, fix)


def test_wrong_values_of_the_command_line_name_the_option() -> None:
    with pytest.raises(SettingsError) as refusal:
        load(environment={}, overrides={"server.port": 99999})
    assert_three_lines(refusal.value, "0 to 65535", "command line --port", "--port 8080")
    with pytest.raises(SettingsError):
        load(environment={}, overrides={"server.prot": 1})


def assert_three_lines(error: SettingsError, what: str, where: str, fix: str) -> None:
    lines = str(error).split("\n")
    assert len(lines) == 3
    assert what in lines[0]
    assert where in lines[1]
    assert fix in lines[2]
    assert "hunter2" not in str(error)
    assert "123456" not in str(error)
    assert len(str(error)) < 1_000


def test_line_numbers_see_through_strings_and_arrays() -> None:
    text = (
        'a = """\n[not.a.table]\nb = 1\n"""\n'  # 1-4
        "c = [\n  1,\n  # [nor.this]\n  2,\n]\n"  # 5-9
        "\n[t.u] # comment\nx.y = 1\n'q r' = {z = 1}\n"  # 11-13
        "[[list]]\nn = 1\n"  # 14-15
    )
    lines = line_numbers(text)
    assert lines["a"] == 1
    assert lines["c"] == 5
    assert lines["t.u"] == 11
    assert lines["t.u.x.y"] == 12
    assert lines["t.u.q r.z"] == 13
    assert lines["list.n"] == 15
    assert "b" not in lines


@given(st.dictionaries(st.sampled_from([f.name for f in fields(Settings)]), st.text(max_size=20), max_size=3))
def test_any_environment_gives_settings_or_error(values: dict[str, str]) -> None:
    environment = {f"IDENTITY_{name}".upper(): value for name, value in values.items()}
    try:
        load(environment=environment)
    except SettingsError as error:
        refusal = str(error)
        assert refusal.count("\n  where: ") == 1


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://id:sEcr@tPw9@127.0.0.1/x",
        "postgresql://id:sEcr/tPw9@127.0.0.1/x",
        "postgresql://id:sEcr?tPw9@127.0.0.1/x",
        "postgresql://id:sEcr#tPw9@127.0.0.1/x",
        "postgresql://id:sEcr%tPw9@127.0.0.1/x",
        "postgresql://id:sEcr tPw9@127.0.0.1/x",
        "postgresql://id@127.0.0.1/x?password=sEcr%tPw9",
    ],
)
def test_password_that_is_not_percent_encoded_is_not_shown(url: str) -> None:
    """A client library would put a part of it into its error message."""
    with pytest.raises(SettingsError) as refused:
        load(environment={"IDENTITY_DATABASE_URL": url})
    assert "percent-encoded" in str(refused.value)
    assert "sEcr" not in str(refused.value)
    assert "tPw9" not in str(refused.value)


def test_percent_encoded_password_and_several_hosts_are_taken() -> None:
    url = "postgresql://id:a%40b%2Fc@one:5432,two:5432/x?target_session_attrs=read-write&sslrootcert=/etc/ca.pem"
    assert load(environment={"IDENTITY_DATABASE_URL": url}).database_url == url
    assert load(environment={"IDENTITY_DATABASE_URL": "postgresql:///x?host=/run/postgresql"}).database_url
