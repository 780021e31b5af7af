// Proofs of the suite identity-bbs-predicates-1: predicates about one credential (PROTOCOL.md).

import { base64url, canonicalize, utf8, type Octets } from "../codec.js";
import { argumentOf, digitsOf, digitsValue, readVector, setArgument, setSize, RADIX, VectorGenerators, vectorSize, type Argument } from "./arguments.js";
import { checkChallenge, firstMessage, MISMATCH, readKey, readProof, scalarOf } from "./bbs.js";
import { checkTime, contextDigest, contextFields, readContext, readEnvelope, type Context } from "./context.js";
import { isPrintable, messageOf, octetsOf, readHeader, type Message, type Schema } from "./credential.js";
import { hashToScalar, modulo, pairingsAgree, sha256 } from "./curve.js";
import { bytes, check, concat, frame, integer, list, number, scalar, string, tuple } from "./frames.js";
import { goalsOf, predicateJson, readPredicates, type Goal, type Predicate } from "./predicate.js";

/** The content of a proof, unverified. */
export interface PlainProof {
  readonly suite: 1;
  readonly method: string;
  readonly schema: Schema;
  readonly predicates: readonly Predicate[];
  readonly context: Context;
  /** Slots and bytes that the proof discloses, as JSON. */
  readonly disclosed: unknown;
  readonly bbsProof: Octets;
  readonly subProofs: readonly Octets[];
}

export const SUITE_1 = "identity-bbs-predicates-1";
const TAG = "IDENTITY-SERVICE-ZKPRED-V1:";
const CHALLENGE_TAG = "IDENTITY-SERVICE-ZKPRED-V1_XMD:SHA-256_H2S_Y_";
export const GENERATORS = new VectorGenerators("IDENTITY-SERVICE-ZKPRED-V1_BLS12381G1_XMD:SHA-256_SSWU_RO_GEN_");
const MEMBERS = ["bbsProof", "context", "disclosed", "header", "predicateProofs", "predicates", "suite", "verificationMethod", "version"];
const [MOST_METHOD, MOST_SUB_PROOFS, MOST_DIGITS] = [1_024, 17, 256];

/** Read the text of a proof. Throws `ProofRefused`; nothing is done on the curve. */
export const readPlainProof = (text: string): PlainProof =>
  readEnvelope(text, MEMBERS, (value) => {
    check(value.suite === SUITE_1 && value.version === 1, "the envelope is of another suite or version");
    const method = string(value.verificationMethod);
    check(isPrintable(method, MOST_METHOD), "the verification method is not printable");
    const schema = readHeader(bytes(value.header));
    const predicates = readPredicates(schema, value.predicates);
    check(predicates.length > 0 && canonicalize(predicates.map(predicateJson)) === canonicalize(value.predicates), "a predicate is not in its canonical form");
    const subProofs = list(value.predicateProofs, MOST_SUB_PROOFS).map(bytes);
    return { suite: 1, method, schema, predicates, context: readContext(value.context), disclosed: readDisclosed(value.disclosed, schema), bbsProof: bytes(value.bbsProof), subProofs };
  });

/** Return the disclosed slots, if they are hashed ones in ascending order. */
function readDisclosed(value: unknown, schema: Schema): unknown {
  let next = 0;
  for (const [slot, octets] of list(value).map((one) => tuple(one, 2))) {
    next = integer(slot, next, schema.attributes.size - 1) + 1;
    bytes(octets);
  }
  return value;
}

/** Return the public signals of a proof. */
export function plainSignals({ method, schema, predicates, context }: PlainProof): string[] {
  const asked = predicates.map(predicateJson).flatMap(({ attributeName, type, value }) => [attributeName, type, canonicalize(value)]);
  return [SUITE_1, method, schema.id, ...asked, contextDigest(context), base64url(sha256(schema.header))];
}

/** Verify a proof under the 96 bytes of the issuer's key, at `now` in seconds. Throws `ProofRefused`. */
export function verifyPlainProof(plain: PlainProof, publicKey: Octets, now: number): void {
  const { schema, context } = plain;
  const goals = goalsOf(schema, plain.predicates);
  const shownSlots = goals.flatMap((goal) => ("equals" in goal && typeof goal.equals !== "bigint" ? [[goal.slot, base64url(goal.equals)]] : []));
  check(canonicalize(shownSlots) === canonicalize(plain.disclosed), "the proof discloses something else than the predicates say");
  checkTime(context, now);
  const [disclosed, equal] = [new Map<number, bigint>(), new Map<number, bigint>()];
  for (const goal of goals) if ("equals" in goal) (typeof goal.equals === "bigint" ? equal : disclosed).set(goal.slot, scalarOf(goal.equals));
  const hidden = Array.from({ length: schema.count }, (_, slot) => slot).filter((slot) => !disclosed.has(slot));
  const ranges = goals.filter((goal) => "low" in goal);
  const sets = goals.flatMap((goal) => ("among" in goal ? [{ slot: goal.slot, scalars: ascending(goal.among) }] : []));
  const plans = ranges.map(({ low, high }) => digitsOf(high - low));
  const digits = plans.flat();
  check(digits.length <= MOST_DIGITS, "the intervals need too many digits");
  const sizes = [...(ranges.length > 0 ? [vectorSize(RADIX, digits.length - ranges.length)] : []), ...sets.map(({ scalars }) => setSize(scalars.length))];
  check(canonicalize(plain.subProofs.map(({ length }) => length)) === canonicalize(sizes), "a sub-proof has the wrong length");

  const key = readKey(publicKey);
  const { proof, challenge: c } = readProof(plain.bbsProof, hidden.length, true);
  const responses = new Map(hidden.map((slot, place) => [slot, proof.messages[place] ?? 0n]));
  // Only the message b with the mask 1 answers two challenges so. Equation (3.2).
  for (const [slot, value] of equal) check(responses.get(slot) === modulo(value * c + 1n), MISMATCH);
  const first = firstMessage(key, schema.header, proof, c, responses, disclosed);

  const subProofs = [...plain.subProofs];
  const made: Argument[] = [];
  if (ranges.length > 0) {
    const vector = readVector(subProofs.shift() ?? new Uint8Array(), RADIX, digits.length - ranges.length);
    const sent = [...vector.responses];
    const all = ranges.flatMap(({ slot, low }, place) => {
      const plan = plans[place] ?? [];
      const part = sent.splice(0, plan.length - 1);
      // The last weight is 1, so that the last response follows from that of the message. Equation (4.5).
      const weighted = part.reduce((total, response, at) => total + (plan[at]?.weight ?? 0n) * response, 0n);
      return [...part, modulo((responses.get(slot) ?? 0n) - low * c - weighted)];
    });
    made.push(argumentOf(GENERATORS, vector, all, c, (y) => digitsValue(digits, all, y, c)));
  }
  for (const [place, { slot, scalars }] of sets.entries())
    made.push(setArgument(GENERATORS, subProofs[place] ?? new Uint8Array(), scalars, responses.get(slot) ?? 0n, c));

  const statement = statementOctets(plain, goals, publicKey);
  const bound = frame(`${TAG}context`, contextFields(context));
  const shown = frame(`${TAG}disclosed`, [...disclosed].map(([slot, value]) => concat(number(slot), scalar(value))));
  const said = [statement, bound, number(hidden.length), number(schema.count), shown, first.octets, scalar(first.domain)];
  const message = frame(`${TAG}first-message`, [...said, ...made.flatMap((one) => one.first)]);
  const y = hashToScalar(message, CHALLENGE_TAG);
  const header = frame(`${TAG}presentation`, [statement, bound, sha256(message), ...made.flatMap((one) => one.second(y))]);
  checkChallenge(first, disclosed, header, c);
  const [aBar, bBar] = proof.points;
  check(pairingsAgree([[aBar, key.point]], bBar), MISMATCH);
}

/** Return the scalars of a set in ascending order. */
export const ascending = (messages: readonly Message[]): bigint[] => messages.map(scalarOf).sort((one, other) => (one < other ? -1 : 1));

/** Return issuer, header, the predicates as asked, and their goals. */
function statementOctets({ method, schema, predicates }: PlainProof, goals: readonly Goal[], publicKey: Octets): Octets {
  const asked = predicates.map(({ attribute, type, operands }) => {
    const [first] = operands;
    const operand = type === "set_member" ? setDigest(TAG, operands.map(messageOf)) : octetsOf(first ?? { type: "string", text: "", number: undefined });
    return frame(`${TAG}predicate`, [utf8(attribute.name), utf8(type), utf8(attribute.type), operand]);
  });
  const issuer = [utf8(SUITE_1), publicKey, utf8(method), schema.header];
  return frame(`${TAG}statement`, [...issuer, number(asked.length), ...asked, ...goals.map((goal) => goalOctets(TAG, goal, number(goal.slot)))]);
}

/** Return the frame of a goal about the slot that `place` names. */
export function goalOctets(tag: string, goal: Goal, place: Octets): Octets {
  if ("low" in goal) return frame(`${tag}in-range`, [place, scalar(goal.low), scalar(goal.high)]);
  if ("among" in goal) return frame(`${tag}member-of`, [place, setDigest(tag, goal.among)]);
  return frame(`${tag}equals`, [place, kindOf(goal.equals), scalar(scalarOf(goal.equals))]);
}

const kindOf = (message: Message): Octets => utf8(typeof message === "bigint" ? "scalar" : "octets");

/** Return the SHA-256 of a set: the kind of its slot, count, and elements in ascending order. */
const setDigest = (tag: string, messages: readonly Message[]): Octets =>
  sha256(frame(`${tag}set`, [kindOf(messages[0] ?? 0n), number(messages.length), concat(...ascending(messages).map(scalar))]));

