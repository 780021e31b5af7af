// The statement of a presentation: envelope, question, normal form and frames (PROTOCOL-2.md §1.1, §2, §4, §8).
// All that is done here stands in that page, or in a draft or RFC that it names.
import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';

export const R = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n;
export const SUITE = 'identity-bbs-predicates-2';
const TAG = 'IDENTITY-SERVICE-ZKPRED-V2:';
const [NULL, OFFSET, FIRST_ATTRIBUTE] = [1n << 64n, 1n << 63n, 6];

export class Refused extends Error {}
export const check = (condition, reason) => { if(!condition) throw new Refused(reason); };

// Octets, frames and JSON, §1.1.
export const utf8 = text => Buffer.from(text, 'utf8');
export const concat = (...all) => Buffer.concat(all);
export const sha256 = octets => createHash('sha256').update(octets).digest();
export const mod = value => ((value % R) + R) % R;
export const ascending = (one, other) => typeof one === 'bigint' ? (one < other ? -1 : 1) : Buffer.compare(one, other);
const big = (value, size) => Buffer.from(BigInt(value).toString(16).padStart(2 * size, '0'), 'hex');
export const number = value => big(value, 8);
export const scalar = value => big(value, 32);
export const optional = octets => octets === null ? Buffer.alloc(0) : concat(Buffer.of(1), octets);
export function frame(name, fields) {
  const tag = utf8(TAG + name);
  return concat(number(tag.length), tag, number(fields.length), ...fields.flatMap(one => [number(one.length), one]));
}
export function jcs(value) {
  if(Array.isArray(value)) return `[${value.map(jcs).join(',')}]`;
  if(value === null || typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.keys(value).sort().map(name => `${JSON.stringify(name)}:${jcs(value[name])}`).join(',')}}`;
}
export function unb64(text) {
  const octets = Buffer.from(typeof text === 'string' ? text : '=', 'base64url');
  check(octets.toString('base64url') === text, 'not base64url in its one form');
  return octets;
}
function canonicalJson(octets, tag = '') {
  let value;
  try {
    value = JSON.parse(new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(octets.subarray(tag.length)));
  } catch {
    check(false, 'not JSON');
  }
  check(utf8(tag + jcs(value)).equals(octets), 'not in its one form');
  return value;
}
function members(value, names, may = []) {
  check(value !== null && typeof value === 'object' && !Array.isArray(value), 'an object is missing');
  const found = Object.keys(value);
  check(names.every(name => found.includes(name)) && found.every(name => names.includes(name) || may.includes(name)), 'other members');
  return value;
}
const list = (value, read) => (check(Array.isArray(value), 'a list is missing'), value.map(one => read(one)));
const isInteger = (value, low, high) => Number.isSafeInteger(value) && value >= low && value <= high;
const TABLE = new URL('unassigned_in_unicode_14.json', import.meta.url);
const UNASSIGNED = JSON.parse(readFileSync(TABLE, 'utf8'));
const isAssigned = text => [...text].every(one => !UNASSIGNED.some(([low, high]) => low <= one.codePointAt(0) && one.codePointAt(0) <= high));
const isPrintable = text => typeof text === 'string' && /^(?:[^\p{C}\p{Z}]| ){1,512}$/u.test(text) && isAssigned(text);

// Headers, (2.1) and (4.2): read, written anew, compared. That of a credential is in the verifier's own question, by its digest.
export function credentialHeader(octets) {
  const names = ['attributes', 'digest', 'holder', 'issuer', 'method', 'schema', 'status'];
  const value = members(canonicalJson(octets, 'IDENTITY-SERVICE-CREDENTIAL-V2:'), names);
  check(octets.length <= 16_384 && value.method.split('#')[0] === value.issuer, 'the key is not the issuer\'s');
  const attributes = new Map();
  let numeric = FIRST_ATTRIBUTE + value.attributes.length;
  for(const [index, {name, type, slot, domain, numericSlot}] of value.attributes.entries()) {
    check(slot === FIRST_ATTRIBUTE + index && !attributes.has(name), 'a slot is out of order');
    check(domain === undefined || numericSlot === numeric, 'a slot is out of order');
    const [low, high] = (domain ?? []).map(bound => BigInt(bound) + OFFSET);
    attributes.set(name, {type, low, high, isText: domain === undefined, slot: domain === undefined ? slot : numeric++});
  }
  return {...value, octets, attributes, count: numeric};
}
export function statusHeader(octets, credential) {
  const value = canonicalJson(octets, 'IDENTITY-SERVICE-STATUS-V2:');
  const {bits, issuer, list, period, method, epoch} = members(value, ['bits', 'epoch', 'issuer', 'list', 'method', 'period']);
  check(issuer === credential.issuer && jcs({bits, list, period}) === jcs(credential.status), 'another list');
  check(typeof method === 'string' && method.startsWith(`${issuer}#`) && [...method].length <= 768, 'the key is not the issuer\'s');
  check(octets.length <= 2048 && isInteger(epoch, 0, 65_536 * 86_400 / period - 1), 'there is no such epoch');
  return {...value, octets};
}

// Values, §2.3. A message is octets in a hashed slot and a BigInt in a numeric one.
function message(attribute, value) {
  if(!attribute.isText) return OFFSET + integerOf(attribute, value);
  check(isAssigned(String(value)), 'a character that Unicode 14.0 does not assign');
  check(String(value).normalize('NFC') === String(value), 'a text in another form than NFC');
  return concat(Buffer.of(1), utf8(String(value)));
}
function integerOf({type}, value) {
  if(type === 'integer') return BigInt(value);
  if(type === 'date') return BigInt(Date.parse(`${value}T00:00:00Z`) / 86_400_000);
  if(type === 'decimal') return BigInt(value.replace('.', '')); // exactly scale digits stand after the point
  const [, seconds, fraction = '0'] = /^(.*:[0-9]{2})(?:\.([0-9]{6}))?Z$/.exec(value);
  return BigInt(Date.parse(`${seconds}Z`)) * 1000n + BigInt(fraction);
}

// Normal form, §4.2. Goals are {slot, low, high}, {slot, equals} or {slot, among}.
function goalOf(attribute, predicates) {
  let {low, high} = attribute, among = null;
  for(const {type, value} of predicates) {
    if(type === 'eq' || type === 'set_member') {
      const messages = (type === 'eq' ? [value] : value).map(one => message(attribute, one));
      among = among === null ? messages : among.filter(one => messages.some(other => same(one, other)));
      continue;
    }
    check(!attribute.isText && ['gte', 'gt', 'lte', 'lt'].includes(type), 'a type that does not apply');
    const bound = message(attribute, value);
    const least = {gte: bound, gt: bound + 1n}[type] ?? attribute.low;
    const most = {lte: bound, lt: bound - 1n}[type] ?? attribute.high;
    check(least > attribute.low || most < attribute.high, 'every value satisfies a predicate');
    [low, high] = [least > low ? least : low, most < high ? most : high];
  }
  if(among !== null) return chosen(attribute, attribute.isText ? among : among.filter(one => low <= one && one <= high));
  check(low <= high, 'no value satisfies the predicates');
  return low === high ? {slot: attribute.slot, equals: low} : {slot: attribute.slot, low, high};
}
function chosen({slot}, messages) {
  check(messages.length > 0, 'no value satisfies the predicates');
  return messages.length === 1 ? {slot, equals: messages[0]} : {slot, among: messages};
}
const same = (one, other) => typeof one === 'bigint' ? one === other : one.equals(other);
const nullOf = attribute => attribute.isText ? Buffer.of(0) : NULL;

export function normalForm(question, headers) {
  const {pseudonym} = question;
  const isContext = pseudonym === null || (isPrintable(pseudonym) && pseudonym.normalize('NFC') === pseudonym);
  check(isContext, 'the context of a pseudonym is printable and in NFC');
  const form = {goals: [], alternatives: question.either.map(() => []), unequal: [], classes: []};
  let count = 0;
  for(const [part, {predicates}] of question.credentials.entries()) {
    const asked = new Map();
    for(const predicate of predicates) {
      const attribute = headers[part].attributes.get(predicate.attributeName);
      check(attribute !== undefined, 'there is no such attribute');
      const group = question.either.findIndex(numbers => numbers.includes(count));
      count += 1;
      if(group < 0) asked.set(attribute, [...asked.get(attribute) ?? [], predicate]);
      else form.alternatives[group].push({part, ...goalOf(attribute, [predicate])});
    }
    for(const [attribute, all] of [...asked].sort(([one], [other]) => one.slot - other.slot)) {
      const [merged, differing] = [all.filter(one => one.type !== 'neq'), all.filter(one => one.type === 'neq')];
      let goal = merged.length > 0 ? goalOf(attribute, merged) : null;
      const rows = goal === null ? [nullOf(attribute)] : [];
      for(const value of differing.map(one => message(attribute, one.value))) {
        check(goal?.equals === undefined || !same(goal.equals, value), 'no value satisfies the predicates');
        if(goal?.among) goal = chosen(attribute, goal.among.filter(one => !same(one, value)));
        else if(goal === null || (goal.low <= value && value <= goal.high)) rows.push(value);
      }
      if(goal !== null) form.goals.push({part, ...goal});
      const distinct = rows.filter((one, index) => rows.findIndex(other => same(one, other)) === index);
      form.unequal.push(...distinct.sort(ascending).map(value => ({part, slot: attribute.slot, value})));
    }
  }
  const shown = form.goals.filter(goal => Buffer.isBuffer(goal.equals));
  const isShown = one => shown.some(goal => goal.part === one.part && goal.slot === one.slot);
  check(!form.alternatives.flat().some(goal => goal.among || isShown(goal)), 'an alternative is an interval or one hidden value');
  for(const group of question.same) {
    const slots = group.map(([part, name]) => ({part, attribute: headers[part].attributes.get(name)}));
    const about = all => all.filter(one => slots.some(({part, attribute}) => one.part === part && one.slot === attribute.slot));
    check(about(shown).length === 0, 'same names an attribute that is disclosed');
    const [{part, attribute}] = slots;
    if(about([...form.goals, ...form.unequal]).length === 0) form.unequal.push({part, slot: attribute.slot, value: nullOf(attribute)});
    form.classes.push(slots.map(one => ({part: one.part, slot: one.attribute.slot})));
  }
  return form;
}

// Envelope, §8.
export function readEnvelope(text) {
  check(typeof text === 'string' && text.length <= 131_072, 'the envelope is too long');
  const names = 'agent argument consent context day disclosed parts pseudonym question sets status suite version';
  const value = members(canonicalJson(unb64(text)), names.split(' '));
  check(value.suite === SUITE && value.version === 2, 'another suite or version');
  const {context, consent, agent} = value;
  members(context, ['audience', 'expiresAt', 'issuedAt', 'nonce', 'proofId'], ['agent', 'capability']);
  check([context.audience, context.proofId, context.agent ?? 'none'].every(isPrintable), 'no audience, proof id or agent');
  check([context.issuedAt, context.expiresAt].every(time => isInteger(time, 0, 253_402_300_799)), 'no times');
  check(!('agent' in context && context.agent === null), 'no agent');
  const maybe = octets => octets === null ? null : unb64(octets);
  const part = one => ({header: unb64(members(one, ['header', 'proof']).header), proof: unb64(one.proof)});
  return {
    value, context, nonce: unb64(context.nonce), capability: 'capability' in context ? unb64(context.capability) : null,
    agent: agent && {key: unb64(members(agent, ['key', 'signature']).key), signature: maybe(agent.signature)},
    consent: consent && {...members(consent, ['cover', 'notAfter', 'notBefore', 'value']), value: unb64(consent.value)},
    parts: list(value.parts, part), status: list(value.status, part),
    argument: unb64(value.argument), sets: list(value.sets, unb64), pseudonym: maybe(value.pseudonym)
  };
}

// Octets of the statement, (4.5).
const place = ({part, slot}) => concat(number(part), number(slot));
const kind = value => utf8(Buffer.isBuffer(value) ? 'octets' : 'scalar');
export function statementOctets({question, day, parts, intervals, form, unequal, scalarOf}) {
  const goals = intervals.map(({terms, low, high, side}) => frame('in-range', [
    frame('form', terms.map(term => concat(utf8(term.sign > 0n ? '+' : '-'), place(term)))),
    scalar(low), scalar(high), optional(side && concat(number(side.group), number(side.place)))
  ]));
  for(const goal of form.goals) {
    if(goal.equals !== undefined) goals.push(frame('equals', [place(goal), kind(goal.equals), scalar(scalarOf(goal.equals))]));
    if(goal.among) {
      const set = frame('set', [kind(goal.among[0]), number(goal.scalars.length), concat(...goal.scalars.map(scalar))]);
      goals.push(frame('member-of', [place(goal), sha256(set)]));
    }
  }
  const framed = parts.map(one => frame('part', [utf8(one.kind), one.key, utf8(one.method), sha256(one.octets), utf8(one.base)]));
  const rows = unequal.map(one => frame('not-equal', [place(one), scalar(one.scalar)]));
  const classes = form.classes.map(group => frame('class', group.map(place)));
  const lists = [framed, goals, rows, classes].flatMap(all => [number(all.length), ...all]);
  return frame('statement', [utf8(SUITE), sha256(utf8(jcs(question))), optional(day === null ? null : number(day)), ...lists]);
}
