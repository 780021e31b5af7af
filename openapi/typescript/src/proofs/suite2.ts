// Proofs of the suite identity-bbs-predicates-2: several credentials of one holder, valid and not revoked (PROTOCOL-2.md).

import { base64url, canonicalize, utf8, verifiesRaw, type Octets } from "../codec.js";
import { argumentOf, digitsOf, digitsValue, readVector, setArgument, setSize, RADIX, VectorGenerators, vectorSize, type Argument, type Digit } from "./arguments.js";
import { basePoint, checkChallenge, firstMessage, messageGenerator, MISMATCH, readKey, readProof, refusing, scalarOf } from "./bbs.js";
import { checkTime, contextDigest, contextFields, readContext, readEnvelope, type Context } from "./context.js";
import { FIRST_SLOT, readBoundHeader, readStatusHeader, STATUS_BITS, type BoundHeader, type StatusEpoch } from "./credential.js";
import { decodePoint, encodePoints, hashToPoint, hashToScalar, modulo, pairingsAgree, POINT_SIZE, readNumber, SCALAR_SIZE, sha256, sum, type Point } from "./curve.js";
import { bytes, check, concat, frame, integer, list, members, number, optional, optionalBytes, readScalars, scalar, tuple } from "./frames.js";
import { MOST_CREDENTIALS, normalForm, readQuestion, slotKey, type NormalForm, type Question, type Slot } from "./question.js";
import { predicateJson } from "./predicate.js";
import { ascending, GENERATORS as PLAIN_GENERATORS, goalOctets } from "./suite1.js";

/** The fields of the request to which the holder consents, as a sum, and the time of the consent in seconds since 1970. */
interface Consent {
  readonly cover: number;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly value: Octets;
}

/** The content of a presentation, unverified. */
export interface Presentation {
  readonly suite: 2;
  readonly question: Question;
  readonly day: number | undefined;
  readonly epochs: readonly StatusEpoch[];
  readonly context: Context;
  readonly agent: { readonly key: Octets; readonly signature: Octets | undefined } | undefined;
  readonly consent: Consent | undefined;
  readonly disclosed: unknown;
  /** The BBS proofs of the credentials, then of the status lists. */
  readonly proofs: readonly Octets[];
  readonly argument: Octets;
  readonly sets: readonly Octets[];
  readonly pseudonym: Octets | undefined;
  /** SHA-256 of the envelope without the agent's signature. */
  readonly digest: Octets;
}

/** What a verifier accepts at `now`, in seconds: the greatest age of an ended status list, and the least cover of a consent. */
export interface Acceptance {
  readonly now: number;
  readonly statusMaxAge: number;
  readonly cover: number;
}

export const SUITE_2 = "identity-bbs-predicates-2";
export const COVER = { audience: 1, challenge: 2, question: 4, agent: 8, capability: 16 } as const;
/** What a consent covers by default: audience, challenge and question. */
export const REQUEST_COVER = 7;
const TAG = "IDENTITY-SERVICE-ZKPRED-V2:";
const TO_SCALAR = "IDENTITY-SERVICE-ZKPRED-V2_XMD:SHA-256_H2S_";
const TO_POINT = "IDENTITY-SERVICE-ZKPRED-V2_BLS12381G1_XMD:SHA-256_SSWU_RO_";
const GENERATORS = new VectorGenerators(`${TO_POINT}GEN_`);
const MEMBERS = ["agent", "argument", "consent", "context", "day", "disclosed", "parts", "pseudonym", "question", "sets", "status", "suite", "version"];
const [HOLDER_SLOT, BLIND_SLOT, FIRST_DAY_SLOT, LAST_DAY_SLOT, HANDLE_SLOT] = [0, 1, 3, 4, FIRST_SLOT - 1];
const [NO_LAST_DAY, LAST_PROOF_DAY, DAY_SECONDS, HOUR_SECONDS] = [65_535, 65_534, 86_400, 3_600];
const [DAY_SKEW, CLOCK_SKEW, LAST_SECOND] = [300, 60, 253_402_300_799];
const [MOST_ELEMENTS, MOST_ROWS, WEIGHT_SIZE] = [384, 32, 16];
const GAP_MESSAGES = 2;

/** Make the generators of arguments with up to `elements` elements, so that the first proof does not wait for them. */
export function prepare(elements: number): void {
  for (const generators of [GENERATORS, PLAIN_GENERATORS]) generators.make(elements);
  messageGenerator(elements >> 2);
}

/** Read the text of a presentation. Throws `ProofRefused`; nothing is done on the curve. */
export const readPresentation = (text: string): Presentation =>
  readEnvelope(text, MEMBERS, (value) => {
    check(value.suite === SUITE_2 && value.version === 2, "the envelope is of another suite or version");
    const [parts, status] = [value.parts, value.status].map((all) => list(all, MOST_CREDENTIALS).map((one) => members(one, ["header", "proof"]))) as [Part[], Part[]];
    const headers = parts.map((part) => readBoundHeader(bytes(part.header)));
    const agent = value.agent === null ? undefined : members(value.agent, ["key", "signature"]);
    const key = agent && bytes(agent.key);
    check(key === undefined || key.length === 32, "an agent's key has 32 bytes");
    const unsigned = canonicalize({ ...value, ...(agent === undefined ? {} : { agent: { key: agent.key, signature: null } }) });
    return {
      suite: 2,
      question: readQuestion(value.question, headers),
      day: value.day === null ? undefined : integer(value.day),
      epochs: status.map((part) => readStatusHeader(bytes(part.header))),
      context: readContext(value.context),
      agent: key && { key, signature: optionalBytes(agent?.signature) },
      consent: value.consent === null ? undefined : readConsent(value.consent),
      disclosed: list(value.disclosed).map((one) => {
        const [part, slot, octets] = tuple(one, 3);
        return [integer(part), integer(slot), base64url(bytes(octets))];
      }),
      proofs: [...parts, ...status].map((part) => bytes(part.proof)),
      argument: bytes(value.argument),
      sets: list(value.sets).map(bytes),
      pseudonym: optionalBytes(value.pseudonym),
      digest: sha256(utf8(unsigned)),
    };
  });

type Part = Record<string, unknown>;

function readConsent(value: unknown): Consent {
  const said = members(value, ["cover", "notAfter", "notBefore", "value"]);
  const cover = integer(said.cover, 0, 31);
  const isBound = (cover & COVER.question) !== 0 && (cover & (COVER.challenge | COVER.agent)) !== 0;
  check(isBound, "the consent covers too little");
  // Finer times would make consents of one time linkable.
  const step = (cover & COVER.challenge) !== 0 ? HOUR_SECONDS : DAY_SECONDS;
  const [notBefore, notAfter] = [integer(said.notBefore, 0, LAST_SECOND), integer(said.notAfter, 0, LAST_SECOND)];
  check(notBefore % step === 0 && notAfter % step === 0 && notBefore < notAfter, "the times of the consent are not whole hours or days");
  return { cover, notBefore, notAfter, value: bytes(said.value) };
}

/** Return the public signals of a presentation. */
export function presentationSignals({ question, context }: Presentation): string[] {
  const asked = question.credentials.flatMap(({ header, predicates }) => [
    ...[header.method, header.id],
    ...predicates.map(predicateJson).flatMap(({ attributeName, type, value }) => [attributeName, type, canonicalize(value)]),
  ]);
  return [SUITE_2, ...asked, contextDigest(context), ...question.credentials.map(({ header }) => base64url(sha256(header.header)))];
}

/** Return the DID URLs of all keys that a presentation needs, each once. */
export const presentationMethods = ({ question, epochs }: Presentation): string[] => [
  ...new Set([...question.credentials.map(({ header }) => header.method), ...epochs.map(({ method }) => method)]),
];

/** Return the 48 bytes of the holder's pseudonym, which stands in a consent behind the points of the credentials. */
export function shownPseudonym({ question, consent, pseudonym }: Presentation): Octets | undefined {
  const start = POINT_SIZE * question.credentials.length;
  const point = consent === undefined ? pseudonym : consent.value.slice(start, start + POINT_SIZE);
  const shown = question.pseudonym === undefined ? undefined : point;
  return shown?.length === POINT_SIZE ? shown : undefined;
}

/** Return whether the epochs of all status lists have begun, and ended at most `maxAge` seconds before `now`. */
export const areEpochsRecent = ({ epochs }: Presentation, now: number, maxAge: number): boolean =>
  epochs.every(({ epoch, period }) => epoch * period - DAY_SKEW <= now && now < (epoch + 1) * period + maxAge);

/** Verify a presentation under the keys of 96 bytes by their methods. Throws `ProofRefused`. */
export async function verifyPresentation(shown: Presentation, keys: ReadonlyMap<string, Octets>, acceptance: Acceptance): Promise<void> {
  const statement = statementOf(shown, keys);
  checkShape(shown, statement);
  checkAcceptance(shown, acceptance);
  await checkAgent(shown);
  refusing(() => checkProofs(shown, statement), "a point is not one of the subgroup");
}

// What a presentation states, in scalars. Nothing of its shape comes from the proof.

/** One signature: a credential, or a gap of a status list. */
interface Signed {
  readonly key: Octets;
  readonly header: Octets;
  readonly count: number;
  readonly disclosed: ReadonlyMap<number, bigint>;
  readonly hidden: readonly number[];
  /** The hidden slots whose responses the part sends. */
  readonly owned: readonly number[];
  readonly encoded: Octets;
}

type Key = string | number;

/** constant + the sum of factor·value; in responses the constant 1 has the value c. A value is a message's, or an element's by its index. */
interface Affine {
  readonly constant: bigint;
  readonly terms: readonly (readonly [factor: bigint, key: Key])[];
}

/** low <= form <= high; of the intervals of one `group` one holds at least. */
interface Interval {
  readonly form: readonly (readonly [sign: bigint, slot: Slot])[];
  readonly low: bigint;
  readonly high: bigint;
  readonly side?: { readonly group: number; readonly place: number };
}

interface Layout {
  readonly digits: readonly Digit[];
  readonly elements: number;
  /** The elements whose responses are sent. */
  readonly sent: readonly number[];
  /** For each interval that must hold the element whose response follows from the others, and from what. */
  readonly derived: readonly (readonly [element: number, gap: Affine])[];
  /** a·b = d. */
  readonly rows: readonly { readonly a: Affine; readonly b: Affine; readonly d: bigint }[];
  readonly size: number;
}

interface Statement {
  readonly parts: readonly Signed[];
  readonly shown: readonly (readonly [part: number, slot: number, octets: Octets])[];
  /** The slot whose response stands for that of each slot of a class. */
  readonly owner: ReadonlyMap<string, string>;
  readonly equal: readonly (readonly [slot: string, value: bigint])[];
  readonly layout: Layout;
  readonly sets: readonly { readonly slot: string; readonly scalars: readonly bigint[] }[];
  readonly encoded: Octets;
}

function statementOf(shown: Presentation, keys: ReadonlyMap<string, Octets>): Statement {
  const { question, day, epochs } = shown;
  const { credentials } = question;
  check((day === undefined) !== question.validity && (day === undefined || (day >= 1 && day <= LAST_PROOF_DAY)), "the day is missing, or was not asked for");
  check(epochs.length === (question.status ? credentials.length : 0), "a status list is missing, or was not asked for");
  epochs.forEach(({ issuer, list: id, period }, place) => {
    const { status, issuer: own } = credentials[place]?.header as BoundHeader;
    check(issuer === own && id === status?.list && period === status.period, "a status list is missing, or was not asked for");
  });
  const form = normalForm(question);
  const equals = form.goals.flatMap((goal) => ("equals" in goal ? [goal] : []));
  const disclosed = equals.flatMap(({ part, slot, equals: message }) => (typeof message === "bigint" ? [] : [[part, slot, message] as const]));
  const owner = ownersOf(question, form);
  const parts = partsOf(shown, keys, disclosed, owner);
  const intervals = intervalsOf(shown, form);
  const layout = layoutOf(intervals, form);
  return {
    parts,
    shown: disclosed,
    owner,
    equal: equals.flatMap((goal) => (typeof goal.equals === "bigint" ? [[slotKey(goal), goal.equals] as const] : [])),
    layout,
    sets: form.goals.flatMap((goal) => ("among" in goal ? [{ slot: slotKey(goal), scalars: ascending(goal.among) }] : [])),
    encoded: statementOctets(shown, form, parts, intervals),
  };
}

function partsOf({ question, epochs }: Presentation, keys: ReadonlyMap<string, Octets>, shown: Statement["shown"], owner: ReadonlyMap<string, string>): Signed[] {
  const isConsented = question.holder === "consent";
  const part = (kind: string, method: string, header: Octets, count: number, disclosed: Map<number, bigint>, place: number): Signed => {
    const key = keys.get(method);
    check(key !== undefined, "a key is unknown");
    const base = kind === "credential" && isConsented ? "consented" : "plain";
    const hidden = Array.from({ length: count }, (_, slot) => slot).filter((slot) => !disclosed.has(slot));
    const isOwn = (slot: number): boolean => (owner.get(slotKey({ part: place, slot })) ?? slotKey({ part: place, slot })) === slotKey({ part: place, slot });
    // The lead sends all of its responses, as the draft has them.
    const owned = place === 0 ? hidden : hidden.filter(isOwn);
    const encoded = frame(`${TAG}part`, [utf8(kind), key, utf8(method), sha256(header), utf8(base)]);
    return { key, header, count, disclosed, hidden, owned, encoded };
  };
  const own = question.credentials.map(({ header }, place) => {
    // Slot 0 discloses a constant where the holder consents; it is taken out of the base point again.
    const constant: [number, bigint][] = isConsented ? [[HOLDER_SLOT, 1n]] : [];
    const disclosed = shown.filter(([which]) => which === place).map(([, slot, octets]): [number, bigint] => [slot, scalarOf(octets)]);
    return part("credential", header.method, header.header, header.count, new Map([...constant, ...disclosed]), place);
  });
  return [...own, ...epochs.map((epoch, place) => part("status", epoch.method, epoch.header, GAP_MESSAGES, new Map(), own.length + place))];
}

function ownersOf({ credentials, holder }: Question, form: NormalForm): Map<string, string> {
  // One holder: in a consented proof the consent says it.
  const holders = credentials.length > 1 && holder !== "consent" ? [credentials.map((_, part) => ({ part, slot: HOLDER_SLOT }))] : [];
  return new Map([...form.classes, ...holders].flatMap((group) => {
    const [first] = [...group].sort((one, other) => one.part - other.part || one.slot - other.slot);
    return group.map((slot) => [slotKey(slot), slotKey(first as Slot)] as const);
  }));
}

/** Return the intervals of validity and status of each credential, those of attributes, and the alternatives by group. */
function intervalsOf({ question, day, epochs }: Presentation, form: NormalForm): Interval[] {
  const count = question.credentials.length;
  const intervals: Interval[] = [];
  for (let part = 0; day !== undefined && part < count; part++) {
    intervals.push({ form: [[1n, { part, slot: FIRST_DAY_SLOT }]], low: 0n, high: BigInt(day) });
    intervals.push({ form: [[1n, { part, slot: LAST_DAY_SLOT }]], low: BigInt(day), high: BigInt(NO_LAST_DAY) });
  }
  for (let part = 0; part < epochs.length; part++) {
    const [handle, low, high] = [{ part, slot: HANDLE_SLOT }, { part: count + part, slot: 0 }, { part: count + part, slot: 1 }];
    intervals.push({ form: [[1n, handle], [-1n, low]], low: 1n, high: 1n << BigInt(STATUS_BITS) });
    intervals.push({ form: [[1n, high], [-1n, handle]], low: 1n, high: 1n << BigInt(STATUS_BITS) });
  }
  for (const goal of form.goals) if ("low" in goal) intervals.push({ form: [[1n, { part: goal.part, slot: goal.slot }]], low: goal.low, high: goal.high });
  const places = new Map<number, number>();
  for (const { group, part, slot, low, high } of form.alternatives) {
    const place = places.get(group) ?? 0;
    places.set(group, place + 1);
    intervals.push({ form: [[1n, { part, slot }]], low: scalarOf(low), high: scalarOf(high), side: { group, place } });
  }
  return intervals;
}

/** Return where everything stands in the committed vector: digits of all intervals, selectors by group, a free scalar for each inequality. */
function layoutOf(intervals: readonly Interval[], { inequalities }: NormalForm): Layout {
  const digits: Digit[] = [];
  const sent: number[] = [];
  const derived: [number, Affine][] = [];
  const sides: { side: { group: number; place: number }; gap: Affine }[] = [];
  for (const { form, low, high, side } of intervals) {
    const [first, own] = [digits.length, high > low ? digitsOf(high - low) : []];
    digits.push(...own);
    const weighted = own.map(({ weight }, place): [bigint, Key] => [-weight, first + place]);
    const gap = { constant: -low, terms: [...form.map(([sign, slot]): [bigint, Key] => [sign, slotKey(slot)]), ...weighted] };
    const elements = own.map((_, place) => first + place);
    if (side === undefined) derived.push([elements.pop() ?? 0, gap]);
    else sides.push({ side, gap });
    sent.push(...elements);
  }
  const firstSelector = digits.length;
  const selectors = new Map(sides.filter(({ side }) => side.place > 0).map(({ side }, place) => [side, firstSelector + place]));
  digits.push(...[...selectors].map(() => ({ weight: 1n, radix: 2 })));
  const elements = digits.length + inequalities.length;
  for (let element = firstSelector; element < elements; element++) sent.push(element);
  // A product that is zero unless its alternative must hold: of the first one it is 1 - the sum of the other selectors.
  const chosen = (side: { group: number; place: number }): Affine => {
    if (side.place > 0) return { constant: 0n, terms: [[1n, selectors.get(side) ?? 0]] };
    return { constant: 1n, terms: [...selectors].filter(([other]) => other.group === side.group).map(([, element]) => [-1n, element]) };
  };
  const rows = [
    ...sides.map(({ side, gap }) => ({ a: chosen(side), b: gap, d: 0n })),
    ...inequalities.map((one, place) => ({
      a: { constant: -scalarOf(one.message), terms: [[1n, slotKey(one)] as const] },
      b: { constant: 0n, terms: [[1n, digits.length + place] as const] },
      d: 1n,
    })),
  ];
  check(elements <= MOST_ELEMENTS && rows.length <= MOST_ROWS, "the question needs too many elements or rows");
  return { digits, elements, sent, derived, rows, size: elements > 0 || rows.length > 0 ? vectorSize(RADIX, sent.length) : 0 };
}

function statementOctets({ question, day }: Presentation, form: NormalForm, parts: readonly Signed[], intervals: readonly Interval[]): Octets {
  const place = ({ part, slot }: Slot): Octets => concat(number(part), number(slot));
  const goals = intervals.map(({ form: terms, low, high, side }) => {
    const sum = frame(`${TAG}form`, terms.map(([sign, slot]) => concat(utf8(sign > 0n ? "+" : "-"), place(slot))));
    return frame(`${TAG}in-range`, [sum, scalar(low), scalar(high), optional(side && concat(number(side.group), number(side.place)))]);
  });
  for (const goal of form.goals) if (!("low" in goal)) goals.push(goalOctets(TAG, goal, place(goal)));
  const rows = form.inequalities.map((one) => frame(`${TAG}not-equal`, [place(one), scalar(scalarOf(one.message))]));
  const classes = form.classes.map((group) => frame(`${TAG}class`, group.map(place)));
  const lists = [parts.map(({ encoded }) => encoded), goals, rows, classes];
  const digest = sha256(utf8(canonicalize(question.json)));
  return frame(`${TAG}statement`, [utf8(SUITE_2), digest, optional(day === undefined ? undefined : number(day)), ...lists.flatMap((fields) => [number(fields.length), ...fields])]);
}

// Checks before anything is done on the curve.

function checkShape(shown: Presentation, { parts, shown: disclosed, layout, sets }: Statement): void {
  const { question, consent } = shown;
  const said = disclosed.map(([part, slot, octets]) => [part, slot, base64url(octets)]);
  check(canonicalize(said) === canonicalize(shown.disclosed), "the proof discloses something else than the predicates say");
  const isPlain = question.pseudonym !== undefined && question.holder !== "consent";
  check((shown.pseudonym !== undefined) === isPlain && (consent !== undefined) === (question.holder === "consent"), "a pseudonym or a consent is missing, or was not asked for");
  const lengths = [...parts.map(({ owned }, place) => 3 * POINT_SIZE + SCALAR_SIZE * (3 + owned.length + (place === 0 ? 1 : 0))), layout.size, ...sets.map(({ scalars }) => setSize(scalars.length))];
  const found = [...shown.proofs, shown.argument, ...shown.sets].map(({ length }) => length);
  check(shown.sets.length === sets.length && canonicalize(found) === canonicalize(lengths), "a sub-proof has the wrong length");
}

function checkAcceptance(shown: Presentation, { now, statusMaxAge, cover }: Acceptance): void {
  const { context, day, consent } = shown;
  checkTime(context, now);
  check(day === undefined || context.expiresAt <= (day + 1) * DAY_SECONDS + DAY_SKEW, "the proof is about another day");
  const days = [now - DAY_SKEW, now + DAY_SKEW].map((time) => Math.floor(time / DAY_SECONDS));
  check(day === undefined || days.includes(day), "the proof is about another day");
  check(areEpochsRecent(shown, now, statusMaxAge), "the status list is of another time");
  if (consent === undefined) return;
  check(consent.notBefore <= now + CLOCK_SKEW && now < consent.notAfter, "the consent is of another time");
  check((cover & consent.cover) === cover, "the consent covers too little");
}

/** Check that the agent of the context hands over the proof. */
async function checkAgent({ agent, context, digest }: Presentation): Promise<void> {
  if (agent === undefined) return;
  const message = frame(`${TAG}agent`, [utf8(context.audience), context.nonce, digest]);
  const isSigned = agent.signature?.length === 64 && (await verifiesAgent(agent.key, message, agent.signature));
  check(isSigned, "the agent's signature is missing, or not one of this proof");
}

async function verifiesAgent(key: Octets, message: Octets, signature: Octets): Promise<boolean> {
  try {
    return await verifiesRaw(key, message, signature);
  } catch (error) {
    // A key that is not a point, or of small order; a runtime without Ed25519 is another fault.
    if (error instanceof Error && error.name === "NotSupportedError") throw error;
    return false;
  }
}

// Checks on the curve; the pairings last.

function checkProofs(shown: Presentation, statement: Statement): void {
  const { parts } = statement;
  const context = frame(`${TAG}context`, [...contextFields(shown.context), optional(shown.agent?.key)]);
  const bases = consentedBases(shown);
  const read = parts.map(({ owned }, place) => readProof(shown.proofs[place] as Octets, owned.length, place === 0));
  const c = read[0]?.challenge ?? 0n;
  const responses = responsesOf(statement, read.map(({ proof }) => proof.messages), c);
  const keys = parts.map(({ key }) => readKey(key));
  const firsts = parts.map((part, place) => {
    const own = new Map(part.hidden.map((slot) => [slot, responses.get(slotKey({ part: place, slot })) ?? 0n]));
    return firstMessage(keys[place] as ReturnType<typeof readKey>, part.header, (read[place] as (typeof read)[number]).proof, c, own, part.disclosed, bases[place]);
  });
  const made = [
    ...(statement.layout.size > 0 ? [vectorArgument(shown.argument, statement.layout, responses, c)] : []),
    ...statement.sets.map(({ slot, scalars }, place) => setArgument(GENERATORS, shown.sets[place] as Octets, scalars, responses.get(slot) ?? 0n, c)),
  ];
  const pseudonym = plainPseudonym(shown, responses, c);
  const frames = parts.map((part, place) => {
    const { octets, domain } = firsts[place] as (typeof firsts)[number];
    const disclosed = frame(`${TAG}disclosed`, bySlot(part.disclosed).map(([slot, value]) => concat(number(slot), scalar(value))));
    return frame(`${TAG}init`, [number(place), number(part.hidden.length), number(part.count), disclosed, octets, scalar(domain)]);
  });
  const message = frame(`${TAG}first`, [
    ...[statement.encoded, context, optional(shown.consent?.value), number(frames.length), ...frames],
    optional(pseudonym && frame(`${TAG}shown-pseudonym`, pseudonym)),
    ...made.flatMap((one) => one.first),
  ]);
  const y = hashToScalar(message, `${TO_SCALAR}Y_`);
  const header = frame(`${TAG}presentation`, [statement.encoded, context, sha256(message), ...made.flatMap((one) => one.second(y))]);
  checkChallenge(firsts[0] as (typeof firsts)[number], parts[0]?.disclosed ?? new Map(), header, c);
  checkPairings(shown, header, read.map(({ proof }) => proof.points), keys);
}

const bySlot = (disclosed: ReadonlyMap<number, bigint>): [number, bigint][] => [...disclosed].sort(([one], [other]) => one - other);

/** Return the response of every hidden slot: of each class one, in the first slot of it. */
function responsesOf({ parts, owner, equal }: Statement, sent: readonly (readonly bigint[])[], c: bigint): Map<string, bigint> {
  const responses = new Map<string, bigint>();
  parts.forEach(({ owned }, part) => owned.forEach((slot, place) => responses.set(slotKey({ part, slot }), sent[part]?.[place] ?? 0n)));
  for (const [slot, first] of owner) {
    const own = responses.get(slot) ?? responses.get(first);
    check(own !== undefined && own === responses.get(first), MISMATCH);
    responses.set(slot, own);
  }
  for (const [slot, value] of equal) check(responses.get(slot) === modulo(value * c + 1n), MISMATCH);
  return responses;
}

/** Return the argument of all intervals and rows. Equations (6.4) to (6.6). */
function vectorArgument(octets: Octets, layout: Layout, messages: ReadonlyMap<string, bigint>, c: bigint): Argument {
  const vector = readVector(octets, RADIX, layout.sent.length);
  const values = new Map<Key, bigint>(messages);
  layout.sent.forEach((element, place) => values.set(element, vector.responses[place] ?? 0n));
  const evaluate = ({ constant, terms }: Affine, except?: Key): bigint =>
    modulo(terms.reduce((total, [factor, key]) => (key === except ? total : total + factor * (values.get(key) ?? 0n)), constant * c));
  // What is left of the form once the other digits are taken away; the last weight is 1.
  for (const [element, gap] of layout.derived) values.set(element, evaluate(gap, element));
  const all = Array.from({ length: layout.elements }, (_, element) => values.get(element) ?? 0n);
  return argumentOf(GENERATORS, vector, all, c, (y) => {
    let total = digitsValue(layout.digits, all, y, c);
    let power = 1n;
    for (let element = 0; element < layout.elements; element++) power = modulo(power * y);
    const square = modulo(c * c);
    for (const { a, b, d } of layout.rows) {
      power = modulo(power * y);
      total += power * modulo(square * modulo(evaluate(a) * evaluate(b) - d * square));
    }
    return modulo(total);
  });
}

/** Return P1 + K' - H_0 for each credential of which the holder consents. Equation (5.6). */
function consentedBases(shown: Presentation): Point[] {
  const { question, context, agent, consent } = shown;
  if (consent === undefined) return [];
  const fields = [utf8(context.audience), context.nonce, sha256(utf8(canonicalize(question.json))), agent?.key, context.capability];
  const covered = fields.map((field, place) => ((consent.cover & (1 << place)) === 0 ? new Uint8Array() : field));
  const said = covered.map((field) => {
    check(field !== undefined, "the consent covers a field that the context does not have");
    return field;
  });
  const terms = [utf8(SUITE_2), number(consent.cover), ...said, number(consent.notBefore), number(consent.notAfter)];
  const points = checkConsent(consent.value, question, frame(`${TAG}consent-message`, terms));
  return points.map((point) => sum([[basePoint(), 1n], [point, 1n], [messageGenerator(HOLDER_SLOT), -1n]]));
}

/** Check that one holder agrees to `message`, and return K' of each credential. Equations (5.1) to (5.3). */
function checkConsent(octets: Octets, question: Question, message: Octets): Point[] {
  const count = question.credentials.length;
  const base = question.pseudonym === undefined ? undefined : pseudonymBase(question.pseudonym);
  const shownCount = count + (base === undefined ? 0 : 1);
  const end = POINT_SIZE * shownCount;
  check(octets.length === end + SCALAR_SIZE * (count + 2), "the consent has another length");
  const [z0 = 0n, ...others] = readScalars(octets.subarray(end), 0n, "a scalar is out of range");
  const c = others.pop() ?? 0n;
  const encoded = Array.from({ length: shownCount }, (_, place) => octets.slice(POINT_SIZE * place, POINT_SIZE * (place + 1)));
  const points = encoded.map(decodePoint);
  const masked = others.map((z, place) => sum([[messageGenerator(HOLDER_SLOT), z0], [messageGenerator(BLIND_SLOT), z], [points[place] as Point, -c]]));
  if (base !== undefined) masked.push(sum([[base, z0], [points[count] as Point, -c]]));
  check(!masked.some((point) => point.is0()), MISMATCH);
  const again = encodePoints(masked);
  const fields = [number(count), ...encoded.slice(0, count), optional(encoded[count]), ...again.slice(0, count), optional(again[count]), message];
  check(hashToScalar(frame(`${TAG}consent`, fields), `${TO_SCALAR}CONSENT_`) === c, MISMATCH);
  return points.slice(0, count);
}

const pseudonymBase = (context: string): Point => hashToPoint(frame(`${TAG}pseudonym`, [utf8(context)]), `${TO_POINT}NYM_`);

/** Return P as received and U = s^·OP - c·P of a proof without a consent. Equation (5.5). */
function plainPseudonym({ question, pseudonym }: Presentation, responses: ReadonlyMap<string, bigint>, c: bigint): Octets[] | undefined {
  if (question.pseudonym === undefined || pseudonym === undefined) return undefined;
  const masked = sum([[pseudonymBase(question.pseudonym), responses.get(slotKey({ part: 0, slot: HOLDER_SLOT })) ?? 0n], [decodePoint(pseudonym), -c]]);
  check(!masked.is0(), MISMATCH);
  return [pseudonym, ...encodePoints([masked])];
}

/** Check the pairings of all parts as one product, with weights hashed from all that was received. Equation (7.4). */
function checkPairings(shown: Presentation, header: Octets, points: readonly (readonly [Point, Point, Point])[], keys: readonly ReturnType<typeof readKey>[]): void {
  const received = [...shown.proofs, shown.argument, ...shown.sets, optional(shown.pseudonym), optional(shown.consent?.value)];
  const seed = sha256(frame(`${TAG}weights`, [header, ...received]));
  const weights = points.map((_, place) => (place === 0 ? 1n : readNumber(sha256(concat(seed, number(place))).subarray(0, WEIGHT_SIZE))));
  // Proofs under one key share a pairing.
  const byKey = new Map<string, number[]>();
  keys.forEach(({ octets }, place) => byKey.set(base64url(octets), [...(byKey.get(base64url(octets)) ?? []), place]));
  const weighted = (which: 0 | 1, places: readonly number[]): Point => sum(places.map((place) => [(points[place] as (typeof points)[number])[which], weights[place] ?? 0n]));
  const pairs = [...byKey.values()].map((places) => [weighted(0, places), (keys[places[0] ?? 0] as (typeof keys)[number]).point] as const);
  check(pairingsAgree(pairs, weighted(1, points.map((_, place) => place))), MISMATCH);
}

