// The log of a DID, checked without the service: identity, order and integrity, and that each entry is by a key that might sign it.

import { base58, base58Decode, canonicalize, sha256, utf8, verifies } from "./codec.js";
import type { components } from "./document.js";

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

interface State {
  number: number;
  versionId: string;
  time: string;
  did: string;
  updateKeys: string[];
  nextKeyHashes: string[];
  deactivated: boolean;
  document: Json;
}

type Json = Record<string, unknown>;

const MEMBERS = "parameters,proof,state,versionId,versionTime";
const HASH = "Qm[1-9A-HJ-NP-Za-km-z]{44}";
const TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$/;
const MOST_CHARACTERS = 16 * 1024;

/**
 * Checks the text of `getDidLog`, of `did` where one is given; with `now` entries of the future are refused. Throws `LogInvalid`.
 *
 * What `identity did log verify` checks beyond it: that each change makes this document of the one before, and the controllers' signatures.
 */
export async function verifyLog(log: string, expected: { did?: string; now?: Date } = {}): Promise<VerifiedLog> {
  let state: State | undefined;
  const lines = log.replace(/\n$/, "").split("\n");
  for (const [index, line] of lines.entries()) {
    try {
      state = await next(state, line);
      demand(expected.did === undefined || state.did === expected.did, `the log is one of ${state.did}`);
      demand(expected.now === undefined || Date.parse(state.time) <= expected.now.getTime(), "the entry is of the future");
    } catch (error) {
      throw new LogInvalid(error instanceof Error ? error.message : String(error), index + 1);
    }
  }
  const { did, number: versions, versionId, time: updated, deactivated, document } = state as State;
  return { did, versions, versionId, updated, deactivated, didDocument: document as VerifiedLog["didDocument"] };
}

async function next(before: State | undefined, line: string): Promise<State> {
  demand(line.length <= MOST_CHARACTERS, "the entry is too large");
  const entry = record(JSON.parse(line));
  // Whatever could be read in two ways, two members of one name or a number that does not fit, is written differently.
  demand(canonicalize(entry) === line, "the entry is not in canonical form");
  demand(Object.keys(entry).sort().join() === MEMBERS, "the entry does not have exactly the members of an entry");
  const { proof: proofs, ...body } = entry;
  const [parameters, document] = [record(body.parameters), record(body.state)];
  const [, number, hash] = new RegExp(`^([1-9][0-9]{0,9})-(${HASH})$`).exec(String(body.versionId)) ?? [];
  demand(Number(number) === (before?.number ?? 0) + 1, "the entry does not have the next number");
  const time = String(body.versionTime);
  demand(TIME.test(time) && !Number.isNaN(Date.parse(time)), "the versionTime is not a time");
  demand(before === undefined || time > before.time, "the entry is not later than the one before");
  demand(!before?.deactivated, "the DID was deactivated before");
  const did = before?.did ?? (await born(body, parameters, document));
  demand(document.id === did, "the document is one of another DID");
  const predecessor = before?.versionId ?? did.slice(did.lastIndexOf(":") + 1);
  demand((await multihash(canonicalize({ ...body, versionId: predecessor }))) === hash, "the hash does not fit the entry");
  const keys = await keysOf(before, parameters);
  const signers = before === undefined || before.nextKeyHashes.length > 0 ? keys.updateKeys : before.updateKeys;
  await checkProof(proofs, body, signers);
  const deactivated = parameters.deactivated === true;
  return { number: Number(number), versionId: String(body.versionId), time, did, ...keys, deactivated, document };
}

/** The DID, which is the hash of its first entry with a placeholder wherever the identifier stands. */
async function born(body: Json, parameters: Json, document: Json): Promise<string> {
  const [, prefix] = /^(did:[a-z0-9]+):1\.0$/.exec(String(parameters.method)) ?? [];
  demand(prefix !== undefined, "the log is of an unknown method");
  const scid = String(parameters.scid);
  demand(new RegExp(`^${HASH}$`).test(scid) && document.id === `${prefix}:${scid}`, "the first entry does not name its own DID");
  const placed = canonicalize({ ...body, versionId: scid }).replaceAll(scid, "{SCID}");
  demand((await multihash(placed)) === scid, "the identifier does not follow from the first entry");
  return `${prefix}:${scid}`;
}

/** Which keys may sign (did:webvh 1.0, "Authorized Keys" and "Pre-Rotation Key Hash Generation and Verification"). */
async function keysOf(before: State | undefined, parameters: Json): Promise<Pick<State, "updateKeys" | "nextKeyHashes">> {
  const rotates = before !== undefined && before.nextKeyHashes.length > 0;
  const says = "updateKeys" in parameters || "nextKeyHashes" in parameters;
  if (before !== undefined && !rotates && (!says || "deactivated" in parameters))
    return { updateKeys: before.updateKeys, nextKeyHashes: before.nextKeyHashes };
  demand("updateKeys" in parameters && (!rotates || "nextKeyHashes" in parameters), "the entry does not say updateKeys and nextKeyHashes");
  const [updateKeys, nextKeyHashes] = [texts(parameters.updateKeys), texts(parameters.nextKeyHashes ?? [])];
  demand(updateKeys.length > 0, "the entry names no key");
  const committed = before?.nextKeyHashes ?? [];
  for (const key of rotates ? updateKeys : [])
    demand(committed.includes(await multihash(key)), "the entry before did not commit to a key of updateKeys");
  return { updateKeys, nextKeyHashes };
}

/** `eddsa-jcs-2022` (VC Data Integrity EdDSA 1.0 §3.3) by a did:key. */
async function checkProof(proofs: unknown, body: Json, signers: string[]): Promise<void> {
  demand(Array.isArray(proofs) && proofs.length === 1, "the entry has not one proof");
  const { proofValue, ...config } = record((proofs as unknown[])[0]);
  const right = config.type === "DataIntegrityProof" && config.cryptosuite === "eddsa-jcs-2022";
  demand(right && config.proofPurpose === "assertionMethod", "the proof is of another type, cryptosuite or purpose");
  demand(config.created === body.versionTime, "the proof is of another time");
  const signer = signers.find((key) => config.verificationMethod === `did:key:${key}#${key}`);
  demand(signer !== undefined, "the proof is by a key that may not sign this entry");
  demand(typeof proofValue === "string" && proofValue.startsWith("z"), "the signature of the proof is wrong");
  const parts = await Promise.all([config, body].map((part) => sha256(utf8(canonicalize(part)))));
  const signature = base58Decode(String(proofValue).slice(1));
  const good = await verifies(String(signer), Uint8Array.from(parts.flatMap((part) => [...part])), signature);
  demand(good, "the signature of the proof is wrong");
}

const multihash = async (text: string): Promise<string> => base58(Uint8Array.from([0x12, 0x20, ...(await sha256(utf8(text)))]));

function record(value: unknown): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new TypeError("a part of the entry is no object");
  return value as Json;
}

function texts(value: unknown): string[] {
  demand(Array.isArray(value) && value.length <= 10 && new Set(value).size === value.length, "a list of keys is no list, or too long");
  demand((value as unknown[]).every((text) => typeof text === "string"), "a key is no text");
  return value as string[];
}

function demand(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new TypeError(otherwise);
}
