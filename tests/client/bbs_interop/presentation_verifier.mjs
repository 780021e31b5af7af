// A verifier of presentations: `verify(text, expected)` returns what holds, or throws (PROTOCOL-2.md §3.1, §5, §6, §7).
// All that is done here stands in that page, the BBS draft and RFC 9380.
import {randomBytes} from 'node:crypto';
import {bls12_381 as bls} from '@noble/curves/bls12-381';
import {ed25519} from '@noble/curves/ed25519';
import {expand_message_xmd as expand} from '@noble/curves/abstract/hash-to-curve';
import {sha256 as nobleSha256} from '@noble/hashes/sha2';
import {
  R, Refused, SUITE, ascending, check, concat, credentialHeader, frame, jcs, mod, normalForm, number, optional, readEnvelope, scalar,
  sha256, statementOctets, statusHeader, utf8
} from './presentation_statement.mjs';

const [G1, G2] = [bls.G1.ProjectivePoint, bls.G2.ProjectivePoint];
const API = 'BBS_BLS12381G1_XMD:SHA-256_SSWU_RO_H2G_HM2S_';
const OWN = 'IDENTITY-SERVICE-ZKPRED-V2_XMD:SHA-256_H2S_';
const OWN_POINTS = 'IDENTITY-SERVICE-ZKPRED-V2_BLS12381G1_XMD:SHA-256_SSWU_RO_';
const P1 = 'a8ce256102840821a3e94ea9025e4662b205762f9776b3a766c872b948f1fd225e7c59698588e70d11406d161b4e28c9';
const MISMATCH = 'the proof does not match';
const LAST_SECOND = 253_402_300_800;

// Points and scalars. What is computed must not be the identity either, §7.2.
const sum = terms => G1.msm(terms.map(([point]) => point), terms.map(([, factor]) => mod(factor)));
function encoded(point) {
  check(!point.equals(G1.ZERO), MISMATCH);
  return Buffer.from(point.toRawBytes(true));
}
function decoded(octets, group = G1) {
  try {
    const point = group.fromHex(new Uint8Array(octets));
    point.assertValidity();
    if(!point.equals(group.ZERO) && point.toHex(true) === octets.toString('hex')) return point;
  } catch {
    // Not on the curve, or not in the subgroup.
  }
  throw new Refused('a point is not one, or not in its one form');
}
function scalars(octets, least = 0n) {
  return Array.from({length: octets.length / 32}, (_, index) => {
    const value = BigInt(`0x${octets.subarray(32 * index, 32 * index + 32).toString('hex')}`);
    check(least <= value && value < R, 'a scalar is out of range');
    return value;
  });
}
const points = octets => Array.from({length: octets.length / 48}, (_, n) => octets.subarray(48 * n, 48 * n + 48));
const xmd = (octets, dst, size) => Buffer.from(expand(new Uint8Array(octets), utf8(dst), size, nobleSha256));
const toScalar = (octets, dst) => BigInt(`0x${xmd(octets, dst, 48).toString('hex')}`) % R;
const toPoint = (octets, dst) => G1.fromAffine(bls.G1.hashToCurve(new Uint8Array(octets), {DST: dst}).toAffine());
const scalarOf = message => typeof message === 'bigint' ? message : toScalar(message, `${API}MAP_MSG_TO_SCALAR_AS_HASH_`);

// Generators of the draft (Q1, H_0, …) and of §1.2.
const seeds = [xmd(utf8(`${API}MESSAGE_GENERATOR_SEED`), `${API}SIG_GENERATOR_SEED_`, 48)];
const generators = [];
function generator(index) {
  while(generators.length <= index) {
    seeds.push(xmd(concat(seeds.at(-1), number(seeds.length)), `${API}SIG_GENERATOR_SEED_`, 48));
    generators.push(toPoint(seeds.at(-1), `${API}SIG_GENERATOR_DST_`));
  }
  return generators[index];
}
const H = index => generator(index + 1);
const own = {};
const ownGenerator = (role, index = 0) => own[role + index] ??= toPoint(concat(utf8(role), number(index)), `${OWN_POINTS}GEN_`);
const pseudonymBase = context => toPoint(frame('pseudonym', [utf8(context)]), `${OWN_POINTS}NYM_`);

// Consent, §3.1 and §5.1.
function checkConsent(octets, count, message, base) {
  const shownPoints = count + (base === null ? 0 : 1);
  check(octets.length === 48 * shownPoints + 32 * (count + 2), 'the consent has another length');
  const sent = points(octets.subarray(0, 48 * shownPoints));
  const found = sent.map(one => decoded(one));
  const [z0, ...rest] = scalars(octets.subarray(48 * shownPoints));
  const c = rest.at(-1);
  const masked = found.slice(0, count).map((point, n) => encoded(sum([[H(0), z0], [H(1), rest[n]], [point, -c]])));
  const shown = base === null ? null : sent[count];
  const maskedShown = base === null ? null : encoded(sum([[base, z0], [found[count], -c]]));
  const fields = [number(count), ...sent.slice(0, count), optional(shown), ...masked, optional(maskedShown), message];
  check(toScalar(frame('consent', fields), `${OWN}CONSENT_`) === c, MISMATCH);
  return {bases: found.slice(0, count), pseudonym: shown};
}
function consentMessage({consent, context, nonce, capability, agent}, question, now, cover) {
  const {cover: covered, notBefore, notAfter} = consent;
  const isTime = time => Number.isSafeInteger(time) && time >= 0 && time < LAST_SECOND && time % (covered & 2 ? 3600 : 86_400) === 0;
  check(Number.isInteger(covered) && covered >= 0 && covered < 32 && isTime(notBefore) && isTime(notAfter), 'no consent');
  check(covered & 4 && covered & 10, 'the consent does not cover the question, or would serve anybody');
  check(notBefore < notAfter && notBefore <= now + 60 && now < notAfter, 'the consent is of another time');
  check((cover & covered) === cover, 'the consent does not cover what it must');
  const values = [utf8(context.audience), nonce, sha256(utf8(jcs(question))), agent?.key, capability];
  const fields = values.map((value, bit) => covered >> bit & 1 ? value : Buffer.alloc(0));
  check(fields.every(Buffer.isBuffer), 'a covered field is not there');
  return frame('consent-message', [utf8(SUITE), number(covered), ...fields, number(notBefore), number(notAfter)]);
}

// The vector, §4.2 and §6: intervals with their digits, selectors, free scalars, rows.
function plan(range) {
  const weight = (range + 1n) / 4n;
  if(range >= 3n) return [{weight, radix: 4}, ...plan(range - 3n * weight)];
  return range > 0n ? [{weight: 1n, radix: Number(range) + 1}] : [];
}
function intervalsOf(question, day, form) {
  const found = [];
  const add = (terms, low, high, side = null) => found.push({terms, low: BigInt(low), high: BigInt(high), side});
  const term = (part, slot, sign = 1n) => ({part, slot, sign});
  const parts = question.credentials.map((_, part) => part), gap = part => parts.length + part;
  for(const part of question.validity ? parts : []) add([term(part, 3)], 0, day), add([term(part, 4)], day, 65_535);
  for(const part of question.status ? parts : []) {
    add([term(part, 5), term(gap(part), 0, -1n)], 1, 1n << 32n), add([term(gap(part), 1), term(part, 5, -1n)], 1, 1n << 32n);
  }
  form.goals.filter(goal => goal.low !== undefined).forEach(goal => add([term(goal.part, goal.slot)], goal.low, goal.high));
  form.alternatives.forEach((alternatives, group) => alternatives.forEach((goal, at) => {
    const [low, high] = goal.low === undefined ? [scalarOf(goal.equals), scalarOf(goal.equals)] : [goal.low, goal.high];
    add([term(goal.part, goal.slot)], low, high, {group, place: at});
  }));
  return found;
}
function layoutOf(intervals, unequal) {
  const [digits, sent] = [[], []];
  for(const one of intervals) {
    Object.assign(one, {digits: plan(one.high - one.low), start: digits.length});
    digits.push(...one.digits);
    sent.push(...one.digits.map((_, n) => one.start + n).slice(0, one.side === null ? -1 : undefined));
  }
  for(const one of intervals.filter(one => one.side?.place > 0)) {
    sent.push(one.selector = digits.length);
    digits.push({weight: 0n, radix: 2});
  }
  unequal.forEach((_, n) => sent.push(digits.length + n));
  const rows = intervals.filter(one => one.side !== null).length + unequal.length;
  const elements = digits.length + unequal.length;
  check(elements <= 384 && rows <= 32, 'the question is too large');
  return {digits, sent, elements, octets: elements + rows > 0 ? 192 + 32 * (sent.length + 2) : 0};
}
function gapOf(one, c, messages, f) {
  const form = one.terms.reduce((total, {part, slot, sign}) => total + sign * messages.get(`${part} ${slot}`), 0n);
  return one.digits.reduce((total, {weight}, n) => total - weight * (f[one.start + n] ?? 0n), form - one.low * c);
}
function vectorArgument(octets, {intervals, unequal, layout}, messages, c) {
  const [received, f] = [argued(octets, 4), []];
  layout.sent.forEach((index, n) => f[index] = received.values[n]);
  const derived = intervals.filter(one => one.side === null);
  derived.forEach(one => f[one.start + one.digits.length - 1] = mod(gapOf(one, c, messages, f)));
  return argument(received, f, c, y => {
    let [power, total] = [1n, 0n];
    const next = () => power = power * y % R;
    for(const [index, {radix}] of layout.digits.entries()) {
      let product = next() * c ** BigInt(4 - radix);
      for(let k = 0n; k < radix; k += 1n) product = mod(product * (f[index] - k * c));
      total += product;
    }
    unequal.forEach(next);
    for(const one of intervals.filter(one => one.side !== null)) {
      const others = intervals.filter(other => other.side?.group === one.side.group && other.side.place > 0);
      const choice = one.side.place > 0 ? f[one.selector] : others.reduce((left, other) => left - f[other.selector], c);
      total += next() * c * c * mod(choice * gapOf(one, c, messages, f));
    }
    for(const [n, one] of unequal.entries()) {
      const difference = messages.get(`${one.part} ${one.slot}`) - one.scalar * c;
      total += next() * c * c * mod(difference * f[layout.digits.length + n] - c * c);
    }
    return total;
  });
}
function argued(octets, count) {
  const sent = points(octets.subarray(0, 48 * count));
  return {sent, decoded: sent.map(one => decoded(one)), values: scalars(octets.subarray(48 * count))};
}
function argument({sent, decoded: [a, ...t], values}, f, c, valueAt) {
  const [z, zt] = values.slice(-2);
  const vector = f.map((value, index) => [ownGenerator('digit', index), value]);
  const terms = t.map((point, k) => [point, -(c ** BigInt(k + 1))]);
  const openings = value => [[ownGenerator('coefficient'), value], [ownGenerator('coefficient-blinding'), zt]];
  return {
    first: [sent[0], encoded(sum([...vector, [ownGenerator('blinding'), z], [a, -c]]))],
    second: y => [encoded(sum([...openings(valueAt(y)), ...terms])), ...sent.slice(1)]
  };
}
function setArgument(octets, set, message, c) {
  const bits = bitsOf(set), received = argued(octets, bits);
  const f = received.values.slice(0, bits);
  return argument(received, f, c, y => {
    let level = Array.from({length: 2 ** bits}, (_, n) => set[Math.min(n, set.length - 1)]);
    let tests = 0n;
    f.forEach((one, j) => {
      level = level.filter((_, n) => n % 2 === 0).map((low, n) => mod(low * (c - one) + level[2 * n + 1] * one));
      tests += y ** BigInt(j + 1) * one * (c - one);
    });
    return level[0] + c ** BigInt(bits - 2) * (mod(tests) - c * message);
  });
}
const bitsOf = set => Math.max(2, Math.ceil(Math.log2(set.length)));

// Parts, §5.3 and §7.1.
function relationOf(question, headers, epochs, keys, day) {
  const form = normalForm(question, headers);
  form.goals.filter(goal => goal.among).forEach(goal => goal.scalars = goal.among.map(scalarOf).sort(ascending));
  const unequal = form.unequal.map(one => ({...one, scalar: scalarOf(one.value)}));
  const intervals = intervalsOf(question, day, form);
  const consented = question.holder === 'consent';
  const parts = headers.map((header, part) => {
    const shown = form.goals.filter(goal => goal.part === part && Buffer.isBuffer(goal.equals));
    const disclosed = [...consented ? [[0, 1n]] : [], ...shown.map(goal => [goal.slot, scalarOf(goal.equals)])];
    return {kind: 'credential', base: consented ? 'consented' : 'plain', count: header.count, disclosed, ...header};
  });
  parts.push(...epochs.map(header => ({kind: 'status', base: 'plain', count: 2, disclosed: [], ...header})));
  const owner = new Map();
  const holders = consented ? [] : [headers.map((_, part) => ({part, slot: 0}))];
  for(const group of [...form.classes, ...holders]) {
    const [first] = [...group].sort((a, b) => a.part - b.part || a.slot - b.slot);
    group.forEach(({part, slot}) => owner.set(`${part} ${slot}`, `${first.part} ${first.slot}`));
  }
  for(const [index, part] of parts.entries()) {
    const shown = new Set(part.disclosed.map(([slot]) => slot));
    check((part.key = keys[part.method]) !== undefined, 'a key is not known');
    part.hidden = Array.from({length: part.count}, (_, slot) => slot).filter(slot => !shown.has(slot));
    part.owned = part.hidden.filter(slot => index === 0 || [undefined, `${index} ${slot}`].includes(owner.get(`${index} ${slot}`)));
  }
  const octets = statementOctets({question, day, parts, intervals, form, unequal, scalarOf});
  return {form, unequal, intervals, parts, owner, octets, layout: layoutOf(intervals, unequal)};
}
function responsesOf({parts, owner, form}, received, c) {
  const found = new Map();
  parts.forEach((part, index) => part.owned.forEach((slot, n) => found.set(`${index} ${slot}`, received[index].messages[n])));
  for(const [slot, first] of owner) {
    found.set(slot, found.get(slot) ?? found.get(first));
    check(found.get(slot) === found.get(first), MISMATCH);
  }
  const equal = form.goals.filter(goal => typeof goal.equals === 'bigint');
  equal.forEach(one => check(found.get(`${one.part} ${one.slot}`) === mod(one.equals * c + 1n), MISMATCH));
  return found;
}
function initOf(part, index, {sent, scalars: [eHat, r1Hat, r3Hat]}, messages, c, base) {
  const [aBar, bBar, d] = sent.map(one => decoded(one));
  const all = Array.from({length: part.count + 1}, (_, n) => Buffer.from(generator(n).toRawBytes(true)));
  const header = concat(number(part.octets.length), part.octets);
  const domain = toScalar(concat(part.key, number(part.count), ...all, utf8(API), header), `${API}H2S_`);
  const t1 = sum([[bBar, c], [aBar, eHat], [d, r1Hat]]);
  const t2 = sum([[base, c], [generator(0), domain * c], [d, r3Hat], ...part.disclosed.map(([slot, m]) => [H(slot), m * c]),
    ...part.hidden.map(slot => [H(slot), messages.get(`${index} ${slot}`)])]);
  const octets = concat(...sent, encoded(t1), encoded(t2));
  const shown = part.disclosed.map(([slot, m]) => concat(number(slot), scalar(m)));
  const counts = [index, part.hidden.length, part.count].map(number);
  return {aBar, bBar, domain, octets, shown, frame: frame('init', [...counts, frame('disclosed', shown), octets, scalar(domain)])};
}

function checkTimes({context, value, consent}, question, epochs, now, statusMaxAge) {
  check(now < context.expiresAt && context.issuedAt <= now + 60, 'the proof is of another time');
  check((value.day === null) !== question.validity, 'the day is missing, or was not asked for');
  const isDay = [now - 300, now + 300].some(time => Math.floor(time / 86_400) === value.day) && value.day >= 1 && value.day <= 65_534;
  check(value.day === null || (isDay && context.expiresAt <= (value.day + 1) * 86_400 + 300), 'valid on another day');
  const isCurrent = ({epoch, period}) => epoch * period - 300 <= now && now < (epoch + 1) * period + statusMaxAge;
  check(epochs.every(isCurrent), 'the list is of another time');
  check((consent !== null) === (question.holder === 'consent'), 'the consent is missing, or was not asked for');
}
function checkAgent({agent, value, context, nonce}) {
  if(agent === null) return;
  const unsigned = sha256(utf8(jcs({...value, agent: {...value.agent, signature: null}})));
  const message = frame('agent', [utf8(context.audience), nonce, unsigned]);
  const isRight = agent.signature?.length === 64 && ed25519.verify(agent.signature, message, agent.key, {zip215: false});
  check(isRight, 'the agent\'s signature is missing, or not one of this proof');
}
function checkPairings(parts, inits) {
  const weights = parts.map((_, index) => index === 0 ? 1n : BigInt(`0x${randomBytes(16).toString('hex')}`));
  const pairs = parts.map(({key}, index) => ({g1: inits[index].aBar.multiply(weights[index]), g2: decoded(key, G2)}));
  const right = sum(inits.map(({bBar}, index) => [bBar, weights[index]])).negate();
  const product = bls.pairingBatch([...pairs, {g1: right, g2: G2.BASE}].filter(({g1}) => !g1.equals(G1.ZERO)));
  check(bls.fields.Fp12.eql(product, bls.fields.Fp12.ONE), MISMATCH);
}

// `expected`: question (canonical JSON), keys {method: octets}, audience, nonce (octets), now (seconds), and perhaps statusMaxAge,
// cover, agentKey and capability (octets).
export function verify(text, expected) {
  const {question, keys, audience, nonce, now, statusMaxAge = 3600, cover = 7, agentKey = null, capability = null} = expected;
  const envelope = readEnvelope(text);
  const equal = (one, other) => (one === null) === (other === null) && (one === null || one.equals(other));
  check(jcs(envelope.value.question) === jcs(question), 'another question');
  check(envelope.context.audience === audience && envelope.nonce.equals(nonce), 'for another verifier');
  check(equal(envelope.agent?.key ?? null, agentKey) && equal(envelope.capability, capability), 'another agent or capability');
  const asked = question.credentials;
  const digests = envelope.parts.map(({header}) => sha256(header).toString('base64url'));
  check(jcs(digests) === jcs(asked.map(one => one.header)), 'another header');
  const headers = envelope.parts.map(({header}) => credentialHeader(header));
  check(headers.every(({method}, index) => method === asked[index].issuer), 'another issuer');
  check(envelope.status.length === (question.status ? asked.length : 0), 'a list is missing, or was not asked for');
  const epochs = envelope.status.map(({header}, index) => statusHeader(header, headers[index]));
  checkTimes(envelope, question, epochs, now, statusMaxAge);
  const relation = relationOf(question, headers, epochs, keys, envelope.value.day);
  const {parts, form, layout} = relation;

  const shownGoals = form.goals.filter(goal => Buffer.isBuffer(goal.equals));
  const disclosed = shownGoals.map(({part, slot, equals}) => [part, slot, equals.toString('base64url')]);
  check(jcs(envelope.value.disclosed) === jcs(disclosed), 'something else is disclosed');
  const sent = [...envelope.parts, ...envelope.status].map(({proof}) => proof);
  check(sent.every((proof, n) => proof.length === 240 + 32 * (parts[n].owned.length + (n === 0 ? 1 : 0))), 'a length');
  const sets = form.goals.filter(goal => goal.among);
  check(envelope.sets.length === sets.length && envelope.argument.length === layout.octets, 'a length');
  check(envelope.sets.every((octets, n) => octets.length === 48 * bitsOf(sets[n].among) + 32 * (bitsOf(sets[n].among) + 2)), 'a length');
  const plainPseudonym = question.pseudonym !== null && envelope.consent === null;
  check((envelope.pseudonym !== null) === plainPseudonym, 'the pseudonym is missing, or was not asked for');
  checkAgent(envelope);

  const bases = parts.map(() => G1.fromHex(P1));
  const base = question.pseudonym === null ? null : pseudonymBase(question.pseudonym);
  let shown = envelope.pseudonym;
  if(envelope.consent !== null) {
    const message = consentMessage(envelope, question, now, cover);
    const consent = checkConsent(envelope.consent.value, asked.length, message, base);
    consent.bases.forEach((point, index) => bases[index] = bases[index].add(point).subtract(H(0)));
    shown = consent.pseudonym;
  }
  const received = sent.map((proof, index) => {
    const found = scalars(proof.subarray(144), index === 0 ? 1n : 0n);
    return {sent: points(proof.subarray(0, 144)), scalars: found.slice(0, 3), messages: found.slice(3)};
  });
  const c = received[0].messages.at(-1);
  const messages = responsesOf(relation, received, c);
  const inits = parts.map((part, index) => initOf(part, index, received[index], messages, c, bases[index]));
  const all = [...layout.octets ? [vectorArgument(envelope.argument, relation, messages, c)] : [],
    ...sets.map((goal, n) => setArgument(envelope.sets[n], goal.scalars, messages.get(`${goal.part} ${goal.slot}`), c))];
  const masked = plainPseudonym ? encoded(sum([[base, messages.get('0 0')], [decoded(shown), -c]])) : null;
  const plain = masked && frame('shown-pseudonym', [shown, masked]);
  const {context} = envelope;
  const contextOctets = frame('context', [utf8(audience), nonce, number(context.issuedAt), number(context.expiresAt),
    utf8(context.proofId), optional(capability), optional('agent' in context ? utf8(context.agent) : null), optional(agentKey)]);
  const first = frame('first', [relation.octets, contextOctets, optional(envelope.consent?.value ?? null), number(parts.length),
    ...inits.map(one => one.frame), optional(plain), ...all.flatMap(one => one.first)]);
  const y = toScalar(first, `${OWN}Y_`);
  const ph = frame('presentation', [relation.octets, contextOctets, sha256(first), ...all.flatMap(one => one.second(y))]);
  const [{shown: leadShown, octets, domain}] = inits;
  const hashed = concat(number(leadShown.length), ...leadShown, octets, scalar(domain), number(ph.length), ph);
  check(toScalar(hashed, `${API}H2S_`) === c, MISMATCH);
  checkPairings(parts, inits);
  const checked = {holder: question.holder !== 'none', credentialValidity: question.validity, credentialStatus: question.status};
  const unchecked = Object.keys(checked).filter(name => !checked[name]);
  return {pseudonym: shown?.toString('hex') ?? null, unchecked, presentationHeader: ph.toString('hex')};
}
