"""``identity status-list``: an issuer's list of revoked handles as signed files for any web server, and a holder's gap from them."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from identity_codec import multibase, multikey
from identity_codec.times import printed
from identity_commands.credential_offline import key_option, signing_key
from identity_commands.json_input import name_of
from identity_commands.log_policy import policy_option, read_policy, verifier_key
from identity_commands.options import all_of
from identity_commands.remote import keys_option
from identity_commands.secret_input import secret_option
from identity_commands.wallet import Wallet
from identity_core.cli.options import FILE, Whole
from identity_core.cli.output import Command, fail, failing, show

if TYPE_CHECKING:
    from identity_bound_credentials.domain.gap_shards import Manifest, SignedGap
    from identity_bound_credentials.domain.status_gaps import StatusEpoch

    from identity_tlog.note import VerifierKey
    from identity_tlog.policy import WitnessPolicy

    Logged = tuple[WitnessPolicy, Sequence[VerifierKey]]

PERIODS: Final = {"hour": 3_600, "day": 86_400}
_MAX_LIST_OCTETS: Final = 12 << 20
_PUBLIC: Final = 0o644
_NUMBER: Final = re.compile(rb"[1-9][0-9]{0,9}")

list_options = all_of(
    click.option(
        "--list",
        "list_id",
        required=True,
        metavar="ID",
        help="Id of the list, 22 characters, as in the header of its credentials.",
    ),
    click.option("--period", type=click.Choice([*PERIODS]), default="day", help="Length of an epoch."),
    click.option("--epoch", default="current", metavar="N|current|next", help="Epoch of the list."),
)


@click.group(name="status-list")
def command() -> None:
    """Publish and fetch signed status lists. The issuer publishes them; a holder proves with them that a credential is
    not revoked.
    """


@command.command(cls=Command)
@keys_option
@key_option
@list_options
@click.option(
    "--handles",
    required=True,
    type=click.File("rb"),
    metavar="FILE",
    help="File with the revoked or suspended handles, one number per line; - is standard input.",
)
@click.option("--folder", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to publish.")
def publish(wallet: Path, method: str | None, handles: Any, folder: Path, **which: Any) -> None:
    """Write the status list of an epoch into a folder: the shards, named by their digests, and then the manifest.

    Create the list of the next epoch shortly before it begins. Unchanged files stay. A changed list becomes the
    next edition.
    """
    from identity_bound_credentials.domain import status_gaps

    from identity_client.status_list import StatusListRefused

    issuer = Wallet.open(wallet)
    key = signing_key(issuer, method)
    kind, secret = multikey.decode_secret(key["privateKey"])
    if kind != multikey.BLS12381G2:
        fail("the key does not sign lists", key["keyId"], "name a Bls12381G2Key2020 key with --key")
    epoch = _epoch(str(issuer.did), key["keyId"], **which)
    if epoch.ends <= datetime.now(UTC):
        fail("the epoch has ended", f"epoch {epoch.epoch}", "publish the one that is, or the next", status=2)
    with failing(StatusListRefused, name_of(handles), "give handles between 1 and 4294967294, each once", status=2):
        ends = status_gaps.chain(_handles(handles))
    with failing(OSError, str(folder), "name a folder that you can write into"):
        manifest, changed = _written(folder, epoch, ends, secret)
    said = {
        "epoch": epoch.epoch,
        "begins": printed(epoch.begins),
        "ends": printed(epoch.ends),
        "edition": manifest.edition,
        "gaps": manifest.gaps,
        "shards": len(manifest.digests),
        "digest": multibase.base64url_encode(manifest.digest),
        "changed": changed,
    }
    show(
        said,
        "epoch {epoch}, from {begins} to {ends}: {gaps} gaps in {shards} shards, edition {edition}, digest {digest}",
    )


@command.command(cls=Command)
@click.argument("url")
@list_options
@click.option("--method", required=True, metavar="KEY_ID", help="DID URL of the list's key, as in the credential.")
@click.option("--key", "public_key", required=True, metavar="MULTIKEY", help="Public key of the list (z…).")
@secret_option("--handle", "IDENTITY_HANDLE", what="handle")
@click.option("--digest", metavar="DIGEST", help="Required digest of the manifest, as in the transparency log.")
@click.option(
    "--log-key",
    "log_key",
    envvar="IDENTITY_LEDGER_KEY",
    show_envvar=True,
    help="Verifier key of the transparency log, or a file that contains it. The list must be proven to be in the log.",
)
@policy_option
@click.option("--save-proof", type=FILE, help="File to which that proof is written; with --log-key or --policy.")
@click.option("--whole", is_flag=True, help="Fetch all shards, so that the server does not see which handle is meant.")
def fetch(url: str, method: str, public_key: str, handle: str | None, digest: str | None, **which: Any) -> None:
    """Fetch the gap of a handle from the status list below URL, and verify it.

    URL is the address above `status-gaps`: of a published folder, or of a service with `/api/v1`. The path of a
    copied folder needs no network.

    The server sees one shard of a thousand gaps and the time. The output is the input of a prover. The exit code is
    1 if the handle is in the list.
    """
    whole, save = which.pop("whole"), which.pop("save_proof")
    logged = _logged(which.pop("log_key"), which.pop("policy"))
    if save is not None and logged is None:
        raise click.UsageError("--save-proof goes with --log-key or --policy")
    from identity_bound_credentials.domain.status_gaps import HandleListed

    from identity_client.session import ServiceError, ServiceUnreachable
    from identity_client.status_list import StatusListRefused
    from identity_core.domain.dids.keys import PublicKey
    from identity_core.errors import IdentityError

    if handle is None or _NUMBER.fullmatch(handle.encode()) is None:
        fail("the handle is missing, or no number", "--handle", "give the handle of the credential", status=2)
    with failing((IdentityError, ValueError), "the options", "copy key and digest as they are shown", status=2):
        key = PublicKey.parse(multikey.BLS12381G2, public_key).raw
        expected = None if digest is None else multibase.base64url_decode(digest)
    epoch = _epoch(method.partition("#")[0], method, **which)
    remedy = "ask the issuer of the credential, or try another mirror"
    try:
        with failing((StatusListRefused, ServiceError, ServiceUnreachable), url, remedy):
            found, proof = asyncio.run(_fetched(url, epoch, key, int(handle), expected, logged, whole=whole))
    except HandleListed:
        fail("the credential is revoked or suspended", f"epoch {epoch.epoch}", "ask its issuer")
    if save is not None:
        with failing(OSError, str(save), "name a file that you can write"):
            save.write_bytes(proof)
    said = {
        "header": multibase.base64url_encode(epoch.header),
        "low": found.gap.low,
        "high": found.gap.high,
        "signature": multibase.base64url_encode(found.signature),
        "ends": printed(epoch.ends),
    }
    show(
        said, "not revoked in epoch " + str(epoch.epoch) + ", which ends {ends}: the gap from {low} to {high} is signed"
    )


async def _fetched(
    url: str, epoch: StatusEpoch, key: bytes, handle: int, digest: bytes | None, logged: Logged | None, *, whole: bool
) -> tuple[SignedGap, bytes]:
    """Return the gap, and, if required, the proof that its list is in the log."""
    from identity_bound_credentials.published_gaps import PublishedGaps

    async with PublishedGaps(url) as published:
        manifest, proof = await published.manifest(epoch, digest=digest), b""
        if logged is not None:
            # Before a shard is asked for, which tells the server whose gap it may be.
            policy, logs = logged
            _, proof = await published.recorded(manifest, policy, logs=logs)
        return await published.gap(manifest, key, handle, whole=whole), proof


def _logged(log_key: str | None, policy: Path | None) -> Logged | None:
    """Return the accepted logs and the required cosignatures; None if no proof is required."""
    if log_key is None and policy is None:
        return None
    from identity_tlog.policy import WitnessPolicy

    known = WitnessPolicy.of_logs_alone() if policy is None else read_policy(policy)
    return known, [] if log_key is None else [verifier_key(log_key)]


def _epoch(issuer: str, method: str, list_id: str, period: str, epoch: str) -> StatusEpoch:
    from identity_bound_credentials.domain.status_gaps import StatusEpoch, epoch_at

    from identity_client.status_list import StatusListRefused

    now = epoch_at(datetime.now(UTC), PERIODS[period])
    named = {"current": now, "next": now + 1}
    with failing(ValueError, "--epoch", "give a number, current or next", status=2):
        number = named[epoch] if epoch in named else int(Whole(0).convert(epoch, None, None))
    with failing(StatusListRefused, "the options", "copy them from the header of a credential", status=2):
        return StatusEpoch(issuer, method, list_id, number, PERIODS[period])


def _handles(file: Any) -> list[int]:
    data = file.read(_MAX_LIST_OCTETS + 1)
    if len(data) > _MAX_LIST_OCTETS:
        fail(f"the list has more than {_MAX_LIST_OCTETS} bytes", name_of(file), "split it into two lists", status=2)
    lines = data.split()
    for line in lines:
        if _NUMBER.fullmatch(line) is None:
            fail(f"no handle: {line[:32]!r}", name_of(file), "give a number a line", status=2)
    return [*map(int, lines)]


def _written(folder: Path, epoch: StatusEpoch, ends: Sequence[int], secret: bytes) -> tuple[Manifest, bool]:
    """Write the list. Return the manifest in the folder, and whether it is new."""
    from identity_bound_credentials.domain.gap_shards import manifest_place

    from identity_core.database.files import FileLock

    place = folder / manifest_place(epoch)
    place.parent.mkdir(parents=True, exist_ok=True)
    # Two who publish at once would make two lists of one edition.
    with contextlib.closing(FileLock(place.with_name(".lock"))) as lock:
        lock.acquire()
        return _next_edition(folder, epoch, ends, secret, _before(place, epoch))


def _next_edition(
    folder: Path, epoch: StatusEpoch, ends: Sequence[int], secret: bytes, before: Manifest | None
) -> tuple[Manifest, bool]:
    from identity_bound_credentials.domain import gap_shards

    from identity_bbs import interface
    from identity_bbs.bls12381 import keys, select
    from identity_bbs.suite import ciphersuite

    suite, public = ciphersuite(select()), keys.public_key(secret)
    signatures = [interface.sign(suite, secret, public, epoch.header, gap) for gap in pairwise(ends)]
    edition = 1 if before is None else before.edition
    manifest, shards = gap_shards.publish(epoch, edition, ends, signatures)
    if manifest == before:
        return manifest, False
    if before is not None:
        manifest, shards = gap_shards.publish(epoch, edition + 1, ends, signatures)
    for number, data in enumerate(shards):
        _write_file(folder / gap_shards.shard_place(manifest, number), data)
    # Last, so that a reader of the manifest finds all that it names.
    _write_file(folder / gap_shards.manifest_place(epoch), manifest.encoded)
    return manifest, True


def _before(place: Path, epoch: StatusEpoch) -> Manifest | None:
    from identity_bound_credentials.domain.gap_shards import Manifest

    from identity_client.status_list import StatusListRefused

    if not place.exists():
        return None
    with failing(StatusListRefused, str(place), "move it away, or name another folder"):
        before = Manifest.from_octets(place.read_bytes())
        if before.epoch != epoch:
            raise StatusListRefused("the manifest that is there is another list's, key's or period's")
    return before


def _write_file(place: Path, data: bytes) -> None:
    from identity_core.files import durable_draft

    place.parent.mkdir(parents=True, exist_ok=True)
    with durable_draft(place, data) as draft:
        draft.chmod(_PUBLIC)
        draft.replace(place)
