// BBS proofs of the suite BLS12-381-SHA-256 (draft-irtf-cfrg-bbs-signatures-10), verified in parts, so that further arguments can
// share their challenge.

import { utf8, type Octets } from "../codec.js";
import type { Message } from "./credential.js";
import { decodeKeyPoint, decodePoint, encodePoints, expand, hashToPoint, hashToScalar, KEY_SIZE, POINT_SIZE, SCALAR_SIZE } from "./curve.js";
import { InvalidPoint, sum, type KeyPoint, type Point, type Term } from "./curve.js";
import { check, concat, number, readScalars, scalar } from "./frames.js";

const API = "BBS_BLS12381G1_XMD:SHA-256_SSWU_RO_H2G_HM2S_";
const TO_SCALAR = `${API}H2S_`;
const MESSAGE_TO_SCALAR = `${API}MAP_MSG_TO_SCALAR_AS_HASH_`;
const [SEED, SEED_TAG, GENERATOR_TAG] = [`${API}MESSAGE_GENERATOR_SEED`, `${API}SIG_GENERATOR_SEED_`, `${API}SIG_GENERATOR_DST_`];
// The base point P1 of the draft.
const P1 = "a8ce256102840821a3e94ea9025e4662b205762f9776b3a766c872b948f1fd225e7c59698588e70d11406d161b4e28c9";
const POINTS_SIZE = 3 * POINT_SIZE;
const OWN_SCALARS = 3;
const MOST_MESSAGES = 256;
export const MISMATCH = "the proof does not match";

/** A decoded proof: Abar, Bbar and D with their bytes, and the responses. */
export interface BbsProof {
  readonly points: readonly [aBar: Point, bBar: Point, d: Point];
  readonly octets: Octets;
  /** e^, r1^ and r3^. */
  readonly own: readonly bigint[];
  /** m^ of each hidden message that the proof sends. */
  readonly messages: readonly bigint[];
}

/** The first message of a proof: `octets` is Abar, Bbar, D, T1 and T2. */
export interface FirstMessage {
  readonly octets: Octets;
  readonly domain: bigint;
}

/** A decoded public key. */
export interface PublicKey {
  readonly octets: Octets;
  readonly point: KeyPoint;
}

let base: Point | undefined;
/** Return the base point P1. */
export const basePoint = (): Point => (base ??= decodePoint(Uint8Array.from(P1.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16))));

const generators: Point[] = [];
const encoded: Octets[] = [];
let chain: Octets | undefined;

/** Make the generators Q1, H1 … H`count`. They are stored, because each takes a hash to the curve. */
function makeGenerators(count: number): void {
  check(count <= MOST_MESSAGES, "a signature covers too many messages");
  chain ??= expand(utf8(SEED), SEED_TAG);
  const first = generators.length;
  while (generators.length <= count) {
    chain = expand(concat(chain, number(generators.length + 1)), SEED_TAG);
    generators.push(hashToPoint(chain, GENERATOR_TAG));
  }
  if (generators.length > first) encoded.push(...encodePoints(generators.slice(first)));
}

/** Return the generator of the message in `slot`, from 0 on. */
export function messageGenerator(slot: number): Point {
  makeGenerators(slot + 1);
  return generators[slot + 1] as Point;
}

/** Return the scalar that is signed for a message. */
export const scalarOf = (message: Message): bigint => (typeof message === "bigint" ? message : hashToScalar(message, MESSAGE_TO_SCALAR));

/** Decode a public key of 96 bytes. Throws `ProofRefused`. */
export function readKey(octets: Octets): PublicKey {
  check(octets.length === KEY_SIZE, "the bytes are not a public key");
  return { octets, point: refusing(() => decodeKeyPoint(octets), "the bytes are not a public key") };
}

/** Decode a proof with `hidden` responses of messages, and the challenge where it is the `lead`. Throws `ProofRefused`. */
export function readProof(octets: Octets, hidden: number, isLead: boolean): { proof: BbsProof; challenge: bigint } {
  const size = POINTS_SIZE + SCALAR_SIZE * (OWN_SCALARS + hidden + (isLead ? 1 : 0));
  check(octets.length === size, "the BBS proof hides another number of messages");
  const scalars = readScalars(octets.subarray(POINTS_SIZE), isLead ? 1n : 0n, "a scalar is out of range");
  const points = refusing(() => [0, 1, 2].map((place) => decodePoint(octets.slice(place * POINT_SIZE, (place + 1) * POINT_SIZE))), "a point is not one of the subgroup");
  const end = OWN_SCALARS + hidden;
  const proof = { points: points as [Point, Point, Point], octets: octets.slice(0, POINTS_SIZE), own: scalars.slice(0, OWN_SCALARS), messages: scalars.slice(OWN_SCALARS, end) };
  return { proof, challenge: scalars[end] ?? 0n };
}

/** Return what `work` returns; an invalid point is refused with `reason`. */
export function refusing<T>(work: () => T, reason: string): T {
  try {
    return work();
  } catch (error) {
    check(!(error instanceof InvalidPoint), reason);
    throw error;
  }
}

/**
 * Return the first message that the responses belong to. `responses` has m^ of each hidden slot, `disclosed` the scalar of each other
 * one; `point` stands for P1. Throws `ProofRefused`.
 */
export function firstMessage(
  key: PublicKey,
  header: Octets,
  proof: BbsProof,
  challenge: bigint,
  responses: ReadonlyMap<number, bigint>,
  disclosed: ReadonlyMap<number, bigint>,
  point: Point = basePoint(),
): FirstMessage {
  const count = responses.size + disclosed.size;
  const domain = domainOf(key, header, count);
  const [[aBar, bBar, d], [e = 0n, r1 = 0n, r3 = 0n]] = [proof.points, proof.own];
  const t1 = sum([[bBar, challenge], [aBar, e], [d, r1]]);
  const hidden = [...responses].map(([slot, response]): Term => [messageGenerator(slot), response]);
  const shown = [...disclosed].map(([slot, value]): Term => [messageGenerator(slot), value * challenge]);
  const t2 = sum([[point, challenge], [generators[0] as Point, domain * challenge], [d, r3], ...hidden, ...shown]);
  check(!t1.is0() && !t2.is0(), MISMATCH);
  return { octets: concat(proof.octets, ...encodePoints([t1, t2])), domain };
}

function domainOf(key: PublicKey, header: Octets, count: number): bigint {
  makeGenerators(count);
  return hashToScalar(concat(key.octets, number(count), ...encoded.slice(0, count + 1), utf8(API), number(header.length), header), TO_SCALAR);
}

/** Throw `ProofRefused` unless the challenge is the hash of everything before it. */
export function checkChallenge(first: FirstMessage, disclosed: ReadonlyMap<number, bigint>, presentationHeader: Octets, challenge: bigint): void {
  const shown = [...disclosed].sort(([one], [other]) => one - other).map(([slot, value]) => concat(number(slot), scalar(value)));
  const said = concat(number(shown.length), ...shown, first.octets, scalar(first.domain), number(presentationHeader.length), presentationHeader);
  check(hashToScalar(said, TO_SCALAR) === challenge, MISMATCH);
}
