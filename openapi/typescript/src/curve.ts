// BLS12-381 by @noble/curves. The build puts that library into this file (esbuild), so that the package depends on no other.

import { bls12_381 } from "@noble/curves/bls12-381.js";
import { normalizeZ, pippenger } from "@noble/curves/abstract/curve.js";
import { expand_message_xmd } from "@noble/curves/abstract/hash-to-curve.js";
import { sha256 as sha256Of } from "@noble/hashes/sha2.js";
import type { Octets } from "./codec.js";

const { G1, G2, fields } = bls12_381;

/** A point of G1, in the subgroup of prime order. */
export interface Point {
  /** Return whether it is the identity. */
  is0(): boolean;
}
/** A point of G2, in the subgroup of prime order. */
export interface KeyPoint extends Point {
  /** Only a point of G2 is a key. */
  readonly X: { readonly c0: bigint; readonly c1: bigint };
}
type G1Point = InstanceType<typeof G1.Point>;
type G2Point = InstanceType<typeof G2.Point>;
/** A point and the scalar that multiplies it. */
export type Term = readonly [point: Point, scalar: bigint];

/** The prime order r of both groups. */
export const ORDER: bigint = fields.Fr.ORDER;
export const [POINT_SIZE, KEY_SIZE, SCALAR_SIZE] = [48, 96, 32];
const HASH_SIZE = 48;

/** Bytes that are not the canonical encoding of a point of the subgroup, or encode the identity. */
export class InvalidPoint extends TypeError {}

/** Return the remainder modulo r, from 0 to r - 1. */
export function modulo(value: bigint): bigint {
  const rest = value % ORDER;
  return rest < 0n ? rest + ORDER : rest;
}

export const sha256 = (octets: Octets): Octets => sha256Of(octets) as Octets;

/** Hash a message to a scalar (BBS draft, "Hash to Scalar"). */
export function hashToScalar(message: Octets, tag: string): bigint {
  return modulo(readNumber(expand(message, tag)));
}

/** Return 48 bytes by expand_message_xmd of RFC 9380 §5.3.1. */
export const expand = (message: Octets, tag: string): Octets => expand_message_xmd(message, tag, HASH_SIZE, sha256Of) as Octets;

/** Hash a message to G1 (RFC 9380, suite BLS12381G1_XMD:SHA-256_SSWU_RO_). */
export const hashToPoint = (message: Octets, tag: string): Point => G1.hashToCurve(message, { DST: tag });

/** Return the number of big-endian bytes. */
export function readNumber(octets: Octets): bigint {
  let digits = "0x0";
  for (const octet of octets) digits += octet.toString(16).padStart(2, "0");
  return BigInt(digits);
}

/** Decode a point of G1: 48 bytes, canonical, in the subgroup, not the identity. Throws `InvalidPoint`. */
export const decodePoint = (octets: Octets): Point => decode(G1.Point, octets, POINT_SIZE);

/** Decode a point of G2: 96 bytes, canonical, in the subgroup, not the identity. Throws `InvalidPoint`. */
export const decodeKeyPoint = (octets: Octets): KeyPoint => decode(G2.Point, octets, KEY_SIZE);

interface Decodable {
  assertValidity(): void;
  is0(): boolean;
  toBytes(compressed: boolean): Uint8Array;
}

function decode<P extends Decodable>(group: { fromBytes(octets: Uint8Array): P }, octets: Octets, size: number): P {
  if (octets.length !== size) throw new InvalidPoint(`a point has ${size} bytes`);
  let point: P;
  try {
    point = group.fromBytes(octets);
    // On the curve, and in the subgroup.
    point.assertValidity();
  } catch {
    throw new InvalidPoint("the bytes encode no point of the subgroup");
  }
  if (point.is0() || !isEqual(point.toBytes(true) as Octets, octets)) throw new InvalidPoint("the bytes encode the identity, or are not canonical");
  return point;
}

/** Return 48 bytes of each point. */
export const encodePoints = (points: readonly Point[]): Octets[] =>
  normalizeZ(G1.Point, points as G1Point[]).map((point) => point.toBytes(true) as Octets);

/** Return the sum of the products. */
export function sum(terms: readonly Term[]): Point {
  const used = terms.map(([point, scalar]) => [point as G1Point, modulo(scalar)] as const).filter(([, scalar]) => scalar !== 0n);
  if (used.length === 0) return G1.Point.ZERO;
  return pippenger(G1.Point, used.map(([point]) => point), used.map(([, scalar]) => scalar));
}

/** Return whether the product of e(left, key) over all pairs equals e(right, generator of G2). */
export function pairingsAgree(pairs: readonly (readonly [left: Point, key: KeyPoint])[], right: Point): boolean {
  const left = pairs.map(([g1, g2]) => ({ g1: g1 as G1Point, g2: g2 as unknown as G2Point }));
  const all = [...left, { g1: (right as G1Point).negate(), g2: G2.Point.BASE }];
  // The pairing of an identity is one.
  const product = bls12_381.pairingBatch(all.filter(({ g1 }) => !g1.is0()));
  return fields.Fp12.eql(product, fields.Fp12.ONE);
}

/** Return whether two byte strings are equal. */
export const isEqual = (one: Octets, other: Octets): boolean => one.length === other.length && one.every((octet, place) => octet === other[place]);
