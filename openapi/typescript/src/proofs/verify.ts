// Verification of a proof without a service: the checks and the verdict of `verifyProof`, made here.

import { base64url, base64urlDecode, canonicalize, isPublicKey, multikey, utf8, type Octets } from "../codec.js";
import type { Context } from "./context.js";
import { isPrintable, plainHeader, readHeader, type BoundHeader, type Schema, type StatusEpoch } from "./credential.js";
import { isEqual, sha256 } from "./curve.js";
import type { components } from "../document.js";
import { BOUND, boundExpectation, missingOf, type Expectation } from "../expectation.js";
import { list, ProofRefused, string } from "./frames.js";
import { assertionKey, hasManyKeys } from "./issuer_key.js";
import { verifyLog } from "../log.js";
import { predicateJson, predicateText, readPredicates, type Predicate } from "./predicate.js";
import { plainSignals, readPlainProof, verifyPlainProof, type PlainProof } from "./suite1.js";
import { areEpochsRecent, prepare as makeGenerators, presentationMethods, presentationSignals, readPresentation, REQUEST_COVER } from "./suite2.js";
import { shownPseudonym, verifyPresentation, type Presentation } from "./suite2.js";


/** Make the generators of proofs with up to `elements` elements, so that the first verification does not wait for them. */
export const prepare: (elements: number) => void = makeGenerators;

type Schemas = components["schemas"];
export type Verdict = Schemas["ProofVerdict"];
/** The checks with their outcomes, and the verdict: rely on `verdict === "valid"`. */
export type Verification = Omit<Schemas["VerificationResult"], "anchor">;
type Check = Schemas["ProofCheck"];
type Code = NonNullable<Check["code"]>;

export interface VerifyOptions {
  readonly expect: Expectation;
  /** The texts of `getDidLog` of the issuers, from anywhere: each is verified. Throws `LogInvalid` for an invalid one. */
  readonly logs?: readonly string[];
  /** DID documents of issuers that the verifier has resolved and trusts. */
  readonly documents?: readonly object[];
  /** The answers of `getCredentialSchema`, with which the header of a credential is compared. */
  readonly schemas?: readonly Pick<Schemas["CredentialSchema"], "id" | "attributes" | "header">[];
  readonly now?: Date;
}

type Presented = PlainProof | Presentation;

const NEVER_PROVEN = ["holder", "credentialValidity", "credentialStatus", "revocation"];
const EXPECTED = new Set([
  ...["predicate", "predicates", "challenge", "domain", "issuerDid", "schemaId", "maxAge", "statusMaxAge", "requires", "agentKey"],
  ...["consentCover", "credentials", "same", "either", "pseudonym"],
]);
const [CLOCK_SKEW, STATUS_MAX_AGE, MOST_SHOWN, LOG_SKEW_MS] = [60, 3_600, 120, 300_000];
const DID = /^did:[a-z0-9]+:(?:[A-Za-z0-9._:-]|%[0-9A-Fa-f]{2})+$/;

/**
 * Verify a proof: a `ZKProof`, an answer or record that holds one, or its bare text. No service is called. The result has the members
 * of an answer of `verifyProof`; without a log or document of the issuer, `issuerKey` is a check that could not be made.
 *
 * Throws `TypeError` for an expectation that no proof can meet, or that leaves out predicates, challenge, domain or issuer without
 * `allowUnbound`; and `LogInvalid`. An invalid proof is a result.
 */
export async function verify(proof: unknown, options: VerifyOptions): Promise<Verification> {
  const { now = new Date() } = options;
  const expect = boundExpectation(options.expect);
  checkExpectation(expect);
  const issuers = await issuersOf(options, now);
  const seconds = now.getTime() / 1_000;
  const received = readReceived(proof);
  const presented = received && readPresented(received.proof);
  if (presented === undefined || !takes(expect, presented)) return result([wrong("form", "PROOF_INVALID")], undefined, uncheckedOf(expect));
  const checks = [right("form"), ...comparisons(expect, presented, seconds), timeCheck(presented, seconds)];
  const unchecked = [...uncheckedOf(expect), ...(expect.agentKey === undefined && agentKeyOf(presented) ? ["agentKey"] : [])];
  const isRegistered = matchesSchemas(presented, options.schemas ?? []);
  if (isRegistered === undefined) unchecked.push("schemaHeader");
  else checks.push(isRegistered ? right("schemaHeader") : wrong("schemaHeader", "SCHEMA_MISMATCH"));
  const keys = new Map<string, Octets>();
  const methods = presented.suite === 1 ? [presented.method] : presentationMethods(presented);
  const found = methods.map((method) => findKey(method, issuers, now, keys));
  checks.push(...found.filter((one, place) => place === 0 || one.ok !== true));
  if (keys.size === methods.length) checks.push(...(await proofChecks(received as Received, presented, keys, expect, seconds)));
  const issuer = issuers.get(controllerOf(methods[0] ?? "") ?? "");
  const hasMany = found[0]?.ok === true && issuer !== undefined && hasManyKeys(issuer.document, now);
  return result(checks, presented, unchecked, hasMany ? ["ISSUER_HAS_MANY_KEYS"] : []);
}

// What the verifier expects.

function checkExpectation(expect: Expectation): void {
  const has = (name: string): boolean => expect[name as keyof Expectation] !== undefined;
  for (const name of Object.keys(expect)) if (!EXPECTED.has(name)) throw new TypeError(`expect has no member ${name}; its members are ${[...EXPECTED].join(", ")}`);
  if (has("predicate") && has("predicates")) throw new TypeError("expect predicate or predicates, not both");
  if (has("credentials")) {
    for (const name of ["predicate", "predicates", "issuerDid", "schemaId"])
      if (has(name)) throw new TypeError(`leave ${name} out: credentials has it`);
  } else for (const name of ["same", "either", "pseudonym"]) if (has(name)) throw new TypeError(`${name} stands beside credentials`);
  const { challenge, agentKey, requires = [], maxAge = 0, statusMaxAge = 0, consentCover = 0 } = expect;
  const size = challenge === undefined ? 16 : utf8(challenge).length;
  if (size < 16 || size > 256) throw new TypeError("a challenge has 16 to 256 bytes of UTF-8");
  if (agentKey !== undefined && !isPublicKey(agentKey)) throw new TypeError("agentKey is an Ed25519 multikey");
  if (![maxAge, statusMaxAge].every((one) => Number.isSafeInteger(one) && one >= 0)) throw new TypeError("maxAge and statusMaxAge are whole seconds");
  if (!Number.isSafeInteger(consentCover) || consentCover < 0 || consentCover > 31) throw new TypeError("consentCover is a sum from 0 to 31");
  if (!requires.every((name) => NEVER_PROVEN.slice(0, 3).includes(name))) throw new TypeError("requires names holder, credentialValidity or credentialStatus");
}

const predicatesOf = ({ predicate, predicates }: Expectation): readonly unknown[] | undefined =>
  predicate !== undefined ? [predicate] : predicates !== undefined && predicates.length > 0 ? predicates : undefined;

function uncheckedOf(expect: Expectation): string[] {
  const { credentials, schemaId = credentials, maxAge, requires = [] } = expect;
  const unasked = Object.entries({ schemaId, maxAge }).flatMap(([name, value]) => (value === undefined ? [name] : []));
  return [...missingOf(expect), ...unasked, ...NEVER_PROVEN.filter((name) => !requires.includes(name as never))];
}

// What came.

interface Received {
  readonly proof: string;
  readonly publicSignals: readonly string[] | undefined;
  readonly predicateType: string | undefined;
  readonly proofId: string | undefined;
}

/** Read a proof with the members around its text, which are optional; undefined for another shape. */
function readReceived(value: unknown): Received | undefined {
  try {
    if (typeof value === "string") return { proof: value, publicSignals: undefined, predicateType: undefined, proofId: undefined };
    const outer = own(value);
    const said = typeof outer.proof === "object" && outer.proof !== null && !Array.isArray(outer.proof) ? own(outer.proof) : outer;
    const text = (name: string): string | undefined => (said[name] === undefined || said[name] === null ? undefined : string(said[name]));
    const signals = said.publicSignals === undefined || said.publicSignals === null ? undefined : list(said.publicSignals).map(string);
    return { proof: string(said.proof), publicSignals: signals, predicateType: text("predicateType"), proofId: text("proofId") };
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Return the object's own members, so that nothing is read from a prototype. */
function own(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new TypeError("not a proof");
  return Object.assign(Object.create(null) as Record<string, unknown>, value);
}

/** Return the content of a proof of any suite, unverified; undefined for a malformed one. */
function readPresented(text: string): Presented | undefined {
  for (const read of [readPlainProof, readPresentation]) {
    try {
      return read(text);
    } catch (error) {
      if (!(error instanceof ProofRefused)) throw error;
    }
  }
  return undefined;
}

/** Return whether all predicates are of one credential and all hold, so that a list of them describes the proof. */
const isOfOne = ({ question }: Presentation): boolean =>
  question.credentials.length === 1 && question.either.length === 0 && question.same.length === 0 && question.pseudonym === undefined;

const takes = ({ credentials }: Expectation, presented: Presented): boolean => credentials !== undefined || presented.suite === 1 || isOfOne(presented);
const schemaOf = (presented: Presented): Schema => (presented.suite === 1 ? presented.schema : headersOf(presented)[0] as BoundHeader);
const headersOf = ({ question }: Presentation): BoundHeader[] => question.credentials.map(({ header }) => header);
const agentKeyOf = (presented: Presented): Octets | undefined => (presented.suite === 1 ? undefined : presented.agent?.key);

function shownPredicates(presented: Presented): readonly Predicate[] {
  if (presented.suite === 1) return presented.predicates;
  return isOfOne(presented) ? (presented.question.credentials[0]?.predicates ?? []) : [];
}

const issuerOf = (presented: Presented): string | undefined =>
  controllerOf(presented.suite === 1 ? presented.method : (headersOf(presented)[0]?.method ?? ""));

/** Return the DID of a verification method, or undefined if that is not a DID URL. */
function controllerOf(method: string): string | undefined {
  const place = method.indexOf("#");
  const did = method.slice(0, place);
  return place > 0 && place < method.length - 1 && did.length <= 512 && DID.test(did) && !did.endsWith(":") ? did : undefined;
}

function provenBy(presented: Presented): string[] {
  if (presented.suite === 1) return [];
  const { holder, validity, status } = presented.question;
  return [...(holder !== "none" ? ["holder"] : []), ...(validity ? ["credentialValidity"] : []), ...(status ? ["credentialStatus"] : [])];
}

// The comparisons of the proof with the expectation.

const right = (name: string): Check => ({ check: name, ok: true, code: null, expected: null, found: null });
const undecided = (name: string, code: Code): Check => ({ check: name, ok: null, code, expected: null, found: null });

function wrong(name: string, code: Code, expected?: unknown, found?: unknown): Check {
  return { check: name, ok: false, code, expected: shownText(expected), found: shownText(found) };
}

/** Return a short text of a compared part; of predicates only attributes and types. */
function shownText(part: unknown): string | null {
  const text = part instanceof Uint8Array ? challengeText(part) : Array.isArray(part) ? part.map((one: Asked) => `${one.attributeName} ${one.type}`).join(", ") : part;
  if (typeof text !== "string") return null;
  return [...text].slice(0, MOST_SHOWN).map((character) => (isPrintable(character, 1) ? character : "?")).join("");
}

type Asked = ReturnType<typeof predicateJson>;

function challengeText(octets: Uint8Array): string {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(octets);
  return isEqual(utf8(text), octets as Octets) ? text : base64url(octets);
}

function comparisons(expect: Expectation, presented: Presented, now: number): Check[] {
  const { challenge, domain, issuerDid, schemaId, agentKey, requires = [], consentCover, maxAge, statusMaxAge } = expect;
  const { checks, isReadable } = predicateChecks(expect, presented);
  const compare = (name: string, code: Code, expected: unknown, found: unknown, isSame = expected === found): void => {
    if (expected !== undefined) checks.push(isSame ? right(name) : wrong(name, code, expected, found));
  };
  const nonce = challenge === undefined ? undefined : utf8(challenge);
  compare("challenge", "CHALLENGE_MISMATCH", nonce, presented.context.nonce, nonce && isEqual(nonce, presented.context.nonce));
  compare("domain", "DOMAIN_MISMATCH", domain, presented.context.audience);
  if (expect.credentials === undefined) {
    compare("issuer", "ISSUER_MISMATCH", issuerDid, issuerOf(presented));
    compare("schema", "SCHEMA_MISMATCH", schemaId, schemaOf(presented).id);
  } else if (isReadable) {
    const headers = presented.suite === 1 ? [] : headersOf(presented);
    const isOf = (one: readonly string[], other: readonly string[]): boolean => canonicalize(one) === canonicalize(other);
    const [issuers, ids] = [expect.credentials.map((one) => one.issuerDid), expect.credentials.map((one) => one.schemaId)];
    checks.push(isOf(issuers, headers.map(({ issuer }) => issuer)) ? right("issuer") : wrong("issuer", "ISSUER_MISMATCH"));
    checks.push(isOf(ids, headers.map(({ id }) => id)) ? right("schema") : wrong("schema", "SCHEMA_MISMATCH"));
  }
  const [key, found] = [agentKey === undefined ? undefined : multikey(agentKey, [0xed, 0x01]), agentKeyOf(presented)];
  compare("agentKey", "AGENT_MISMATCH", key, found, key && found && isEqual(key, found));
  const proven = provenBy(presented);
  for (const name of NEVER_PROVEN) if (requires.includes(name as never)) checks.push(proven.includes(name) ? right(name) : wrong(name, "NOT_PROVEN"));
  if (consentCover !== undefined) {
    const cover = presented.suite === 1 ? undefined : presented.consent?.cover;
    checks.push(cover !== undefined && (cover & consentCover) === consentCover ? right("consentCover") : wrong("consentCover", "NOT_PROVEN"));
  }
  if (maxAge !== undefined) checks.push(now - presented.context.issuedAt > maxAge ? wrong("age", "PROOF_TOO_OLD") : right("age"));
  if (statusMaxAge !== undefined) checks.push(statusAgeCheck(presented, now, statusMaxAge));
  return checks;
}

function statusAgeCheck(presented: Presented, now: number, maxAge: number): Check {
  if (presented.suite === 1 || !presented.question.status || presented.epochs.length === 0) return wrong("statusAge", "NOT_PROVEN");
  return areEpochsRecent(presented, now, maxAge) ? right("statusAge") : wrong("statusAge", "STATUS_TOO_OLD");
}

/** Compare the predicates, in the canonical form of the proof's schema: 1.5 at scale 2 is 1.50. */
function predicateChecks(expect: Expectation, presented: Presented): { checks: Check[]; isReadable: boolean } {
  const asked = predicatesOf(expect);
  if (expect.credentials === undefined && asked === undefined) return { checks: [], isReadable: true };
  const outcome = (isSame: boolean, ...parts: unknown[]): Check => (isSame ? right("predicate") : wrong("predicate", "PREDICATE_MISMATCH", ...parts));
  try {
    if (expect.credentials !== undefined) return { checks: [outcome(isQuestion(expect, presented))], isReadable: true };
    const [expected, found] = [readPredicates(schemaOf(presented), asked, ["neq"]), shownPredicates(presented)];
    const isSame = canonicalize(expected.map(predicateText)) === canonicalize(found.map(predicateText));
    return { checks: [outcome(isSame, expected.map(predicateJson), found.map(predicateJson))], isReadable: true };
  } catch (error) {
    // No such proof can have the expected predicate.
    if (!(error instanceof ProofRefused)) throw error;
    return { checks: [outcome(false)], isReadable: false };
  }
}

function isQuestion({ credentials = [], same = [], either = [], pseudonym }: Expectation, presented: Presented): boolean {
  if (presented.suite === 1 || presented.question.credentials.length !== credentials.length) return false;
  const { question } = presented;
  const expected = question.credentials.map(({ header }, place) => readPredicates(header, credentials[place]?.predicates ?? [], ["neq"]).map(predicateText));
  const classes = same.map((group) => group.map(({ credential, attributeName }) => [credential, attributeName]));
  const found = [question.credentials.map(({ predicates }) => predicates.map(predicateText)), question.same, question.either, question.pseudonym ?? null];
  return canonicalize([expected, classes, either, pseudonym ?? null]) === canonicalize(found);
}

/** Check the time. A proof ends with the holder's consent: after that it is expired, not wrong. */
function timeCheck(presented: Presented, now: number): Check {
  const { issuedAt, expiresAt } = boundedContext(presented);
  if (now >= expiresAt) return wrong("time", "PROOF_EXPIRED", undefined, `expired ${printed(expiresAt)}`);
  if (issuedAt > now + CLOCK_SKEW) return wrong("time", "PROOF_NOT_YET_VALID", undefined, `made ${printed(issuedAt)}`);
  return right("time");
}

function boundedContext(presented: Presented): Context {
  const [{ issuedAt, expiresAt }, ends] = [presented.context, presented.suite === 1 ? undefined : presented.consent?.notAfter];
  // A consent may end before the proof begins.
  return { ...presented.context, expiresAt: Math.max(Math.min(expiresAt, ends ?? Infinity), issuedAt + 1) };
}

/** Return whether the signed headers match the registered schemas; undefined if one is not known. */
function matchesSchemas(presented: Presented, schemas: NonNullable<VerifyOptions["schemas"]>): boolean | undefined {
  const headers = presented.suite === 1 ? [presented.schema] : headersOf(presented);
  const pairs = headers.map((header) => [header, schemas.find(({ id }) => id === header.id)] as const);
  if (pairs.some(([, registered]) => registered === undefined)) return undefined;
  return pairs.every(([header, registered]) => {
    const { id, attributes: titled, header: text } = registered as (typeof schemas)[number];
    // No signature covers a title.
    const attributes = titled.map(({ title, titles, ...others }) => others);
    const octets = readHeader(base64urlDecode(text)).header;
    if (presented.suite === 1) return isEqual(octets, header.header);
    const bound = header as BoundHeader;
    return isEqual(plainHeader(bound), octets) && isEqual(sha256(utf8(canonicalize({ attributes, id }))), bound.digest);
  });
}

// The issuers' keys, and the proof.

interface Issuer {
  readonly document: Record<string, unknown>;
  readonly deactivated: boolean;
}

async function issuersOf({ logs = [], documents = [] }: VerifyOptions, now: Date): Promise<Map<string, Issuer>> {
  const issuers = new Map<string, Issuer>();
  for (const document of documents) issuers.set(String((document as { id?: unknown }).id), { document: own(document), deactivated: false });
  for (const log of logs) {
    // Clocks differ.
    const { did, didDocument, deactivated } = await verifyLog(log, { now: new Date(now.getTime() + LOG_SKEW_MS) });
    issuers.set(did, { document: didDocument, deactivated });
  }
  return issuers;
}

function findKey(method: string, issuers: ReadonlyMap<string, Issuer>, now: Date, keys: Map<string, Octets>): Check {
  const did = controllerOf(method);
  if (did === undefined) return wrong("issuerKey", "ISSUER_KEY_UNKNOWN");
  const issuer = issuers.get(did);
  if (issuer === undefined) return undecided("issuerKey", "ISSUER_UNAVAILABLE");
  if (issuer.deactivated) return wrong("issuerKey", "ISSUER_DEACTIVATED");
  const key = assertionKey(issuer.document, method, now);
  if (key === undefined) return wrong("issuerKey", "ISSUER_KEY_UNKNOWN");
  keys.set(method, key);
  return right("issuerKey");
}

async function proofChecks(received: Received, presented: Presented, keys: ReadonlyMap<string, Octets>, expect: Expectation, now: number): Promise<Check[]> {
  const { issuedAt, expiresAt } = boundedContext(presented);
  // The time has a check of its own.
  const at = Math.max(issuedAt, Math.min(now, expiresAt - 1));
  const types = presented.suite === 1 ? presented.predicates : presented.question.credentials.flatMap(({ predicates }) => predicates);
  const signals = presented.suite === 1 ? plainSignals(presented) : presentationSignals(presented);
  const isSame =
    (received.publicSignals === undefined || canonicalize(received.publicSignals) === canonicalize(signals)) &&
    (received.predicateType === undefined || received.predicateType === types.map(({ type }) => type).join(",")) &&
    (received.proofId === undefined || received.proofId === presented.context.proofId);
  const beside = isSame ? right("publicSignals") : wrong("publicSignals", "PUBLIC_SIGNALS_MISMATCH");
  try {
    if (presented.suite === 1) {
      verifyPlainProof(presented, keys.get(presented.method) as Octets, at);
    } else {
      if (presented.agent !== undefined && presented.agent.signature === undefined) return [beside, wrong("proof", "AGENT_SIGNATURE_MISSING")];
      const cover = expect.consentCover === undefined ? REQUEST_COVER : 0;
      await verifyPresentation(presented, keys, { now: at, statusMaxAge: Math.max(expect.statusMaxAge ?? 0, STATUS_MAX_AGE), cover });
    }
  } catch (error) {
    if (!(error instanceof ProofRefused)) throw error;
    return [beside, wrong("proof", "PROOF_INVALID")];
  }
  return [beside, right("proof")];
}

// The result.

function result(checks: readonly Check[], presented: Presented | undefined, unchecked: readonly string[], warnings: string[] = []): Verification {
  const verified = checks.length > 0 && checks.every(({ ok }) => ok === true);
  const missing = BOUND.filter((name) => unchecked.includes(name));
  const predicates = presented === undefined ? [] : shownPredicates(presented).map(predicateJson);
  return {
    verified,
    verdict: !verified ? "invalid" : missing.length > 0 ? "unbound" : "valid",
    missing,
    checks: checks as Check[],
    errors: [...new Set(checks.flatMap(({ code }) => (code === null ? [] : [code])))],
    warnings,
    unchecked: unchecked as string[],
    proofId: presented?.context.proofId ?? null,
    predicate: (predicates.length === 1 ? predicates[0] : null) as Verification["predicate"],
    predicates: predicates as Verification["predicates"],
    question: (presented?.suite === 2 && !isOfOne(presented) ? shownQuestion(presented) : null) as Verification["question"],
    issuerDid: (presented && issuerOf(presented)) ?? null,
    schemaId: (presented && schemaOf(presented).id) ?? null,
    ...(presented?.suite === 2 && presented.epochs[0] && { statusLists: presented.epochs.map(statusList) }),
  };
}

const printed = (time: number): string => new Date(time * 1_000).toISOString().replace(".000", "");
const statusList = ({ list: listId, epoch, period }: StatusEpoch): Schemas["StatusListEpoch"] => ({
  listId,
  epoch,
  begins: printed(epoch * period),
  ends: printed(epoch * period + period),
});

function shownQuestion(presented: Presentation): unknown {
  const { credentials, same, either, pseudonym } = presented.question;
  const value = shownPseudonym(presented);
  return {
    credentials: credentials.map(({ header, predicates }) => ({ issuerDid: header.issuer, schemaId: header.id, predicates: predicates.map(predicateJson) })),
    same: same.map((group) => group.map(([credential, attributeName]) => ({ credential, attributeName }))),
    either,
    pseudonym: pseudonym ?? null,
    pseudonymValue: value === undefined ? null : base64url(value),
  };
}

