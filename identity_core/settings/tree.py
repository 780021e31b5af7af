"""The tables of the settings file, with their defaults, limits and meanings.

A key has the same dotted name everywhere: ``[server] port`` in TOML, ``IDENTITY_SERVER_PORT`` in the environment.
Names contain the units. With the defaults, a service works on one machine without any other server
(openapi/DECISIONS.md §6.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from identity_core.settings.fields import DEFAULT, Origin, setting
from identity_core.settings.server import A2a, ChallengesSettings, Mcp, Quota, Retention, Server, TokensSettings
from identity_core.settings.sources import ExtensionSettings, PluginTables, check_url, check_variable

PLUGIN_NAME = r"[a-z][a-z0-9_-]{0,63}"
NAME_OF_LOG = r"[!-*,-~]{1,200}"


_DATABASES = ("postgresql://", "postgres://")
_database = partial(check_url, _DATABASES, "only PostgreSQL URLs are known; leave it out for the embedded SQLite")
_redis = partial(check_url, ("redis://", "rediss://", "unix://"), "it begins with none of redis://, rediss://, unix://")


@dataclass(frozen=True, slots=True)
class DidSettings:
    """DIDs of the service's own method."""

    method: str = setting(
        "ids", "The DID method of this service; its plugin must be installed.", pattern="[a-z0-9]{1,32}"
    )
    writes_per_hour: int | None = setting(None, "Changes of one DID in an hour; unset: no limit.", least=1)
    registered_callers: bool = setting(
        True, "Whether a DID must be registered here to sign in; false lets in every did:key, which anybody can make."
    )


@dataclass(frozen=True, slots=True)
class LedgerChoice:
    """The ledger that records every change."""

    backend: str = setting("sql", "The name of the ledger plugin.", pattern=PLUGIN_NAME)
    deadline_seconds: float = setting(5.0, "How long one call may take.", least=0.01, most=600)
    origin: str | None = setting(
        None,
        "The name of the transparency log in its checkpoints; keep it. Default: from public_url at the first start.",
        pattern=NAME_OF_LOG,
        example='"id.example.org/api/v1/ledger"',
    )
    sample: int = setting(
        64, "How many DIDs are compared with the document index at each start; 0: none.", least=0, most=1_000_000
    )
    checkpoint_path: Path | None = setting(
        None,
        "The file that tells a rollback, apart from data_dir; unset: beside the settings file, else beside data_dir.",
    )
    checkpoint_seconds: float = setting(10.0, "The least time between two notes in it.", least=1, most=3_600)
    witnesses: Path | None = setting(
        None, "A C2SP tlog-policy file: whose cosignatures each checkpoint needs; unset: none."
    )


@dataclass(frozen=True, slots=True)
class ProverChoice:
    """The prover of zero-knowledge predicates."""

    backend: str | None = setting(
        None,
        "The name of the prover plugin; unset: the only one installed, if any.",
        pattern=PLUGIN_NAME,
        example='"bbs"',
    )
    workers: int = setting(1, "Prover processes of each server process.", least=1, most=256)
    deadline_seconds: float = setting(31.0, "How long one proof may take.", least=0.1, most=600)
    memory_mebibytes: int = setting(2_048, "The address space of a prover process, in MiB.", least=256, most=16_777_216)
    environment: tuple[str, ...] = setting(
        (), "Variables that provers get beside PATH, LANG and the like.", check=check_variable, example='["OMP_X"]'
    )
    anonymous_waiting: int = setting(16, "Unfinished verifications of strangers; more are 503.", least=1, most=1_000)


@dataclass(frozen=True, slots=True)
class CustodianChoice:
    """The custodian of the private keys that the service holds."""

    backend: str = setting("sealed", "The name of the custodian plugin.", pattern=PLUGIN_NAME)
    holders: str | None = setting(
        None,
        "The custodian plugin that keeps the secrets of holders, where it is another one. Not to be changed later: "
        "credentials are bound to what it keeps.",
        pattern=PLUGIN_NAME,
        example='"pkcs11"',
    )
    deadline_seconds: float = setting(5.0, "How long one call may take.", least=0.01, most=600)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the custodians in use, first that of the service's own keys."""
        return (self.backend,) if self.holders in (None, self.backend) else (self.backend, self.holders)


@dataclass(frozen=True, slots=True)
class DelegationSettings:
    """Delegations of holders to agents, and the levels of autonomy (0 to 5) that requests of agents need."""

    max_lifetime_days: float = setting(90.0, "How far ahead a delegation may expire.", least=0.001, most=3_650)
    clock_leeway_seconds: int = setting(60, "How far ahead the clocks of others may be.", least=0, most=3_600)
    autonomy_metadata: int = setting(1, "Needed to read a credential's metadata.", least=0, most=5)
    autonomy_pinned: int = setting(2, "Needed for a proof whose value the holder fixed.", least=0, most=5)
    autonomy_chosen: int = setting(3, "Needed for a proof whose value the agent chose.", least=0, most=5)
    autonomy_anchor: int = setting(1, "What anchor: true adds to either.", least=0, most=5)
    autonomy_delegate: int = setting(5, "Needed to delegate to another agent.", least=0, most=5)
    autonomy_ceiling: int = setting(5, "The highest level that any agent has here.", least=0, most=5)


@dataclass(frozen=True, slots=True)
class ProofSettings:
    """Delegated proofs."""

    lifetime_seconds: int = setting(86_400, "How long a proof is good for.", least=60, most=315_360_000)
    shows_agent: bool = setting(False, "Whether proofs name the agent, which links all of its proofs.")
    ibct_lifetime_days: float = setting(90.0, "The longest life of an IBCT that is accepted.", least=0.001, most=90)
    disclosures: int = setting(
        3, "Different unpinned questions about one attribute of a credential: one bit each.", least=1, most=1_000_000
    )
    disclosure_days: float | None = setting(
        None, "After this the same number may be asked anew; unset: never.", least=0.001, most=36_500
    )


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """The history of a DID. A separate setting controls the answers of its log: ``log.after_deactivation``."""

    after_deactivation: Literal["visible", "gone"] = setting("gone", "What a deactivated DID's history answers.")


@dataclass(frozen=True, slots=True)
class Throttle:
    """Token buckets. Rates are requests per second; a burst is a number of requests."""

    store: Literal["auto", "memory", "sql", "redis"] = setting(
        "auto", "Where buckets live. auto: redis with redis_url, sql with database_url or workers, else memory."
    )
    redis_url: str | None = setting(
        None, "The Redis server.", check=_redis, secret=True, example='"redis://localhost:6379/0"'
    )
    key_per_second: float = setting(100.0, "Of an API key that sets none of its own.", least=0.001, most=1e6)
    key_burst: int = setting(200, "Of an API key that sets none of its own.", least=1, most=1e6)
    address_per_second: float = setting(50.0, "Of a stranger's address.", least=0.001, most=1e6)
    address_burst: int = setting(100, "Of a stranger's address.", least=1, most=1e6)
    did_per_second: float = setting(
        100.0, "Of a DID that has signed in, from all of its addresses.", least=0.001, most=1e6
    )
    did_burst: int = setting(200, "Of a DID that has signed in, from all of its addresses.", least=1, most=1e6)
    challenge_per_second: float = setting(5.0, "Of challenges for one address.", least=0.001, most=1e6)
    challenge_burst: int = setting(20, "Of challenges for one address.", least=1, most=1e6)

    def __post_init__(self) -> None:
        if self.store == "redis" and self.redis_url is None:
            raise ValueError('store = "redis" needs redis_url')


@dataclass(frozen=True, slots=True)
class AnchoringSettings:
    """Anchoring of proofs on the ledger."""

    enabled: bool | None = setting(
        None, "Whether anchor: true is obeyed; unset: where the chosen ledger can.", example="false"
    )
    worker: bool = setting(True, "Whether the server anchors; false where `identity anchor worker` does.")
    batch_size: int = setting(10_000, "The most proofs that one root stands for.", least=1, most=100_000)
    seal_seconds: float = setting(0.5, "How long a batch waits for more proofs.", least=0, most=86_400)
    attempts: int = setting(3, "How often a batch is tried that the ledger says has failed.", least=1, most=1_000)
    retry_seconds: float = setting(15.0, "How long after a failure it is tried again.", least=0, most=86_400)


@dataclass(frozen=True, slots=True)
class Log:
    """Settings of the lines on standard error. ``after_deactivation`` is about the logs of DIDs."""

    level: Literal["debug", "info", "warning", "error"] = setting("info", "The lowest level that is written.")
    format: Literal["text", "json"] = setting("text", "One line of text, or one JSON object, a record.")
    requests: bool = setting(True, "Whether each answered request has a line; it names no DID, key, target or address.")
    success_share: float = setting(
        1.0, "Of answers below 400 the share that has one; refusals all have.", least=0, most=1
    )
    after_deactivation: Literal["visible", "gone"] = setting(
        "visible", "What the log of a deactivated DID, and bundles of ledger entries, answer."
    )


@dataclass(frozen=True, slots=True)
class TracingSettings:
    """Traces of OpenTelemetry (an extension makes them): a request and its calls of plugins, only with their names."""

    endpoint: str | None = setting(
        None, "Where they are sent, OTLP over HTTP; unset: none are made.", example='"http://127.0.0.1:4318/v1/traces"'
    )
    share: float = setting(0.1, "The share of requests that have one.", least=0, most=1)


@dataclass(frozen=True, slots=True)
class BackupSettings:
    """The places of backups, for `identity doctor`."""

    directory: Path | None = setting(
        None, "The folder of sealed backups, whose newest the doctor looks at.", example='"/var/backups/identity"'
    )
    max_age_hours: float = setting(26.0, "How old the newest may be.", least=0.1, most=8_760)


@dataclass(frozen=True, slots=True)
class Ui:
    """The pages for people."""

    enabled: bool = setting(True, "Whether they are served, under /ui and at / for browsers.")


@dataclass(frozen=True, slots=True)
class Plugins:
    """Settings about all plugins. A plugin's own keys are in ``[plugins.<name>]``, with the name of its provider."""

    disabled: tuple[str, ...] = setting((), "Entry points or distributions not to load.", example='["ledger_memory"]')
    modules: tuple[str, ...] = setting(
        (), "Modules to load beside the entry points: a plugin in the making.", example='["my_plugin"]'
    )
    import_seconds: float = setting(10.0, "How long the import of one plugin may take.", least=0.1, most=600)
    deadline_seconds: float = setting(5.0, "How long one call of a key store may take.", least=0.01, most=600)
    calls_in_flight: int = setting(512, "Unfinished calls of one plugin; more are 503.", least=1, most=100_000)
    failures_to_open: int = setting(
        5, "Failures in a row after which a plugin's method is shut off.", least=1, most=1_000
    )
    retry_seconds: float = setting(
        5.0, "How long it stays shut off before one call tries again.", least=0.01, most=3_600
    )
    tables: PluginTables = field(default_factory=PluginTables, repr=False, metadata={"internal": True})


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. ``origin`` returns the source of the value of a dotted key. ``file``: the settings file, if any."""

    data_dir: Path = setting(Path("identity-data"), "The directory of everything that is stored in files.")
    database_url: str | None = setting(
        None,
        "A PostgreSQL server; unset: SQLite files in data_dir.",
        check=_database,
        secret=True,
        example='"postgresql://identity@localhost/identity"',
    )
    mapped_mebibytes: int = setting(0, "MiB of an SQLite file that a connection maps into memory.", least=0, most=2_047)
    database_readers: int = setting(3, "Connections for reading of each database on the server.", least=1, most=100)
    key_stores: tuple[str, ...] = setting(
        ("sql", "file", "env"), "The stores of API keys, in the order in which they are asked.", pattern=PLUGIN_NAME
    )
    server: Server = field(default_factory=Server)
    did: DidSettings = field(default_factory=DidSettings)
    ledger: LedgerChoice = field(default_factory=LedgerChoice)
    prover: ProverChoice = field(default_factory=ProverChoice)
    custodian: CustodianChoice = field(default_factory=CustodianChoice)
    challenge: ChallengesSettings = field(default_factory=ChallengesSettings)
    token: TokensSettings = field(default_factory=TokensSettings)
    delegation: DelegationSettings = field(default_factory=DelegationSettings)
    proof: ProofSettings = field(default_factory=ProofSettings)
    quota: Quota = field(default_factory=Quota)
    retention: Retention = field(default_factory=Retention)
    history: HistorySettings = field(default_factory=HistorySettings)
    throttle: Throttle = field(default_factory=Throttle)
    anchoring: AnchoringSettings = field(default_factory=AnchoringSettings)
    log: Log = field(default_factory=Log)
    tracing: TracingSettings = field(default_factory=TracingSettings)
    backup: BackupSettings = field(default_factory=BackupSettings)
    ui: Ui = field(default_factory=Ui)
    mcp: Mcp = field(default_factory=Mcp)
    a2a: A2a = field(default_factory=A2a)
    extensions: ExtensionSettings = field(default_factory=ExtensionSettings)
    plugins: Plugins = field(default_factory=Plugins)
    origins: Mapping[str, Origin] = field(default_factory=dict, repr=False, compare=False, metadata={"internal": True})
    file: Path | None = field(default=None, repr=False, compare=False, metadata={"internal": True})

    def __post_init__(self) -> None:
        if len(set(self.key_stores)) != len(self.key_stores):
            raise ValueError("key_stores names a store twice")

    def origin(self, key: str) -> Origin:
        """Return the source of the value of the dotted ``key``."""
        return self.origins.get(key, DEFAULT)
