// Predicates about attributes, and the goals that a proof shows, at most one for each slot (PROTOCOL.md §3).

import { byCodePoints, canonicalize } from "../codec.js";
import { jsonOf, messageOf, octetsOf, OFFSET, readValue, type Attribute, type Message, type Schema, type TypedValue } from "./credential.js";
import { check, list, members, string } from "./frames.js";

/** A predicate in its canonical form; `operands` has the one value, or a set without duplicates in ascending order. */
export interface Predicate {
  readonly attribute: Attribute;
  readonly type: string;
  readonly operands: readonly TypedValue[];
}

/** A slot's scalar is in [low, high]; or the slot has this message; or it has one of these messages. */
export type Goal =
  | { readonly slot: number; readonly low: bigint; readonly high: bigint }
  | { readonly slot: number; readonly equals: Message }
  | { readonly slot: number; readonly among: readonly Message[] };

export const MOST_PREDICATES = 16;
export const MOST_ELEMENTS = 4_096;
const BOUNDS = ["gte", "gt", "lte", "lt"];
const MEMBERS = ["attributeName", "type", "value"];

/** Read the predicates of a proof or of its verifier. `more` are types beside those that every proof knows. Throws `ProofRefused`. */
export function readPredicates(schema: Schema, value: unknown, more: readonly string[] = []): Predicate[] {
  const all = list(value, MOST_PREDICATES).map((one) => members(one, MEMBERS));
  // Before any element is read: one text may hold many large sets.
  checkElements(all.reduce((count, one) => count + (Array.isArray(one.value) ? one.value.length : 0), 0));
  return all.map(({ attributeName, type, value: operand }) => readPredicate(schema, string(attributeName), string(type), operand, more));
}

function readPredicate(schema: Schema, name: string, type: string, value: unknown, more: readonly string[]): Predicate {
  const attribute = schema.attributes.get(name);
  check(attribute !== undefined, "the schema has no such attribute");
  const isOrdered = attribute.domain !== undefined;
  const known = ["eq", ...(attribute.type === "boolean" ? [] : ["set_member"]), ...(isOrdered ? BOUNDS : []), ...more];
  check(known.includes(type), "the predicate does not apply to the attribute");
  const operands = type === "set_member" ? readSet(attribute, value) : [readValue(attribute, value)];
  const predicate = { attribute, type, operands };
  if (BOUNDS.includes(type)) interval(attribute, [predicate]);
  return predicate;
}

function readSet(attribute: Attribute, value: unknown): TypedValue[] {
  const values = list(value, MOST_ELEMENTS).map((one) => readValue(attribute, one));
  check(values.length > 0, "a set has an element");
  // Texts may become equal by their canonical form.
  return [...new Map(values.map((one) => [one.text, one])).values()].sort(byValue);
}

function byValue(one: TypedValue, other: TypedValue): number {
  if (one.number === undefined || other.number === undefined) return byCodePoints(one.text, other.text);
  return one.number < other.number ? -1 : 1;
}

export const checkElements = (count: number): void => check(count <= MOST_ELEMENTS, "the sets of a statement have too many elements");

/** Return the canonical JSON form of a predicate, with the members of `ZKPredicate`. */
export function predicateJson({ attribute, type, operands }: Predicate): { attributeName: string; type: string; value: unknown } {
  const values = operands.map(jsonOf);
  return { attributeName: attribute.name, type, value: type === "set_member" ? values : values[0] };
}

export const predicateText = (predicate: Predicate): string => canonicalize(predicateJson(predicate));

/** Return one goal for each attribute, in the order of slots. Throws `ProofRefused`: for predicates that no value or every value meets. */
export function goalsOf(schema: Schema, predicates: readonly Predicate[]): Goal[] {
  checkElements(predicates.reduce((count, { type, operands }) => count + (type === "set_member" ? operands.length : 0), 0));
  const groups = new Map<Attribute, Predicate[]>();
  for (const one of predicates) groups.set(one.attribute, [...(groups.get(one.attribute) ?? []), one]);
  return [...groups].map(([attribute, group]) => goalOf(schema, attribute, group)).sort((one, other) => one.slot - other.slot);
}

function goalOf(schema: Schema, attribute: Attribute, group: readonly Predicate[]): Goal {
  const sets = group.filter(({ type }) => !BOUNDS.includes(type)).map(({ operands }) => operands);
  const slot = slotOf(schema, attribute);
  if (attribute.domain === undefined) return among(slot, common(sets).map(octetsOf));
  const bounds = group.filter(({ type }) => BOUNDS.includes(type));
  const [low, high] = bounds.length > 0 ? interval(attribute, bounds) : attribute.domain;
  if (sets.length > 0) {
    const inside = common(sets).filter(({ number }) => number !== undefined && low <= number && number <= high);
    return among(slot, inside.map(messageOf));
  }
  return low === high ? { slot, equals: low + OFFSET } : { slot, low: low + OFFSET, high: high + OFFSET };
}

/** Return the slot that predicates of an attribute are about: the numeric one, if it is ordered. */
export const slotOf = (schema: Schema, { name, domain }: Attribute): number =>
  (domain === undefined ? schema.hashedSlots : schema.numericSlots).get(name) ?? -1;

/** Return the numbers that satisfy every bound. */
function interval(attribute: Attribute, bounds: readonly Predicate[]): readonly [bigint, bigint] {
  const [first, last] = attribute.domain ?? [0n, 0n];
  let [low, high] = [first, last];
  for (const { type, operands } of bounds) {
    const number = operands[0]?.number ?? 0n;
    const [least, most] = { gte: [number, last], gt: [number + 1n, last], lte: [first, number], lt: [first, number - 1n] }[type] ?? [first, last];
    if (least !== undefined && least > low) low = least;
    if (most !== undefined && most < high) high = most;
  }
  check(low <= high, "no value satisfies the predicates together");
  check(low !== first || high !== last, "every value satisfies the predicate");
  return [low, high];
}

/** Return the elements that all sets share, in ascending order. */
function common(sets: readonly (readonly TypedValue[])[]): readonly TypedValue[] {
  const others = sets.slice(1).map((set) => new Set(set.map(({ text }) => text)));
  return (sets[0] ?? []).filter(({ text }) => others.every((set) => set.has(text)));
}

export function among(slot: number, messages: readonly Message[]): Goal {
  const [first] = messages;
  check(first !== undefined, "no value satisfies the predicates together");
  return messages.length === 1 ? { slot, equals: first } : { slot, among: messages };
}
