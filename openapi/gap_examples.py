"""The examples of signed gaps: the list of a day in which one handle is revoked, its shard, and the proof that it is in the log."""

from __future__ import annotations

from itertools import pairwise

import orjson
from identity_bound_credentials.domain import gap_shards, status_gaps
from identity_bound_credentials.domain.gap_log import record_of
from identity_bound_credentials.domain.gap_shards import Manifest
from identity_bound_credentials.domain.status_gaps import StatusEpoch
from identity_bound_credentials.use_cases.issue import GAP_PERIOD
from identity_transparency.domain import gap_record

from identity_bbs import interface
from identity_bbs.bls12381 import select
from identity_bbs.suite import ciphersuite
from identity_codec import ed25519
from identity_core.domain.dids.keys import Key, PublicKey
from identity_tlog.leaf import LogLeaf
from identity_tlog.note import Checkpoint, VerifierKey, sign_checkpoint
from identity_tlog.proofs import TlogProof
from identity_tlog.tree import leaf_hash
from openapi.story import ORIGIN, START, Json, dice


def gap_examples(issuer: str, key: Key, method: str) -> Json:
    """operationId → examples, of what ``gap_list`` gives."""
    manifest, shards = gap_list(issuer, key, method)
    return {
        "getStatusGaps": {"200": {"ofADay": orjson.loads(manifest.encoded)}},
        "getStatusGapsProof": {"200": {"inALogOfOne": _proof(manifest)}},
        "getStatusGapShard": {"200": {"ofTwoGaps": shards[0].decode("latin-1")}},
    }


def gap_list(issuer: str, key: Key, method: str) -> tuple[Manifest, list[bytes]]:
    """The list of the story's first day, in which one handle is revoked, and its shards. ``method`` is the verification method of ``key``,
    the issuer's for BBS."""
    list_id = status_gaps.list_id(issuer, GAP_PERIOD)
    epoch = StatusEpoch(issuer, method, list_id, status_gaps.epoch_at(START, GAP_PERIOD), GAP_PERIOD)
    suite, public = ciphersuite(select()), PublicKey.parse("Bls12381G2Key2020", key.public).raw
    ends = status_gaps.chain((1_618_033_988,))
    signatures = [interface.sign(suite, key.secret_raw, public, epoch.header, gap) for gap in pairwise(ends)]
    return gap_shards.publish(epoch, 1, ends, signatures)


def _proof(manifest: Manifest) -> str:
    """That the list is the first entry of a log, and so far the only one."""
    record = record_of(manifest)
    leaf = LogLeaf(1, "5f" * 32, 1, START, gap_record.subject(record.list_id), 1, record.encoded).encode()
    pair = ed25519.generate(dice("checkpoint")(32))
    checkpoint = Checkpoint(f"{ORIGIN.partition('://')[2]}/api/v1/ledger", 1, leaf_hash(leaf))
    note = sign_checkpoint(checkpoint, VerifierKey(checkpoint.origin, pair.public), pair.sign(checkpoint.text.encode()))
    return TlogProof(0, (), note, leaf).encode().decode()
