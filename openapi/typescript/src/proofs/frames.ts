// The bytes that the challenges of a proof hash: frames of fields, each with its length (PROTOCOL.md §6), and canonical JSON.

import { base64url, base64urlDecode, canonicalize, utf8, type Octets } from "../codec.js";
import { InvalidPoint, ORDER, readNumber, SCALAR_SIZE } from "./curve.js";

/** An invalid proof, or a question that no proof answers. */
export class ProofRefused extends TypeError {}

export function check(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new ProofRefused(otherwise);
}

/** Return what `read` returns; a value of another shape is refused with `reason`. */
export function shaped<T>(reason: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ProofRefused) throw error;
    const isOfInput = error instanceof TypeError || error instanceof SyntaxError || error instanceof RangeError;
    if (isOfInput || error instanceof InvalidPoint || isDomException(error)) throw new ProofRefused(reason);
    throw error;
  }
}

// `atob` throws one for text that is not base64.
const isDomException = (error: unknown): boolean => error instanceof Error && error.name === "InvalidCharacterError";

export function concat(...parts: readonly Octets[]): Octets {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let end = 0;
  for (const part of parts) {
    whole.set(part, end);
    end += part.length;
  }
  return whole;
}

/** Return a count, index or time in 8 bytes. */
export const number = (value: number): Octets => inBytes(BigInt(value), 8);
/** Return a scalar in 32 bytes. */
export const scalar = (value: bigint): Octets => inBytes(value, SCALAR_SIZE);

function inBytes(value: bigint, size: number): Octets {
  const digits = value.toString(16).padStart(2 * size, "0");
  return Uint8Array.from({ length: size }, (_, place) => Number.parseInt(digits.slice(2 * place, 2 * place + 2), 16));
}

/** Return a field that may be missing: nothing, or a byte and the value. */
export const optional = (octets: Octets | undefined): Octets => (octets === undefined ? new Uint8Array() : concat(Uint8Array.of(1), octets));

/** Return tag and fields, counted, each after its length. */
export function frame(tag: string, fields: readonly Octets[]): Octets {
  const name = utf8(tag);
  return concat(number(name.length), name, number(fields.length), ...fields.flatMap((field) => [number(field.length), field]));
}

/** Return the scalars of 32 bytes each, at least `least` and below r. */
export function readScalars(octets: Octets, least: bigint, otherwise: string): bigint[] {
  const found: bigint[] = [];
  for (let start = 0; start < octets.length; start += SCALAR_SIZE) {
    const value = readNumber(octets.subarray(start, start + SCALAR_SIZE));
    check(value >= least && value < ORDER, otherwise);
    found.push(value);
  }
  return found;
}

// Bounds of a JSON text, as the service has them.
const [MOST_LEVELS, MOST_CONTAINERS, MOST_MEMBERS, MOST_VALUES] = [32, 1_000, 1_000, 10_000];

/** Return the value of a JSON text behind `tag`, which must be the canonical one. */
export function readCanonical(octets: Octets, tag = ""): Record<string, unknown> {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(octets);
  check(text.startsWith(tag), "the text begins with another tag");
  const value: unknown = JSON.parse(text.slice(tag.length));
  checkSize(value);
  check(tag + canonicalize(value) === text, "the text is not canonical JSON");
  return object(value);
}

/** Check depth and counts level by level, so that no text exhausts the stack. */
export function checkSize(value: unknown): void {
  let [level, containers, members, values] = [[value], 0, 0, 1];
  for (let depth = 0; level.length > 0; depth++) {
    const inner = level.filter((one): one is object => typeof one === "object" && one !== null);
    const parts = inner.map((one) => Object.values(one) as unknown[]);
    containers += inner.length;
    inner.forEach((one, place) => (members += Array.isArray(one) ? 0 : (parts[place]?.length ?? 0)));
    level = parts.flat();
    values += level.length;
    const isWithin = inner.length === 0 || depth < MOST_LEVELS;
    check(isWithin && containers <= MOST_CONTAINERS && members <= MOST_MEMBERS && values <= MOST_VALUES, "the JSON text is too large");
  }
}

export function object(value: unknown): Record<string, unknown> {
  check(typeof value === "object" && value !== null && !Array.isArray(value), "a member has another type");
  return value as Record<string, unknown>;
}

/** Return an object that has exactly these members, and perhaps those of `more`. */
export function members(value: unknown, names: readonly string[], more: readonly string[] = []): Record<string, unknown> {
  const found = object(value);
  const isExact = names.every((name) => Object.hasOwn(found, name)) && Object.keys(found).every((name) => names.includes(name) || more.includes(name));
  check(isExact, "an object has other members");
  return found;
}

export function list(value: unknown, most = Infinity): unknown[] {
  check(Array.isArray(value) && value.length <= most, "a list is too long, or none");
  return value as unknown[];
}

/** Return a list of exactly `size` items. */
export function tuple(value: unknown, size: number): unknown[] {
  check(list(value).length === size, "a list is too long, or none");
  return value as unknown[];
}

export function string(value: unknown): string {
  check(typeof value === "string", "a member has another type");
  return value;
}

export function flag(value: unknown): boolean {
  check(typeof value === "boolean", "a member has another type");
  return value;
}

/** Return an integer from `least` to `most`. */
export function integer(value: unknown, least = -Infinity, most = Infinity): number {
  check(Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most, "a member has another type, or is out of range");
  return Number(value);
}

/** Return the bytes of a base64url text in its one form. */
export const bytes = (value: unknown): Octets => base64urlDecode(string(value));
export const optionalBytes = (value: unknown): Octets | undefined => (value === null ? undefined : bytes(value));
/** Return base64url of many bytes. */
export const base64urlOrNull = (octets: Octets | undefined): string | null => (octets === undefined ? null : base64url(octets));
