"""The sources of a log: a service, a directory that `identity ledger export` wrote, or this installation.

A source returns a checkpoint and tiles, from which every proof is made. The log must agree with its key and with earlier
checkpoints.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from identity_commands.options import FILE_THERE, NAME_A_SOURCE, all_of, opened_part
from identity_commands.remote import named_service_option, session

from identity_client import ServiceError, Session
from identity_codec.multibase import base64url_decode
from identity_core.cli.options import Whole, config_option, configured, data_dir_option, database_url_option
from identity_core.cli.output import fail
from identity_core.errors import DidDeactivated
from identity_core.settings import Settings
from identity_tlog.leaf import LogLeaf
from identity_tlog.note import Checkpoint, Note
from identity_tlog.tiles import WIDTH, Tile, bundled, tiles_of, unbundled
from identity_tlog.tree import HASH_BYTES, Refuted
from identity_transparency.domain.checkpoint_keys import no_growth
from identity_transparency.domain.history import read_transaction

if TYPE_CHECKING:
    from identity_transparency.use_cases.project import TransparencyLog

key_option = click.option(
    "--key",
    "key_text",
    envvar="IDENTITY_LEDGER_KEY",
    show_envvar=True,
    help="Verifier key of the log (`identity ledger key`), or a file with it.",
)
witness_keys_option = click.option(
    "--witness-key", "witness_texts", multiple=True, help="Verifier key of an accepted witness; repeatable."
)
cosignatures_option = click.option(
    "--cosignatures", type=Whole(min=0), default=0, help="Number of these witnesses that must have cosigned."
)
url_option = named_service_option("URL of a running service.", envvar="IDENTITY_URL", show_envvar=True)
_kept = functools.partial(click.option, type=FILE_THERE, multiple=True)
held_option = _kept("--held", help="File with an earlier checkpoint, from which the log must have grown.")
anchored_option = _kept(
    "--anchored",
    help="File with an anchored checkpoint, as `identity anchor checkpoint` prints it. Look up its root on the ledger yourself.",
)
service_did_option = click.option(
    "--service-did",
    help="DID of the service itself (`identity ledger key --json`). Its log names the retired keys. Without it they are unchecked.",
)
service_history_option = click.option(
    "--service-history",
    type=FILE_THERE,
    help="File that `identity ledger verify --save` wrote. Its service log links successive checkpoint keys and names retired log keys.",
)
folder_option = click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Directory that `identity ledger export` wrote.",
)


class Missing(Exception):
    """A tile that the checkpoint needs and the source lacks."""


class UrlSource:
    """URL of a running service."""

    def __init__(self, opened: Session) -> None:
        self._session = opened
        self.place = opened.url

    def note(self) -> bytes:
        """Return the current checkpoint with any cosignatures: it is read with all that the log holds."""
        return self._session.get_bytes("/ledger/checkpoint", query={"quorum": "any"})

    def tile(self, tile: Tile) -> bytes:
        try:
            return self._session.get_bytes(f"/ledger/tile/{tile.path}")
        except ServiceError as error:
            if error.code == "TILE_NOT_FOUND":
                raise Missing(error.message) from error
            raise

    def leaves_of(self, did: str) -> list[LogLeaf]:
        """Return the entries of ``did`` as the service states them; an audit, or inclusion proofs, verify them."""
        return leaves_of(self._session, did)

    def growth(self, first: int, second: int) -> Sequence[bytes]:
        """Return the proof of ``checkpoint_keys.Growth``."""
        return fetched_growth(self._session, first, second)

    def service_did(self) -> str | None:
        found: str | None = self._session.call("GET", "/ledger/key", signed_in=False).get("serviceDid")
        return found


class FolderSource:
    """Files in the layout of C2SP tlog-tiles."""

    def __init__(self, folder: Path, url: str | None) -> None:
        self._folder, self._url = folder, url
        self.place = str(folder)

    def note(self) -> bytes:
        try:
            return (self._folder / "checkpoint").read_bytes()
        except FileNotFoundError:
            fail("there is no checkpoint", self.place, "`identity ledger export` writes such a directory")

    def tile(self, tile: Tile) -> bytes:
        try:
            return (self._folder / "tile" / tile.path).read_bytes()
        except FileNotFoundError as error:
            raise Missing(f"the tile {tile.path} is missing") from error

    def leaves_of(self, did: str) -> list[LogLeaf]:
        """Return the entries of ``did`` from the bundles. An audit verifies them."""
        found: list[LogLeaf] = []
        for bundle in tiles_of(unverified(self.note()).size, None):
            data = self.tile(bundle)
            # Most bundles have none of it, and are not taken apart.
            if did.encode() in data:
                found += [leaf for leaf in map(LogLeaf.parse, unbundled(data)) if leaf.did == did]
        return found

    def growth(self, first: int, second: int) -> Sequence[bytes]:
        """Return the proof of ``checkpoint_keys.Growth`` from the service at the URL, because the directory can hold an older log
        than both."""
        if self._url is None:
            return no_growth(first, second)
        with session(self._url) as http:
            return fetched_growth(http, first, second)

    def service_did(self) -> str | None:
        return None


class LocalSource:
    """The ledger and the tree of this installation. A service may run on it."""

    def __init__(self, runner: asyncio.Runner, log: TransparencyLog) -> None:
        self._run, self._log = runner.run, log
        self.place = "this installation"
        self.keys = log.signer.keys

    def note(self) -> bytes:
        """Return the note as ``LogSource`` does. Raises ``StorageMismatch``: when the ledger contradicts its log, which is never
        signed."""
        return self._run(self._signed())

    def bring_up(self) -> None:
        """Append to the log the entries that only the ledger has. Raises ``StorageMismatch`` as ``note`` does."""
        self._run(self._log.follower.now())

    def stored(self) -> Checkpoint:
        """Return the tree as it is stored, unsigned."""
        frontier = self._run(self._log.tree.frontier())
        return Checkpoint(self.keys.present.name, frontier.size, frontier.root)

    def tile(self, tile: Tile) -> bytes:
        data = self._run(self._bundle(tile) if tile.level is None else self._hashes(tile.level, tile))
        if data is None:
            raise Missing("the database does not have it")
        return data

    def leaves_of(self, did: str) -> list[LogLeaf]:
        """Return the entries of ``did`` as the ledger has them."""
        from identity_transparency.use_cases.project import leaf_of

        return [leaf_of(line) for line in self._run(self._log.ledger.entries(did))]

    growth = staticmethod(no_growth)

    def service_did(self) -> str | None:
        return self._run(self._log.tree.service_did())

    async def _signed(self) -> bytes:
        return await self._log.signer.signed(await self._log.follower.now())

    async def _hashes(self, level: int, tile: Tile) -> bytes | None:
        found = (await self._log.tree.tiles([(level, tile.number)])).get((level, tile.number), b"")
        size = tile.width * HASH_BYTES
        return found[:size] if len(found) >= size else None

    async def _bundle(self, tile: Tile) -> bytes | None:
        from identity_transparency.use_cases.project import leaf_of

        lines = await self._log.ledger.entries_after(tile.number * WIDTH, tile.width)
        return bundled([leaf_of(line).encode() for line in lines]) if lines else None


LogSource = UrlSource | FolderSource | LocalSource
"""A log to be read, at a ``place``: its signed checkpoint is ``note()``, the bytes of a tile or of a bundle ``tile(tile)``, which raises
``Missing``. ``service_did()`` is the DID whose log says which keys are retired, None where the source does not know of one."""


source_options = all_of(folder_option, url_option, data_dir_option, database_url_option, config_option)
"""The options that ``open_source`` takes."""


@contextlib.contextmanager
def open_source(
    *, folder: Path | None, url: str | None, config: Path | None, data_dir: Path | None, database_url: str | None
) -> Iterator[LogSource]:
    """Yield the source that the options name; without any, this installation."""
    if folder is not None:
        yield FolderSource(folder, url)
    elif url is not None and data_dir is None and database_url is None:
        with session(url) as http:
            yield UrlSource(http)
    else:
        from identity_transparency.opening import transparency_log

        settings = settings_of(config=config, data_dir=data_dir, database_url=database_url)
        with opened_part(settings, transparency_log, remedy=NAME_A_SOURCE) as (runner, log):
            yield LocalSource(runner, log)


def settings_of(*, config: Path | None, data_dir: Path | None, database_url: str | None, **_: Any) -> Settings:
    """Return the settings of this installation, of the options that ``open_source`` takes."""
    return configured(config, {"data_dir": data_dir, "database_url": database_url})


def transactions_of(http: Session, did: str) -> dict[int, str]:
    """Return the transaction hashes of the recorded versions, oldest first; for a deactivated DID those that its resolutions name."""
    try:
        recorded = [item for item in http.whole_history(did) if item["transactionHash"] is not None]
    except ServiceError as error:
        if error.code != DidDeactivated.code:
            raise
        return {number: _ended(http, did, number) for number in range(1, int(error.details["versionId"]) + 1)}
    return {item["versionId"]: item["transactionHash"] for item in recorded}


def _ended(http: Session, did: str, number: int) -> str:
    try:
        http.resolve(did, versionId=number)
    except ServiceError as error:
        if error.code == DidDeactivated.code:
            return str(error.details["transactionHash"])
        raise
    raise Refuted(f"{did} is deactivated, and its version {number} resolves")


def leaves_of(http: Session, did: str) -> list[LogLeaf]:
    """Return the entries of ``did`` as a service states them; nothing of them is verified."""
    hashes = transactions_of(http, did).values()
    return [read_transaction(http.call("GET", f"/ledger/transactions/{one}", signed_in=False)) for one in hashes]


def fetched_growth(http: Session | None, first: int, second: int) -> list[bytes]:
    """Return the proof of ``checkpoint_keys.Growth`` from a service. Without a service, end the command."""
    if http is None:
        raise click.UsageError(f"--url is missing: a service must prove the growth from {first} to {second} entries")
    try:
        proof = http.call("GET", "/ledger/proof/consistency", query={"first": first, "second": second}, signed_in=False)
    except ServiceError as error:
        if error.code == "LOG_RANGE_INVALID":
            raise Refuted(f"a checkpoint has {second} entries, the log does not have as many: it was cut") from error
        raise
    return [base64url_decode(one) for one in proof["hashes"]]


def unverified(note: bytes) -> Checkpoint:
    """Return the checkpoint of a note without checking its signatures. Raises ``Malformed``."""
    return Checkpoint.parse(Note.parse(note).text)
