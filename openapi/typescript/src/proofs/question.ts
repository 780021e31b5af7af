// The question of a proof of suite 2 about one to four credentials, and its normal form (PROTOCOL-2.md §4).

import { base64url, byCodePoints, canonicalize } from "../codec.js";
import { FIRST_SLOT, isComposed, isSame, messageOf, NULL_OCTETS, NULL_SCALAR, type BoundHeader, type Message } from "./credential.js";
import { sha256 } from "./curve.js";
import { check, flag, integer, list, members, string, tuple } from "./frames.js";
import { among, checkElements, goalsOf, MOST_PREDICATES, predicateJson, readPredicates, slotOf, type Goal, type Predicate } from "./predicate.js";

export interface AskedCredential {
  readonly header: BoundHeader;
  readonly predicates: readonly Predicate[];
}

/** An attribute of a credential of the question. */
export type AttributeOf = readonly [credential: number, name: string];

/**
 * A verifier's question. `same` has classes of equal attributes, `either` groups of predicates, counted through all credentials, of which
 * one holds at least; `json` is its only form.
 */
export interface Question {
  readonly credentials: readonly AskedCredential[];
  readonly same: readonly (readonly AttributeOf[])[];
  readonly either: readonly (readonly number[])[];
  readonly holder: "consent" | "plain" | "none";
  readonly validity: boolean;
  readonly status: boolean;
  readonly pseudonym: string | undefined;
  readonly json: unknown;
}

/** A slot of a part; the parts are the credentials of the question, then their status lists. */
export interface Slot {
  readonly part: number;
  readonly slot: number;
}

/** The goals about attributes. */
export interface NormalForm {
  readonly goals: readonly (Goal & { readonly part: number })[];
  readonly alternatives: readonly { readonly group: number; readonly part: number; readonly slot: number; readonly low: bigint | Message; readonly high: bigint | Message }[];
  readonly inequalities: readonly (Slot & { readonly message: Message })[];
  readonly classes: readonly (readonly Slot[])[];
}

export const MOST_CREDENTIALS = 4;
const MOST_PSEUDONYM = 512;
const MEMBERS = ["credentials", "either", "holder", "pseudonym", "same", "status", "validity"];
const NOT_EQUAL = "neq";

/** Read the question of a proof about credentials with these headers. Throws `ProofRefused`. */
export function readQuestion(value: unknown, headers: readonly BoundHeader[]): Question {
  const said = members(value, MEMBERS);
  const asked = list(said.credentials, MOST_CREDENTIALS).map((one) => members(one, ["header", "issuer", "predicates"]));
  check(asked.length > 0 && asked.length === headers.length, "the question has another number of credentials");
  const all = asked.map((one) => list(one.predicates, MOST_PREDICATES)).flat();
  check(all.length <= MOST_PREDICATES, "the question has too many predicates");
  const sets = all.map((one) => members(one, ["attributeName", "type", "value"]).value);
  checkElements(sets.reduce((count: number, one) => count + (Array.isArray(one) ? one.length : 0), 0));
  const credentials = headers.map((header, place) => ({ header, predicates: readPredicates(header, asked[place]?.predicates, [NOT_EQUAL]) }));
  const same = list(said.same).map((group) => list(group).map((one) => readAttributeOf(one)));
  const either = list(said.either).map((group) => list(group).map((one) => integer(one, 0, all.length - 1)));
  const [holder, pseudonym] = [string(said.holder), said.pseudonym === null ? undefined : string(said.pseudonym)];
  check(holder === "consent" || holder === "plain" || holder === "none", "the question says nothing of the holder");
  const [validity, status] = [flag(said.validity), flag(said.status)];
  const json = {
    credentials: credentials.map(({ header, predicates }) => ({
      header: base64url(sha256(header.header)),
      issuer: header.method,
      predicates: predicates.map(predicateJson),
    })),
    ...{ either, holder, pseudonym: pseudonym ?? null, same, status, validity },
  };
  check(canonicalize(json) === canonicalize(value), "the question is not in its canonical form");
  const question = { credentials, same, either, holder, validity, status, pseudonym, json } as const;
  checkEither(question);
  checkSame(question);
  checkHolder(question);
  check(!status || (validity && headers.every((header) => header.status !== undefined)), "the question is about a status that a credential lacks");
  return question;
}

function readAttributeOf(value: unknown): AttributeOf {
  const [credential, name] = tuple(value, 2);
  return [integer(credential, 0, MOST_CREDENTIALS - 1), string(name)];
}

/** Return whether the items strictly ascend. */
const ascends = <T>(items: readonly T[], compare: (one: T, other: T) => number): boolean =>
  items.every((one, place) => place === 0 || compare(items[place - 1] as T, one) < 0);

const byAttribute = (one: AttributeOf, other: AttributeOf): number => one[0] - other[0] || byCodePoints(one[1], other[1]);

function checkEither({ either }: Question): void {
  const named = either.flat();
  check(new Set(named).size === named.length, "either is not in its one form");
  check(either.every((group) => group.length >= 2 && group.length <= 4 && ascends(group, (one, other) => one - other)), "either is not in its one form");
  check(ascends(either, ([one = 0], [other = 0]) => one - other), "either is not in its one form");
}

function checkSame({ same, credentials }: Question): void {
  const named = same.flat().map(([credential, name]) => `${credential} ${name}`);
  check(new Set(named).size === named.length, "same is not in its one form");
  check(same.every((group) => group.length >= 2 && ascends(group, byAttribute)), "same is not in its one form");
  check(ascends(same, ([one], [other]) => (one === undefined || other === undefined ? 0 : byAttribute(one, other))), "same is not in its one form");
  for (const group of same) {
    const kinds = group.map(([credential, name]) => credentials[credential]?.header.attributes.get(name));
    const [first] = kinds;
    check(first !== undefined && kinds.every((one) => one?.type === first.type && one.scale === first.scale), "same names an unknown attribute, or those of two types");
  }
}

function checkHolder({ credentials, holder, pseudonym }: Question): void {
  const hasBearer = credentials.some(({ header }) => header.isBearer);
  check(!hasBearer || (holder === "none" && pseudonym === undefined && credentials.length === 1), "a bearer credential stands alone, where no holder is asked for");
  check(pseudonym === undefined || isComposed(pseudonym, MOST_PSEUDONYM), "the context of a pseudonym is not printable");
}

/** Return the normal form of a question. Throws `ProofRefused`: for one that is trivial or publicly contradictory. */
export function normalForm(question: Question): NormalForm {
  const groupOf = new Map(question.either.flatMap((numbers, group) => numbers.map((number) => [number, group] as const)));
  const goals: NormalForm["goals"][number][] = [];
  const alternatives: NormalForm["alternatives"][number][] = [];
  const inequalities: NormalForm["inequalities"][number][] = [];
  let number = 0;
  for (const [part, { header, predicates }] of question.credentials.entries()) {
    const merged: Predicate[] = [];
    for (const predicate of predicates) {
      const group = groupOf.get(number++);
      if (group === undefined) merged.push(predicate);
      else alternatives.push({ group, part, ...alternative(header, predicate) });
    }
    const found = goalsOfPart(header, merged);
    goals.push(...found.goals.map((goal) => ({ ...goal, part })));
    inequalities.push(...found.inequalities.map((one) => ({ ...one, part })));
  }
  const classes = question.same.map((group) => group.map(([part, name]) => slotOfName(question, part, name)));
  const shown = new Set(goals.flatMap((goal) => ("equals" in goal && typeof goal.equals !== "bigint" ? [slotKey(goal)] : [])));
  check(!alternatives.some((one) => shown.has(slotKey(one))), "an alternative is about an attribute that eq discloses");
  check(!classes.flat().some((one) => shown.has(slotKey(one))), "an attribute that eq discloses is in a class of same");
  const notNull = new Set([...goals, ...inequalities].map(slotKey));
  for (const group of classes) {
    const [first] = group;
    if (first !== undefined && !group.some((one) => notNull.has(slotKey(one))))
      inequalities.push({ ...first, message: nullOf(question.credentials[first.part]?.header as BoundHeader, first.slot) });
  }
  alternatives.sort((one, other) => one.group - other.group);
  return { goals, alternatives, inequalities, classes };
}

export const slotKey = ({ part, slot }: Slot): string => `${part} ${slot}`;

function slotOfName({ credentials }: Question, part: number, name: string): Slot {
  const { header } = credentials[part] as AskedCredential;
  const attribute = header.attributes.get(name);
  check(attribute !== undefined, "same names an unknown attribute");
  return { part, slot: slotOf(header, attribute) };
}

function alternative(header: BoundHeader, predicate: Predicate): { slot: number; low: Message; high: Message } {
  check(predicate.type !== NOT_EQUAL, "an alternative is an interval or one value");
  const [goal] = goalsOf(header, [predicate]);
  check(goal !== undefined && !("among" in goal), "an alternative is an interval or one value");
  return "low" in goal ? goal : { slot: goal.slot, low: goal.equals, high: goal.equals };
}

function goalsOfPart(header: BoundHeader, predicates: readonly Predicate[]): { goals: Goal[]; inequalities: { slot: number; message: Message }[] } {
  const goals = new Map(goalsOf(header, predicates.filter(({ type }) => type !== NOT_EQUAL)).map((goal) => [goal.slot, goal]));
  const rows = new Map<number, Message[]>();
  for (const { attribute, operands } of predicates.filter(({ type }) => type === NOT_EQUAL)) {
    const slot = slotOf(header, attribute);
    const [goal, message] = [goals.get(slot), messageOf(operands[0] ?? { type: "string", text: "", number: undefined })];
    if (goal !== undefined && "among" in goal) goals.set(slot, among(slot, goal.among.filter((one) => !isSame(one, message))));
    else {
      check(goal === undefined || !("equals" in goal) || !isSame(goal.equals, message), "no value satisfies the predicates together");
      const isOpen = goal === undefined || ("low" in goal && typeof message === "bigint" && goal.low <= message && message <= goal.high);
      const known = rows.get(slot) ?? [];
      if (isOpen && !known.some((one) => isSame(one, message))) rows.set(slot, [...known, message]);
    }
  }
  // A null is different from every value, but it has none.
  for (const [slot, messages] of rows) if (!goals.has(slot)) messages.push(nullOf(header, slot));
  const inequalities = [...rows].sort(([one], [other]) => one - other).flatMap(([slot, messages]) => messages.sort(byMessage).map((message) => ({ slot, message })));
  return { goals: [...goals.values()].sort((one, other) => one.slot - other.slot), inequalities };
}

const nullOf = (header: BoundHeader, slot: number): Message => (slot < FIRST_SLOT + header.attributes.size ? NULL_OCTETS : NULL_SCALAR);

function byMessage(one: Message, other: Message): number {
  if (typeof one === "bigint" || typeof other === "bigint") return one < other ? -1 : 1;
  const place = one.findIndex((octet, at) => octet !== other[at]);
  return place === -1 ? one.length - other.length : (one[place] ?? 0) - (other[place] ?? -1);
}
