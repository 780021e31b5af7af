// Points of G1, their 48 bytes, and sums of products, several times as fast as by the general formulas of the curve library.
//
// y² = x³ + 4 over the integers modulo P. Every scalar here is public: the time depends on it.

import { bls12_381 } from "@noble/curves/bls12-381.js";

const { Fp } = bls12_381.fields;
const P = Fp.ORDER;
const POINT_SIZE = 48;
const [COMPRESSED, INFINITY, LARGER] = [0x80, 0x40, 0x20];
// The square of the parameter of the curve. A scalar is split by it in two halves of 128 bits.
const Z_SQUARED = 0xd201000000010000n ** 2n;
// The endomorphism (x, y) → (BETA x, y) multiplies a point of the subgroup by -Z_SQUARED, and no other point.
const BETA = 0x5f19672fdf76ce51ba69c6076a0f77eaddb3a93be6f89688de17d813620a00022e01fffffffefffen;
// Digits of a scalar are odd and below 2^(WINDOW - 1), or zero.
const WINDOW = 5;

/** A point of the subgroup in affine coordinates; the identity has x = y = 0. */
export class Point {
  private multiples: readonly Affine[] | undefined;
  private mapped: readonly Affine[] | undefined;

  constructor(
    readonly x: bigint,
    readonly y: bigint,
  ) {}

  is0(): boolean {
    return this.x === 0n && this.y === 0n;
  }

  /** Return 1, 3, 5 … times the point; they are stored. */
  table(): readonly Affine[] {
    return (this.multiples ??= oddMultiples(this));
  }

  /** Return the same multiples of Z_SQUARED times the point. */
  mappedTable(): readonly Affine[] {
    return (this.mapped ??= this.table().map(mapped));
  }
}

interface Affine {
  readonly x: bigint;
  readonly y: bigint;
}

/** Jacobian coordinates: x = X / Z², y = Y / Z³. Of the identity Z is 0. */
type Jacobian = readonly [x: bigint, y: bigint, z: bigint];

const IDENTITY: Jacobian = [1n, 1n, 0n];
const mapped = ({ x, y }: Affine): Affine => ({ x: (x * BETA) % P, y: P - y });

function double([x, y, z]: Jacobian): Jacobian {
  const [a, b] = [(x * x) % P, (y * y) % P];
  const [c, d, e] = [(b * b) % P, (4n * x * b) % P, 3n * a];
  const x3 = (e * e - 2n * d) % P;
  return [x3, (e * (d - x3) - 8n * c) % P, (2n * y * z) % P];
}

function add(point: Jacobian, { x, y }: Affine): Jacobian {
  const [x1, y1, z1] = point;
  if (z1 === 0n) return [x, y, 1n];
  const square = (z1 * z1) % P;
  const [h, r] = [(x * square - x1) % P, (((y * z1) % P) * square - y1) % P];
  if (h === 0n) return r === 0n ? double(point) : IDENTITY;
  const hh = (h * h) % P;
  const [hhh, v] = [(h * hh) % P, (x1 * hh) % P];
  const x3 = (r * r - hhh - 2n * v) % P;
  return [x3, (r * (v - x3) - y1 * hhh) % P, (z1 * h) % P];
}

/** Return affine coordinates of points that are not the identity, with one inversion. */
function normalized(points: readonly Jacobian[]): Affine[] {
  let product = 1n;
  const before = points.map(([, , z]) => {
    const so = product;
    product = (product * z) % P;
    return so;
  });
  let inverse = Fp.inv(product);
  const found: Affine[] = [];
  for (let place = points.length - 1; place >= 0; place--) {
    const [x, y, z] = points[place] as Jacobian;
    const own = (inverse * (before[place] as bigint)) % P;
    inverse = (inverse * z) % P;
    const square = (own * own) % P;
    found[place] = { x: Fp.create(x * square), y: Fp.create(((y * square) % P) * own) };
  }
  return found;
}

/** Return 1, 3, 5 … times a point, whose order is larger than all of them. */
function oddMultiples(point: Affine): Affine[] {
  const [twice] = normalized([double([point.x, point.y, 1n])]) as [Affine];
  const multiples: Jacobian[] = [[point.x, point.y, 1n]];
  while (multiples.length < 1 << (WINDOW - 2)) multiples.push(add(multiples.at(-1) as Jacobian, twice));
  return normalized(multiples);
}

/** Return the digits of a scalar, lowest first: of WINDOW in a row at most one is not zero (non-adjacent form). */
function digitsOf(scalar: bigint): number[] {
  const bits = Array.from(scalar.toString(2), Number).reverse();
  const digits: number[] = [];
  for (let place = 0; place < bits.length; place++) {
    const bit = bits[place] ?? 0;
    if (bit === 2) bits[place + 1] = (bits[place + 1] ?? 0) + 1;
    if (bit !== 1) {
      digits.push(0);
      continue;
    }
    const row = bits.splice(place, WINDOW).reduce((sum, one, at) => sum + (one << at), 0);
    const isNegative = row >= 1 << (WINDOW - 1);
    digits.push(isNegative ? row - (1 << WINDOW) : row);
    bits.splice(place, 0, 0, ...Array<number>(WINDOW - 1).fill(0));
    if (isNegative) bits[place + WINDOW] = (bits[place + WINDOW] ?? 0) + 1;
  }
  return digits;
}

/** Return the sum of products by scalars from 0 on, with one row of doublings for all. */
function interleaved(products: readonly (readonly [table: readonly Affine[], scalar: bigint])[]): Jacobian {
  const all = products.map(([table, scalar]) => [table, digitsOf(scalar)] as const);
  let total = IDENTITY;
  for (let place = Math.max(0, ...all.map(([, digits]) => digits.length)) - 1; place >= 0; place--) {
    total = double(total);
    for (const [table, digits] of all) {
      const digit = digits[place] ?? 0;
      if (digit === 0) continue;
      const { x, y } = table[(Math.abs(digit) - 1) >> 1] as Affine;
      total = add(total, digit > 0 ? { x, y } : { x, y: P - y });
    }
  }
  return total;
}

/** Return the sum of points of the subgroup times scalars from 0 to r - 1. */
export function sumOfProducts(terms: readonly (readonly [Point, bigint])[]): Point {
  const halves = terms.filter(([point]) => !point.is0()).flatMap(([point, scalar]) => [
    [point.table(), scalar % Z_SQUARED] as const,
    [point.mappedTable(), scalar / Z_SQUARED] as const,
  ]);
  const total = interleaved(halves);
  if (total[2] === 0n) return new Point(0n, 0n);
  const [{ x, y }] = normalized([total]) as [Affine];
  return new Point(x, y);
}

/** Return the 48 bytes of a point (ZCash format). */
export function compress(point: Point): Uint8Array<ArrayBuffer> {
  const octets = Fp.toBytes(point.x) as Uint8Array<ArrayBuffer>;
  octets[0] = (octets[0] as number) | COMPRESSED | (point.is0() ? INFINITY : 0) | (2n * point.y > P ? LARGER : 0);
  return octets;
}

/** Return the point of 48 bytes in their one form, on the curve and in the subgroup; undefined for others, and for the identity. */
export function decompress(octets: Uint8Array): Point | undefined {
  const [flags = 0] = octets;
  if (octets.length !== POINT_SIZE || (flags & COMPRESSED) === 0 || (flags & INFINITY) !== 0) return undefined;
  const plain = octets.slice();
  plain[0] = flags & (LARGER - 1);
  const x = BigInt(`0x${Array.from(plain, (octet) => octet.toString(16).padStart(2, "0")).join("")}`);
  const square = (x * x * x + 4n) % P;
  const root = Fp.pow(square, (P + 1n) / 4n);
  if (x >= P || (root * root) % P !== square) return undefined;
  const isLarger = 2n * root > P;
  const point = new Point(x, isLarger === ((flags & LARGER) !== 0) ? root : P - root);
  return isInSubgroup(point) ? point : undefined;
}

/** Return whether a point of the curve is in the subgroup of order r (Scott, "A note on group membership tests", 2021). */
function isInSubgroup(point: Point): boolean {
  const { x, y } = mapped(point);
  // By single bits, because the multiples of another point may be the identity.
  const [x1, y1, z1] = [...Z_SQUARED.toString(2)].reduce((total, bit) => (bit === "1" ? add(double(total), point) : double(total)), IDENTITY);
  const square = (z1 * z1) % P;
  return z1 !== 0n && (x * square - x1) % P === 0n && (((y * z1) % P) * square - y1) % P === 0n;
}
