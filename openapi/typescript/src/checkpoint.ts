// Checkpoints of the ledger, and proofs that lead to them: C2SP signed-note, tlog-checkpoint and tlog-cosignature; RFC 9162 §2.1.

import { base64url, base64urlDecode, sha256, utf8, verifiesRaw, type Octets } from "./codec.js";
import type { components } from "./document.js";
import { demand } from "./entry.js";

type Schemas = components["schemas"];

/** What a log has signed: how many entries it has, and their root in base64url. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: string;
  /** The times of the witnesses' cosignatures, by their names. */
  readonly cosigned: Readonly<Record<string, Date>>;
}

export interface CheckpointCheck {
  /** The key of the log (`verifierKey` of `getLedgerKey`), from a source that is not the log. */
  readonly logKey: string;
  /** The verifier keys of known witnesses. */
  readonly witnesses?: readonly string[];
  /** How many of them must have cosigned (default 0). */
  readonly cosignatures?: number;
}

interface VerifierKey {
  readonly name: string;
  readonly id: string;
  readonly kind: number;
  readonly octets: Octets;
}

const [LOG, WITNESS, WITNESS_ML_DSA] = [1, 4, 6];
const [MOST_NOTE, ML_DSA_OCTETS, LAST_SECOND] = [65_536, 1_312, 253_402_300_799n];
// White space as Unicode has it, which is more than that of expressions.
const NAME = /^[^ +\0-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$/;
const SIZE = /^(?:0|[1-9][0-9]{0,18})$/;
const EMPTY = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";

/**
 * Verify an answer of `getLedgerCheckpoint`, from any source: the signature of the log, and those of known witnesses. Throws `TypeError`. A
 * checkpoint does not show that no newer one exists: remember the newest, and compare with `verifyConsistency`.
 */
export async function verifyCheckpoint(note: string, { logKey, witnesses = [], cosignatures = 0 }: CheckpointCheck): Promise<Checkpoint> {
  demand(utf8(note).length <= MOST_NOTE && !/[\0-\x09\x0b-\x1f]|\p{Cs}/u.test(note), "the note is too large, or not plain text");
  const end = note.lastIndexOf("\n\n");
  demand(end > 0 && note.endsWith("\n"), "the note is not text, a blank line and signature lines");
  const [text, lines] = [note.slice(0, end + 1), note.slice(end + 2, -1).split("\n")];
  const signatures = lines.map(readSignature).reverse();
  const [origin = "", size = "", root = "", ...rest] = text.split("\n");
  const isForm = origin !== "" && SIZE.test(size) && Number.isSafeInteger(Number(size)) && rest.join() === "";
  demand(isForm && rest.length === 1, "a checkpoint has three lines: origin, size and root");
  const hash = base64Decode(root);
  demand(hash.length === 32, "the root of the checkpoint is none");
  // The first line of a key counts.
  const byKey = new Map(signatures);
  const log = await readKey(logKey);
  demand(origin === log.name, `the checkpoint is of another log, ${origin}`);
  const signature = byKey.get(`${log.name} ${log.id}`);
  demand(signature !== undefined && log.kind === LOG, "the checkpoint is not signed by the key of the log");
  await checkSignature(log, utf8(text), signature as Octets);
  const cosigned: Record<string, Date> = {};
  for (const witness of await Promise.all(witnesses.map(readKey))) {
    const cosignature = byKey.get(`${witness.name} ${witness.id}`);
    if (cosignature !== undefined && witness.kind === WITNESS) cosigned[witness.name] = await cosignedAt(witness, text, cosignature);
  }
  const count = Object.keys(cosigned).length;
  demand(count >= cosignatures, `${count} of the witnesses have cosigned the checkpoint, ${cosignatures} were asked for`);
  return { origin, size: Number(size), root: base64url(hash), cosigned };
}

/** Throws `TypeError` unless the entry of an answer of `getLedgerInclusionProof` is in the tree of the checkpoint. */
export async function verifyInclusion(
  checkpoint: Checkpoint,
  { leafIndex, leafHash, hashes }: Pick<Schemas["LedgerInclusionProof"], "leafIndex" | "leafHash" | "hashes">,
): Promise<void> {
  demand(Number.isSafeInteger(leafIndex) && 0 <= leafIndex && leafIndex < checkpoint.size, `the tree of ${checkpoint.size} entries has no entry ${leafIndex}`);
  const [, root] = await climb(leafIndex, checkpoint.size - 1, [leafHash, ...hashes]);
  demand(root === checkpoint.root, "the inclusion proof does not lead to the root");
}

/** Throws `TypeError` unless the log of the later checkpoint begins with that of the earlier one, by an answer of `getLedgerConsistencyProof`. */
export async function verifyConsistency(earlier: Checkpoint, later: Checkpoint, { hashes }: Pick<Schemas["LedgerConsistencyProof"], "hashes">): Promise<void> {
  demand(earlier.origin === later.origin, `the checkpoint is of another log, ${later.origin}`);
  demand(earlier.size <= later.size, `the log went back from ${earlier.size} to ${later.size} entries`);
  if (earlier.size === 0 || earlier.size === later.size) {
    const isSame = earlier.root === (earlier.size === 0 ? EMPTY : later.root);
    demand(isSame && hashes.length === 0, `two trees of ${earlier.size} entries have different roots, or the proof is too long`);
    return;
  }
  let [place, last] = [earlier.size - 1, later.size - 1];
  while (place % 2 === 1) [place, last] = [half(place), half(last)];
  // The first node of a complete tree is its root.
  const [older, newer] = await climb(place, last, place === 0 ? [earlier.root, ...hashes] : hashes);
  demand(older === earlier.root, `the log does not begin with the ${earlier.size} entries that it had`);
  demand(newer === later.root, "the consistency proof does not lead to the new root");
}

/** The root over the node at `place` of a level that ends with `last`, the first of the hashes: with the siblings on its left alone, and with all. */
async function climb(place: number, last: number, hashes: readonly string[]): Promise<[string, string]> {
  const [start, ...siblings] = hashes.map(readHash);
  demand(start !== undefined, "the proof is too short");
  let [older, newer] = [start as Octets, start as Octets];
  for (const sibling of siblings) {
    demand(last > 0, "the proof is too long");
    if (place % 2 === 1 || place === last) {
      [older, newer] = [await nodeHash(sibling, older), await nodeHash(sibling, newer)];
      while (place % 2 === 0 && place > 0) [place, last] = [half(place), half(last)];
    } else newer = await nodeHash(newer, sibling);
    [place, last] = [half(place), half(last)];
  }
  demand(last === 0, "the proof is too short");
  return [base64url(older), base64url(newer)];
}

const half = (number: number): number => Math.floor(number / 2);
const nodeHash = (left: Octets, right: Octets): Promise<Octets> => sha256(Uint8Array.from([1, ...left, ...right]));

function readHash(text: string): Octets {
  const octets = base64urlDecode(text);
  demand(octets.length === 32, "a hash has 32 bytes");
  return octets;
}

/** Name and id of the key, and the signature of a line. */
function readSignature(line: string): [key: string, signature: Octets] {
  const [dash, name = "", text = "", ...more] = line.split(" ");
  demand(dash === "\u2014" && NAME.test(name) && more.length === 0, "a signature line has the form \u2014 name base64");
  const octets = base64Decode(text);
  demand(octets.length > 4, "a signature line holds no signature");
  return [`${name} ${hex(octets.slice(0, 4))}`, octets.slice(4)];
}

/** Of `name+id+key`. The names of witnesses with ML-DSA-44 are known, and their cosignatures do not count. */
async function readKey(text: string): Promise<VerifierKey> {
  const [name = "", id, ...rest] = text.trim().split("+");
  const whole = base64Decode(rest.join("+"));
  const [kind = 0, octets] = [whole[0], whole.slice(1)];
  const isKey = [LOG, WITNESS, WITNESS_ML_DSA].includes(kind) && octets.length === (kind === WITNESS_ML_DSA ? ML_DSA_OCTETS : 32);
  demand(NAME.test(name) && isKey, "a verifier key has the form name+id+key");
  const digest = await sha256(Uint8Array.from([...utf8(`${name}\n`), ...whole]));
  demand(hex(digest.slice(0, 4)) === id, "the id of the verifier key is not that of its key");
  return { name, id, kind, octets };
}

async function cosignedAt(witness: VerifierKey, text: string, octets: Octets): Promise<Date> {
  const seconds = BigInt(`0x${hex(octets.slice(0, 8))}`);
  const isForm = octets.length === 72 && seconds > 0n && seconds <= LAST_SECOND;
  demand(isForm, `the cosignature of ${witness.name} has another form`);
  await checkSignature(witness, utf8(`cosignature/v1\ntime ${seconds}\n${text}`), octets.slice(8));
  return new Date(Number(seconds) * 1_000);
}

async function checkSignature({ name, octets }: VerifierKey, message: Octets, signature: Octets): Promise<void> {
  const isRight = await verifiesRaw(octets, message, signature);
  demand(isRight, `the signature of ${name} is wrong`);
}

const hex = (octets: Octets): string => [...octets].map((octet) => octet.toString(16).padStart(2, "0")).join("");

/** Octets from base64 with padding (RFC 4648 §4) in its one form. */
function base64Decode(text: string): Octets {
  demand(/^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0, "not base64");
  return base64urlDecode(text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""));
}
