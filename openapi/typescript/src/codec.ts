// JSON in canonical form (RFC 8785), base58btc, base64url, SHA-256 and Ed25519, with what browsers and Node have.

export type Octets = Uint8Array<ArrayBuffer>;

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const ED25519_PUBLIC = [0xed, 0x01];
const ED25519_SECRET = [0x80, 0x26];
// What stands before the 32 octets of a private key in PKCS #8 (RFC 8410 §7).
const PKCS8 = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
// A BBS key has the most, 135: whatever is longer would only cost time.
const LONGEST = 160;

export const utf8 = (text: string): Octets => new TextEncoder().encode(text);

/** The JCS of a JSON value. Throws for what has none: numbers that are not finite, halves of surrogate pairs, `undefined`. */
export function canonicalize(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalize).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
    return `{${members.map(([name, member]) => `${canonicalize(name)}:${canonicalize(member)}`).join(",")}}`;
  }
  if (typeof value === "string" && /\p{Cs}/u.test(value)) throw new TypeError("a text has half of a surrogate pair");
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError("a number is not finite");
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`JSON has no ${typeof value}`);
  return text;
}

/** Compare texts by their code points, which differs from the order of UTF-16. */
export function byCodePoints(one: string, other: string): number {
  const [left, right] = [[...one], [...other]];
  const place = left.findIndex((character, at) => character !== right[at]);
  if (place === -1) return left.length - right.length;
  return (left[place]?.codePointAt(0) ?? 0) - (right[place]?.codePointAt(0) ?? -1);
}

/** A JSON number as decimal text. Throws for more than 15 significant digits, which readers round differently. */
export function decimalText(value: number): string {
  if (Number.isSafeInteger(value)) return String(value);
  const [, sign, digits = "", exponent] = /^(-?)([0-9.]+)e([+-][0-9]+)$/.exec(value.toExponential()) ?? [];
  const significant = digits.replace(".", "");
  if (exponent === undefined || Number(exponent) >= 15 || significant.length > 15)
    throw new TypeError("a number of more than 15 significant digits, or past 2^53 - 1, is given as a text");
  const places = significant.length - 1 - Number(exponent);
  const padded = significant.padStart(places + 1, "0");
  return `${sign}${padded.slice(0, padded.length - places)}.${padded.slice(padded.length - places)}`;
}

/** The octets of a stream; undefined where there are more than `most`, and then no more are read. */
export async function readStream(stream: ReadableStream<Octets> | null, most: number): Promise<Octets | undefined> {
  const reader = stream?.getReader();
  const parts: Octets[] = [];
  let length = 0;
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    parts.push(part.value);
    length += part.value.length;
    if (length > most) {
      await reader?.cancel();
      return undefined;
    }
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

export function base58(octets: Uint8Array): string {
  let number = octets.reduce((sum, octet) => sum * 256n + BigInt(octet), 0n);
  let text = "";
  for (; number > 0n; number /= 58n) text = ALPHABET.charAt(Number(number % 58n)) + text;
  const zeros = octets.findIndex((octet) => octet !== 0);
  return "1".repeat(zeros === -1 ? octets.length : zeros) + text;
}

export function base58Decode(text: string): Octets {
  if (text.length > LONGEST) throw new TypeError("base58btc of too many characters");
  const octets: number[] = [];
  let number = 0n;
  for (const character of text) {
    const digit = ALPHABET.indexOf(character);
    if (digit === -1) throw new TypeError("not base58btc");
    number = number * 58n + BigInt(digit);
  }
  for (; number > 0n; number /= 256n) octets.unshift(Number(number % 256n));
  const zeros = text.length - text.replace(/^1+/, "").length;
  return Uint8Array.from([...Array<number>(zeros).fill(0), ...octets]);
}

/** Without padding. */
export function base64url(octets: Uint8Array): string {
  let characters = "";
  for (const octet of octets) characters += String.fromCharCode(octet);
  return btoa(characters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Octets from base64url in its one form. */
export function base64urlDecode(text: string): Octets {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) throw new TypeError("not base64url");
  const octets = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
  // The last character may have bits that say nothing.
  if (base64url(octets) !== text) throw new TypeError("not base64url in its one form");
  return octets;
}

/** The base64url of the SHA-256 of a body in canonical form: what a challenge binds it by. */
export const hashBody = async (canonical: string): Promise<string> => base64url(await sha256(utf8(canonical)));

export const sha256 = async (octets: Octets): Promise<Octets> => new Uint8Array(await crypto.subtle.digest("SHA-256", octets));

/** Signs with a secret multikey (`z3u2…`); the key itself cannot be read again. */
export async function signing(secretMultikey: string): Promise<(message: Octets) => Promise<Octets>> {
  const pkcs8 = Uint8Array.from([...PKCS8, ...multikey(secretMultikey, ED25519_SECRET)]);
  const key = await crypto.subtle.importKey("pkcs8", pkcs8, { name: "Ed25519" }, false, ["sign"]);
  return async (message) => new Uint8Array(await crypto.subtle.sign({ name: "Ed25519" }, key, message));
}

/** Whether `signature` is one of `message` by a public multikey (`z6Mk…`). Throws for what is no such key, and for one of small order. */
export const verifies = (publicMultikey: string, message: Octets, signature: Octets): Promise<boolean> =>
  verifiesRaw(multikey(publicMultikey, ED25519_PUBLIC), message, signature);

/** The same by the 32 octets of a key. */
export async function verifiesRaw(octets: Octets, message: Octets, signature: Octets): Promise<boolean> {
  if (isWeak(octets)) throw new TypeError("an Ed25519 key of small order, under which anybody signs");
  const key = await crypto.subtle.importKey("raw", octets, { name: "Ed25519" }, false, ["verify"]);
  return crypto.subtle.verify({ name: "Ed25519" }, key, signature, message);
}

/** Whether a text is a public multikey of Ed25519, and its key not of small order. */
export function isPublicKey(text: string): boolean {
  try {
    return !isWeak(multikey(text, ED25519_PUBLIC));
  } catch {
    return false;
  }
}

const PRIME = 2n ** 255n - 19n;
const EIGHTH = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
// The points of the orders 1, 2, 4 and 8 by their y; WebCrypto takes them.
const WEAK = [0n, 1n, PRIME - 1n, EIGHTH, PRIME - EIGHTH];

function isWeak(key: Octets): boolean {
  const y = key.reduceRight((sum, octet) => sum * 256n + BigInt(octet), 0n) % 2n ** 255n;
  return WEAK.includes(y % PRIME);
}

/** The raw key of `size` octets of a multikey (CID 1.0 §2.2.2) whose multicodec is `prefix`. */
export function multikey(text: string, prefix: readonly number[], size = 32): Octets {
  const octets = text.startsWith("z") ? base58Decode(text.slice(1)) : new Uint8Array();
  if (octets.length !== size + 2 || octets[0] !== prefix[0] || octets[1] !== prefix[1]) throw new TypeError("not a key of its type");
  return octets.slice(2);
}
