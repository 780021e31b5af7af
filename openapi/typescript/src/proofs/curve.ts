// BLS12-381 by @noble/curves. The build puts that library into this file (esbuild), so that the package depends on no other.

import { bls12_381 } from "@noble/curves/bls12-381.js";
import { expand_message_xmd } from "@noble/curves/abstract/hash-to-curve.js";
import { sha256 as sha256Of } from "@noble/hashes/sha2.js";
import type { Octets } from "../codec.js";
import { compress, decompress, Point, sumOfProducts } from "./group.js";

const { G1, G2, fields } = bls12_381;

export type { Point };
/** A point of G2, in the subgroup of prime order. */
export interface KeyPoint {
  is0(): boolean;
}
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
export function hashToPoint(message: Octets, tag: string): Point {
  const { x, y } = G1.hashToCurve(message, { DST: tag }).toAffine();
  return new Point(x, y);
}

/** Return the number of big-endian bytes. */
export function readNumber(octets: Octets): bigint {
  let digits = "0x0";
  for (const octet of octets) digits += octet.toString(16).padStart(2, "0");
  return BigInt(digits);
}

/** Decode a point of G1: 48 bytes, canonical, in the subgroup, not the identity. Throws `InvalidPoint`. */
export function decodePoint(octets: Octets): Point {
  const point = decompress(octets);
  if (point === undefined) throw new InvalidPoint("the bytes encode no point of the subgroup");
  return point;
}

/** Decode a point of G2: 96 bytes, canonical, in the subgroup, not the identity. Throws `InvalidPoint`. */
export function decodeKeyPoint(octets: Octets): KeyPoint {
  let point: G2Point | undefined;
  try {
    // Refuses points that are not on the curve or not in the subgroup.
    point = G2.Point.fromBytes(octets);
    point.assertValidity();
  } catch {
    throw new InvalidPoint("the bytes encode no point of the subgroup");
  }
  const isCanonical = octets.length === KEY_SIZE && !point.is0() && isEqual(point.toBytes(true) as Octets, octets);
  if (!isCanonical) throw new InvalidPoint("the bytes encode no point of the subgroup");
  return point;
}

/** Return 48 bytes of each point. */
export const encodePoints = (points: readonly Point[]): Octets[] => points.map(compress);

/** Return the sum of the products. */
export const sum = (terms: readonly Term[]): Point => sumOfProducts(terms.map(([point, scalar]) => [point, modulo(scalar)]));

/** Return whether the product of e(left, key) over all pairs equals e(right, generator of G2). */
export function pairingsAgree(pairs: readonly (readonly [left: Point, key: KeyPoint])[], right: Point): boolean {
  const left = pairs.map(([point, key]) => ({ g1: G1.Point.fromAffine(point), g2: key as G2Point }));
  const all = [...left, { g1: G1.Point.fromAffine(right).negate(), g2: G2.Point.BASE }];
  // The pairing of an identity is one.
  const product = bls12_381.pairingBatch(all.filter(({ g1 }) => !g1.is0()));
  return fields.Fp12.eql(product, fields.Fp12.ONE);
}

/** Return whether two byte strings are equal. */
export const isEqual = (one: Octets, other: Octets): boolean => one.length === other.length && one.every((octet, place) => octet === other[place]);
