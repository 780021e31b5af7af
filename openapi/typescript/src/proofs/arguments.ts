// The arguments beside a BBS proof: a committed vector of digits or bits, whose check polynomial must lack its top term (PROTOCOL.md §4, §5).

import { utf8, type Octets } from "../codec.js";
import { decodePoint, encodePoints, hashToPoint, modulo, POINT_SIZE, SCALAR_SIZE, sum, type Point, type Term } from "./curve.js";
import { MISMATCH, refusing } from "./bbs.js";
import { check, concat, number, readScalars } from "./frames.js";

export const RADIX = 4;

/** A digit takes 0 to radix - 1 and counts `weight` each. */
export interface Digit {
  readonly weight: bigint;
  readonly radix: number;
}

/** What an argument adds to the two hashes of a proof. */
export interface Argument {
  /** A and B. */
  readonly first: readonly Octets[];
  /** The coefficients T_0 … under the first challenge y. */
  second(y: bigint): Octets[];
}

/** Return the digits for 0 … width, heaviest first. Equation (4.1). */
export function digitsOf(width: bigint): Digit[] {
  const digits: Digit[] = [];
  const radix = BigInt(RADIX);
  let left = width;
  for (; left >= radix - 1n; left -= (radix - 1n) * (digits.at(-1)?.weight ?? 0n)) digits.push({ weight: (left + 1n) / radix, radix: RADIX });
  if (left > 0n) digits.push({ weight: 1n, radix: Number(left) + 1 });
  return digits;
}

/** The generators of committed vectors under one tag: g, h, H and G_0, G_1 … They are stored as they are made. */
export class VectorGenerators {
  private readonly roles: Point[] = [];
  private readonly elements: Point[] = [];

  constructor(private readonly tag: string) {}

  /** Make the first `count` generators of elements. */
  make(count: number): void {
    if (this.roles.length === 0) this.roles.push(...["coefficient", "coefficient-blinding", "blinding"].map((role) => this.hash(role, 0)));
    while (this.elements.length < count) this.elements.push(this.hash("digit", this.elements.length));
  }

  private hash(role: string, index: number): Point {
    return hashToPoint(concat(utf8(role), number(index)), this.tag);
  }

  /** Return the terms of the sum of scalars[i] G_i + blinding H. */
  vector(scalars: readonly bigint[], blinding: bigint): Term[] {
    this.make(scalars.length);
    return [...scalars.map((one, place): Term => [this.elements[place] as Point, one]), [this.roles[2] as Point, blinding]];
  }

  /** Return the terms of coefficient g + blinding h. */
  coefficient(coefficient: bigint, blinding: bigint): Term[] {
    return [[this.roles[0] as Point, coefficient], [this.roles[1] as Point, blinding]];
  }
}

/** The received vector: A, T_1 …, the responses that are sent, and two openings. */
export interface ReceivedVector {
  readonly octets: readonly Octets[];
  readonly points: readonly Point[];
  readonly responses: readonly bigint[];
  readonly openings: readonly [z: bigint, zt: bigint];
}

/** Return the size of a vector with so many points and responses. Equation (4.9). */
export const vectorSize = (points: number, responses: number): number => POINT_SIZE * points + SCALAR_SIZE * (responses + 2);

/** Decode a vector of exactly this size. Throws `ProofRefused`. */
export function readVector(octets: Octets, points: number, responses: number): ReceivedVector {
  check(octets.length === vectorSize(points, responses), "a sub-proof has the wrong length");
  const scalars = readScalars(octets.subarray(POINT_SIZE * points), 0n, "a scalar is out of range");
  const parts = Array.from({ length: points }, (_, place) => octets.slice(POINT_SIZE * place, POINT_SIZE * (place + 1)));
  const decoded = refusing(() => parts.map(decodePoint), "a point is not one of the subgroup");
  const [z = 0n, zt = 0n] = scalars.slice(-2);
  return { octets: parts, points: decoded, responses: scalars.slice(0, -2), openings: [z, zt] };
}

/** Return the argument of a vector with all its responses; `value` is the check polynomial at c. Equations (4.10), (4.11). */
export function argumentOf(generators: VectorGenerators, vector: ReceivedVector, responses: readonly bigint[], c: bigint, value: (y: bigint) => bigint): Argument {
  const [[a, ...sent], [octetsOfA, ...octets], [z, zt]] = [vector.points, vector.octets, vector.openings];
  const b = encode(sum([...generators.vector(responses, z), [a as Point, -c]]));
  return {
    first: [octetsOfA as Octets, b],
    second: (y) => {
      let power = 1n;
      const terms = sent.map((point): Term => [point, -(power = modulo(power * c))]);
      return [encode(sum([...generators.coefficient(value(y), zt), ...terms])), ...octets];
    },
  };
}

/** Return the bytes of a point that no honest prover makes the identity. */
function encode(point: Point): Octets {
  check(!point.is0(), MISMATCH);
  return encodePoints([point])[0] as Octets;
}

/** Return F(c), which shows that each response is one of a digit. Equation (4.12). */
export function digitsValue(digits: readonly Digit[], responses: readonly bigint[], y: bigint, c: bigint): bigint {
  let [total, power] = [0n, 1n];
  for (const [place, { radix }] of digits.entries()) {
    const response = responses[place] ?? 0n;
    power = modulo(power * y);
    let product = power;
    for (let k = 0; k < RADIX; k++) product = modulo(product * (k < radix ? response - BigInt(k) * c : c));
    total += product;
  }
  return modulo(total);
}

/** Return the number of index bits of a set: two at least, since the bit test has degree two. Equation (5.1). */
export const bitsOf = (count: number): number => Math.max(2, 32 - Math.clz32(count - 1));

export const setSize = (count: number): number => vectorSize(bitsOf(count), bitsOf(count));

/** Return the argument that the message with the response `message` is one of `scalars`, which ascend. Equation (5.2). */
export function setArgument(generators: VectorGenerators, octets: Octets, scalars: readonly bigint[], message: bigint, c: bigint): Argument {
  const bits = bitsOf(scalars.length);
  const vector = readVector(octets, bits, bits);
  const last = scalars.at(-1) ?? 0n;
  const padded = Array.from({ length: 2 ** bits }, (_, place) => scalars[place] ?? last);
  return argumentOf(generators, vector, vector.responses, c, (y) => {
    let [level, tests, power, lead] = [padded, 0n, 1n, 1n];
    for (const [place, response] of vector.responses.entries()) {
      const other = c - response;
      level = Array.from({ length: level.length / 2 }, (_, pair) => modulo((level[2 * pair] ?? 0n) * other + (level[2 * pair + 1] ?? 0n) * response));
      power = modulo(power * y);
      tests += modulo(power * response) * other;
      if (place >= 2) lead = modulo(lead * c);
    }
    return modulo((level[0] ?? 0n) + lead * modulo(tests - c * message));
  });
}
