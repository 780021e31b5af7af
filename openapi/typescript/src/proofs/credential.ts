// Attributes, values and signed headers of credentials, in the one form that each has (PROTOCOL.md §2, PROTOCOL-2.md §2).

import { base64url, canonicalize, decimalText, utf8, type Octets } from "../codec.js";
import { isEqual } from "./curve.js";
import { instantOf } from "../entry.js";
import { bytes, check, concat, flag, integer, list, object, readCanonical, shaped, string, tuple } from "./frames.js";
import { isAssigned } from "../unicode14.js";

export type AttributeType = "integer" | "decimal" | "date" | "datetime" | "boolean" | "string";
/** The message of a slot: bytes, which BBS hashes, or the scalar itself in a numeric slot. */
export type Message = Octets | bigint;

/** A value in its canonical form; `number` is its signed integer, if its type is ordered. */
export interface TypedValue {
  readonly type: AttributeType;
  readonly text: string;
  readonly number: bigint | undefined;
}

/** An attribute; `domain` has the first and last number of an ordered one. */
export interface Attribute {
  readonly name: string;
  readonly type: AttributeType;
  readonly scale: number;
  readonly domain: readonly [low: bigint, high: bigint] | undefined;
}

/** The attributes that an issuer signs, under a header that all holders share. The slots count from `firstSlot`. */
export interface Schema {
  readonly id: string;
  readonly attributes: ReadonlyMap<string, Attribute>;
  readonly header: Octets;
  readonly hashedSlots: ReadonlyMap<string, number>;
  readonly numericSlots: ReadonlyMap<string, number>;
  /** How many messages a signature covers. */
  readonly count: number;
}

/** The header of a credential of suite 2. */
export interface BoundHeader extends Schema {
  readonly method: string;
  readonly issuer: string;
  readonly status: { readonly list: string; readonly period: number } | undefined;
  readonly isBearer: boolean;
  /** SHA-256 of the registered schema. */
  readonly digest: Octets;
}

/** A status list at an epoch. */
export interface StatusEpoch {
  readonly header: Octets;
  readonly issuer: string;
  readonly method: string;
  readonly list: string;
  readonly epoch: number;
  readonly period: number;
}

export const OFFSET = 1n << 63n;
export const NULL_SCALAR = 1n << 64n;
export const NULL_OCTETS: Octets = Uint8Array.of(0);
export const STATUS_BITS = 32;
/** The slot of the first attribute of a credential of suite 2. */
export const FIRST_SLOT = 6;

const TAG = "IDENTITY-SERVICE-CREDENTIAL-V1:";
const BOUND_TAG = "IDENTITY-SERVICE-CREDENTIAL-V2:";
const STATUS_TAG = "IDENTITY-SERVICE-STATUS-V2:";
const [MOST_HEADER, MOST_STATUS_HEADER, MOST_ATTRIBUTES, MOST_STRING, MOST_METHOD] = [16_384, 2_048, 64, 1_024, 1_024];
const [DAY_SECONDS, DAYS_BEFORE_1970, DAYS_FROM_1970] = [86_400, 719_162n, 2_932_897n];
const DAY_MICROSECONDS = 86_400_000_000n;
const DOMAINS: Record<AttributeType, readonly [bigint, bigint] | undefined> = {
  integer: [-OFFSET, OFFSET - 1n],
  decimal: [-OFFSET, OFFSET - 1n],
  date: [-DAYS_BEFORE_1970, DAYS_FROM_1970 - 1n],
  datetime: [-DAYS_BEFORE_1970 * DAY_MICROSECONDS, DAYS_FROM_1970 * DAY_MICROSECONDS - 1n],
  boolean: undefined,
  string: undefined,
};
const INTEGER = /^(?:0|-?[1-9][0-9]{0,18})$/;
const DECIMAL = /^(-?)(0|[1-9][0-9]{0,18})(?:\.([0-9]{1,9}))?$/;
const DATE = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/;
const DATETIME = /^[^tz]*$/;
const METHOD = /^(did:[!-"$-~]+)#[!-"$-~]+$/;
const LIST_ID = /^[A-Za-z0-9_-]{22}$/;
const PERIODS = [3_600, 86_400];

/** Return whether the text is 1 to `most` printable characters of Unicode 14.0. */
export function isPrintable(text: string, most: number): boolean {
  const length = [...text].length;
  return length >= 1 && length <= most && !/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u.test(text) && isAssigned(text);
}

/** Return whether the text is printable and in NFC. */
export const isComposed = (text: string, most: number): boolean => isPrintable(text, most) && text.normalize("NFC") === text;

/** Return the canonical JSON form of a value. */
export function jsonOf({ type, text, number }: TypedValue): unknown {
  if (type === "boolean") return text === "true";
  return type === "integer" && Number.isSafeInteger(Number(number)) ? Number(number) : text;
}

/** Return the message of a value: its number in a numeric slot, otherwise its bytes, which begin unlike those of a null. */
export const messageOf = (value: TypedValue): Message => (value.number === undefined ? octetsOf(value) : value.number + OFFSET);
export const octetsOf = ({ text }: TypedValue): Octets => concat(Uint8Array.of(1), utf8(text));
export const isSame = (one: Message, other: Message): boolean =>
  typeof one === "bigint" || typeof other === "bigint" ? one === other : isEqual(one, other);

/** Return the typed value of a JSON value of a predicate. Throws `ProofRefused`. */
export function readValue(attribute: Attribute, value: unknown): TypedValue {
  const typed = { type: attribute.type, ...READERS[attribute.type](value, attribute.scale) };
  const [low, high] = attribute.domain ?? [];
  const isWithin = typed.number === undefined || (low !== undefined && high !== undefined && low <= typed.number && typed.number <= high);
  check(isWithin && isAssigned(typed.text), "a value is outside of the attribute's domain, or not of Unicode 14.0");
  return typed;
}

type Read = Omit<TypedValue, "type">;

const READERS: Record<AttributeType, (value: unknown, scale: number) => Read> = {
  integer: (value) => {
    // Above 2^53 - 1 an integer is a text, because JSON numbers lose digits.
    const isText = typeof value === "string" && INTEGER.test(value) && !Number.isSafeInteger(Number(value));
    check(isText || Number.isSafeInteger(value), "not an integer in its one form");
    const number = BigInt(value as string | number);
    return { text: String(number), number };
  },
  decimal: (value, scale) => {
    const said = typeof value === "number" ? shaped("not a decimal, or one with too many digits", () => decimalText(value)) : string(value);
    const [, sign, whole = "", fraction = ""] = DECIMAL.exec(said) ?? [];
    check(sign !== undefined && fraction.length <= scale, "not a decimal, or one with too many digits");
    const magnitude = BigInt(whole + fraction.padEnd(scale, "0"));
    check(sign === "" || magnitude !== 0n, "minus zero is not a canonical decimal");
    const digits = String(magnitude).padStart(scale + 1, "0");
    const end = digits.length - scale;
    const text = sign + (scale > 0 ? `${digits.slice(0, end)}.${digits.slice(end)}` : digits);
    return { text, number: sign === "" ? magnitude : -magnitude };
  },
  date: (value) => {
    const text = string(value);
    check(DATE.test(text), "not a date");
    return { text, number: floor(instant(`${text}T00:00:00Z`), DAY_MICROSECONDS) };
  },
  datetime: (value) => {
    const said = string(value);
    check(DATETIME.test(said) && !/\.[0-9]{7}/.test(said), "not a time with a zone and at most microseconds");
    const number = instant(said);
    const second = floor(number, 1_000_000n);
    const fraction = number - second * 1_000_000n;
    const whole = new Date(Number(second) * 1_000).toISOString().slice(0, 19);
    return { text: `${whole}${fraction === 0n ? "" : `.${String(fraction).padStart(6, "0")}`}Z`, number };
  },
  boolean: (value) => ({ text: String(flag(value)), number: undefined }),
  string: (value) => {
    const text = string(value).normalize("NFC");
    check(!/\p{Cs}/u.test(text) && [...string(value)].length <= MOST_STRING && utf8(text).length <= MOST_STRING, "not a text, or one that is too long");
    return { text, number: undefined };
  },
};

const instant = (time: string): bigint => shaped("not a time", () => instantOf(time));

function floor(value: bigint, unit: bigint): bigint {
  const rest = ((value % unit) + unit) % unit;
  return (value - rest) / unit;
}

/** Read the header of a credential of suite 1. Throws `ProofRefused`. */
export const readHeader = (octets: Octets): Schema =>
  shaped("not the header of a credential", () => {
    check(octets.length <= MOST_HEADER, "the header is too long");
    const value = readCanonical(octets, TAG);
    const schema = readSchema(value, octets, 0);
    checkWritten(TAG, { attributes: attributesJson(schema), schema: schema.id }, octets);
    return schema;
  });

/** Read the header of a credential of suite 2. Throws `ProofRefused`. */
export const readBoundHeader = (octets: Octets): BoundHeader =>
  shaped("not the header of a credential", () => {
    check(octets.length <= MOST_HEADER, "the header is too long");
    const value = readCanonical(octets, BOUND_TAG);
    const schema = readSchema(value, octets, FIRST_SLOT);
    const [method, keeper, digest] = [string(value.method), string(value.holder), bytes(value.digest)];
    const [, issuer] = METHOD.exec(method) ?? [];
    check(issuer !== undefined && method.length <= MOST_METHOD && digest.length === 32, "not the header of a credential");
    check(["wallet", "custodian", "none"].includes(keeper), "not the header of a credential");
    const named = value.status === null ? undefined : object(value.status);
    const status = named && { list: string(named.list), period: Number(named.period) };
    check(status === undefined || (LIST_ID.test(status.list) && PERIODS.includes(status.period)), "not the header of a credential");
    const written = {
      attributes: attributesJson(schema),
      digest: base64url(digest),
      holder: keeper,
      issuer,
      method,
      schema: schema.id,
      status: status === undefined ? null : { bits: STATUS_BITS, ...status },
    };
    checkWritten(BOUND_TAG, written, octets);
    return { ...schema, method, issuer, status, isBearer: keeper === "none", digest };
  });

/** Read the header of an epoch of a status list. Throws `ProofRefused`. */
export const readStatusHeader = (octets: Octets): StatusEpoch =>
  shaped("not the header of a status list", () => {
    check(octets.length <= MOST_STATUS_HEADER, "the header is too long");
    const value = readCanonical(octets, STATUS_TAG);
    const [issuer, method, id] = [string(value.issuer), string(value.method), string(value.list)];
    check(LIST_ID.test(id) && issuer !== "" && method.startsWith(`${issuer}#`) && [...method].length <= 768, "the key is not the issuer's");
    const period = integer(value.period, 0, DAY_SECONDS);
    check(PERIODS.includes(period), "an epoch takes an hour or a day");
    const epoch = integer(value.epoch, 0, ((1 << 16) * DAY_SECONDS) / period - 1);
    checkWritten(STATUS_TAG, { bits: STATUS_BITS, epoch, issuer, list: id, method, period }, octets);
    return { header: octets, issuer, method, list: id, epoch, period };
  });

function checkWritten(tag: string, value: unknown, octets: Octets): void {
  check(isEqual(utf8(tag + canonicalize(value)), octets), "the header has other members, or another form");
}

function readSchema(value: Record<string, unknown>, header: Octets, firstSlot: number): Schema {
  const id = string(value.schema);
  const all = list(value.attributes, MOST_ATTRIBUTES).map(readAttribute);
  const attributes = new Map(all.map((attribute) => [attribute.name, attribute]));
  check(isPrintable(id, 512) && all.length > 0 && attributes.size === all.length, "an attribute is malformed");
  const ordered = all.filter(({ domain }) => domain !== undefined);
  return {
    id,
    attributes,
    header,
    hashedSlots: new Map(all.map(({ name }, place) => [name, firstSlot + place])),
    numericSlots: new Map(ordered.map(({ name }, place) => [name, firstSlot + all.length + place])),
    count: firstSlot + all.length + ordered.length,
  };
}

function readAttribute(value: unknown): Attribute {
  const { name, type, scale = 0, domain } = object(value);
  check(isComposed(string(name), 64) && Object.hasOwn(DOMAINS, string(type)), "an attribute is malformed");
  const kind = type as AttributeType;
  const widest = DOMAINS[kind];
  const digits = integer(scale, 0, kind === "decimal" ? 9 : 0);
  if (widest === undefined) return { name: string(name), type: kind, scale: 0, domain: undefined };
  const [low = 0n, high = 0n] = tuple(domain, 2).map((bound) => {
    check(/^-?[0-9]{1,20}$/.test(string(bound)), "an attribute is malformed");
    return BigInt(string(bound));
  });
  check(widest[0] <= low && low < high && high <= widest[1], "an attribute is malformed");
  return { name: string(name), type: kind, scale: digits, domain: [low, high] };
}

/** Return the attributes in the form of a signed header. */
function attributesJson(schema: Schema): unknown[] {
  return [...schema.attributes.values()].map(({ name, type, scale, domain }) => ({
    name,
    slot: schema.hashedSlots.get(name),
    type,
    ...(domain === undefined ? {} : { numericSlot: schema.numericSlots.get(name), domain: domain.map(String) }),
    ...(type === "decimal" ? { scale } : {}),
  }));
}

/** Return the header of suite 1 that the attributes of a credential of suite 2 would have. */
export function plainHeader(schema: Schema): Octets {
  const back = (slots: ReadonlyMap<string, number>): Map<string, number> => new Map([...slots].map(([name, slot]) => [name, slot - FIRST_SLOT]));
  const moved = { ...schema, hashedSlots: back(schema.hashedSlots), numericSlots: back(schema.numericSlots) };
  return utf8(TAG + canonicalize({ attributes: attributesJson(moved), schema: schema.id }));
}
