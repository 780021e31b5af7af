// The log of a DID, checked without the service.

import { canonicalize } from "./codec.js";
import { changed, type Control } from "./changes.js";
import type { components } from "./document.js";
import { checkFirstHash, checkNextHash, checkProof, demand, HASH, multihash, readEntry, record, texts } from "./entry.js";
import type { Entry, Json } from "./entry.js";
import { nextWebvh, unapproved, type WebvhState } from "./webvh.js";

/** `line` counts from 1. */
export class LogInvalid extends Error {
  constructor(
    message: string,
    readonly line: number,
  ) {
    super(`line ${line}: ${message}`);
    this.name = "LogInvalid";
  }
}

/** What a valid log proves. It proves nothing about newer entries that somebody may have kept back: remember `versionId`. */
export interface VerifiedLog {
  did: string;
  versions: number;
  versionId: string;
  updated: string;
  deactivated: boolean;
  didDocument: components["schemas"]["DidDocument"];
}

interface State extends Entry {
  control: Control;
  did: string;
  updateKeys: string[];
  nextKeyHashes: string[];
  deactivated: boolean;
}

const MOST_CHARACTERS = 16 * 1024;
const MOST_KEYS = 10;

/**
 * Checks the text of `getDidLog`: identity, order, integrity, who asked for each change, and that it makes this document of the one before;
 * or a log of did:webvh 1.0, whose `witnesses` are the text of its did-witness.json. It is the log of `did` where one is given; with `now`
 * entries of the future are refused. Throws `LogInvalid`.
 *
 * What `identity did log verify` checks beyond it: the limits of a document, and proofs of possession of BBS keys.
 */
export async function verifyLog(log: string, expected: { did?: string; now?: Date; witnesses?: string } = {}): Promise<VerifiedLog> {
  const lines = log.replace(/\n$/, "").split("\n");
  const isWebvh = methodOf(lines[0] ?? "").startsWith("did:webvh:");
  const states: (State | WebvhState)[] = [];
  for (const [index, line] of lines.entries()) {
    try {
      const before = states.at(-1);
      const state = isWebvh ? await nextWebvh(before as WebvhState | undefined, line) : await next(before as State | undefined, line);
      const [now, did] = [expected.now, state.did];
      demand(now === undefined || state.at <= BigInt(now.getTime()) * 1000n, "the entry is of the future");
      demand(expected.did === undefined || isWebvh || did === expected.did, `the log is one of ${did}`);
      states.push(state);
    } catch (error) {
      throw refused(error, index);
    }
  }
  const state = states.at(-1) as State;
  const { did, number: versions, versionId, body, deactivated, document } = state;
  if (isWebvh) await checkWebvh(states as WebvhState[], expected);
  const updated = String(body.versionTime);
  return { did, versions, versionId, updated, deactivated, didDocument: document as VerifiedLog["didDocument"] };
}

/** What the first entry says of its method, if it says anything. */
function methodOf(line: string): string {
  try {
    return String(record(record(JSON.parse(line)).parameters).method);
  } catch {
    return "";
  }
}

/** A DID of did:webvh may move, so whose log it is its last entry says. */
async function checkWebvh(states: WebvhState[], expected: { did?: string; witnesses?: string }): Promise<void> {
  const [last, did] = [states.length - 1, states.at(-1)?.did];
  try {
    demand(expected.did === undefined || did === expected.did, `the log is one of ${did}`);
    const place = await unapproved(states, expected.witnesses);
    if (place !== undefined) throw new LogInvalid("too few witnesses approved of the entry", place + 1);
  } catch (error) {
    throw refused(error, last);
  }
}

function refused(error: unknown, index: number): LogInvalid {
  if (error instanceof LogInvalid) return error;
  return new LogInvalid(error instanceof Error ? error.message : String(error), index + 1);
}

/** The state after an entry of a log of ours. */
async function next(before: State | undefined, line: string): Promise<State> {
  demand(line.length <= MOST_CHARACTERS, "the entry is too large");
  const value: unknown = JSON.parse(line);
  // Whatever could be read in two ways, two members of one name or a number that does not fit, is written differently.
  demand(canonicalize(value) === line, "the entry is not in canonical form");
  const entry = readEntry(value);
  const { at, body, document, parameters, proofs } = entry;
  demand(entry.number === (before?.number ?? 0) + 1, "the entry does not have the next number");
  demand(/\.[0-9]{6}Z$/.test(String(body.versionTime)), "the versionTime has another form");
  demand(before === undefined || at > before.at, "the entry is not later than the one before");
  demand(!before?.deactivated, "the DID was deactivated before");
  const others = before === undefined ? ["method", "scid"] : ["deactivated"];
  const known = new Set(["change", "updateKeys", "nextKeyHashes", ...others]);
  demand(Object.keys(parameters).every((name) => known.has(name)), "the entry has a parameter that it cannot have");
  const did = before?.did ?? born(parameters);
  demand(document.id === did, "the document is one of another DID");
  await (before === undefined ? checkFirstHash(entry, String(parameters.scid)) : checkNextHash(entry, before.versionId));
  const keys = await keysOf(before, parameters);
  const signers = before === undefined || before.nextKeyHashes.length > 0 ? keys.updateKeys : before.updateKeys;
  demand(proofs.length === 1 && proofs[0]?.created === body.versionTime, "the entry has not one proof of its time");
  const signer = await checkProof(record(proofs[0]), body, signers);
  const control = await changed(before?.control, entry, did);
  const proofBy = (before?.control ?? control).working.mayAuthenticate(signer, did, at) ? "controller" : "service";
  demand(record(parameters.change).proofBy === proofBy, "the entry says that its proof is another's");
  checkKeys(before, keys, String(record(parameters.change).operation));
  return { ...entry, did, ...keys, deactivated: parameters.deactivated === true, control };
}

/** What no controller asked for hands the log on to no key that was not committed to before. */
function checkKeys(before: State | undefined, after: Pick<State, "updateKeys" | "nextKeyHashes">, operation: string): void {
  if (before === undefined || !["keyExpired", "logKeyRotated", "logKeyRetired"].includes(operation)) return;
  const rotates = before.nextKeyHashes.length > 0;
  demand(rotates || operation === "keyExpired", "only a log that pre-rotates goes on under another key by itself");
  demand(rotates || after.nextKeyHashes.length === 0, "a log begins to pre-rotate with a change that its controller asked for");
  const stays = canonicalize([before.updateKeys, before.nextKeyHashes]) === canonicalize([after.updateKeys, after.nextKeyHashes]);
  const leaves = !after.updateKeys.some((key) => before.updateKeys.includes(key));
  const isRight = { keyExpired: stays || leaves, logKeyRotated: leaves, logKeyRetired: stays }[operation];
  demand(isRight === true, "without its controller a log keeps its keys and the next ones, or leaves every key of before");
}

/** The DID that a first entry says; its hash is the identifier. */
function born(parameters: Json): string {
  const [, prefix] = /^(did:[a-z0-9]+):1\.0$/.exec(String(parameters.method)) ?? [];
  demand(prefix !== undefined, "the log is of an unknown method");
  demand(new RegExp(`^${HASH}$`).test(String(parameters.scid)), "the first entry has no identifier");
  return `${prefix}:${String(parameters.scid)}`;
}

/** Which keys may sign (did:webvh 1.0, "Authorized Keys" and "Pre-Rotation Key Hash Generation and Verification"). */
async function keysOf(before: State | undefined, parameters: Json): Promise<Pick<State, "updateKeys" | "nextKeyHashes">> {
  const rotates = before !== undefined && before.nextKeyHashes.length > 0;
  const says = "updateKeys" in parameters || "nextKeyHashes" in parameters;
  if (before !== undefined && !rotates && (!says || "deactivated" in parameters))
    return { updateKeys: before.updateKeys, nextKeyHashes: before.nextKeyHashes };
  demand("updateKeys" in parameters && (!rotates || "nextKeyHashes" in parameters), "the entry does not say updateKeys and nextKeyHashes");
  const [updateKeys, nextKeyHashes] = [texts(parameters.updateKeys, MOST_KEYS), texts(parameters.nextKeyHashes ?? [], MOST_KEYS)];
  demand(updateKeys.length > 0, "the entry names no key");
  // Whoever holds the key of today alone must not be able to hand the log on.
  const goesOn = nextKeyHashes.length > 0 || before === undefined;
  demand(goesOn === (before === undefined || !("deactivated" in parameters)), "a log that pre-rotates does so until its end");
  const committed = before?.nextKeyHashes ?? [];
  for (const key of rotates ? updateKeys : [])
    demand(committed.includes(await multihash(key)), "the entry before did not commit to a key of updateKeys");
  return { updateKeys, nextKeyHashes };
}
