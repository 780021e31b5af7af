// A stranger who has PROTOCOL-2.md, and of us nothing but files. Reads the names of folders from standard input and prints for each whether
// it accepts what is in it:
//   answer.json    what generateDelegatedProof answered
//   asked.json     what the stranger asked, and when it looks: {credentials: [{issuer, schema, predicates}], audience, challenge, now}
//   keys.json      the issuers' keys, from their DID documents: {method: hex}
//   status-N.json  the manifest of the status list (§8.1) that it has for credential N
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {Refused, check, jcs, readEnvelope, sha256, utf8} from './presentation_statement.mjs';
import {verify} from './presentation_verifier.mjs';

const afterTag = octets => JSON.parse(octets.subarray(octets.indexOf(':') + 1).toString('utf8'));

// The question: the stranger's predicates under the headers that it is shown, if these are the issuers' and schemas that it asked for. It
// wants the holder's consent, validity and status.
function questionOf(asked, envelope) {
  check(envelope.parts.length === asked.length, 'another number of credentials');
  const credentials = asked.map(({issuer, schema, predicates}, index) => {
    const {header} = envelope.parts[index];
    const said = afterTag(header);
    check(said.issuer === issuer && said.schema === schema, 'another issuer or schema');
    return {header: sha256(header).toString('base64url'), issuer: said.method, predicates};
  });
  return {credentials, either: [], holder: 'consent', pseudonym: null, same: [], status: true, validity: true};
}

// The list that the proof names is the one that the stranger has: same issuer, list, key and epoch.
function checkStatus(octets, part) {
  const value = JSON.parse(octets.toString('utf8'));
  check(utf8(jcs(value)).equals(octets) && value.format === 'identity-status-gaps-2', 'not a status file');
  check(part !== undefined, 'the proof names no status list');
  const {bits, epoch, issuer, list, method, period} = value;
  check(jcs(afterTag(part.header)) === jcs({bits, epoch, issuer, list, method, period}), 'another status list than that of the file');
}

function accepts(folder) {
  const file = name => readFileSync(join(folder, name));
  const [answer, asked, hex] = ['answer.json', 'asked.json', 'keys.json'].map(name => JSON.parse(file(name)));
  const envelope = readEnvelope(answer.proof.proof);
  const keys = Object.fromEntries(Object.entries(hex).map(([method, key]) => [method, Buffer.from(key, 'hex')]));
  const {audience, challenge, now} = asked;
  // Which token of an agent stands behind a proof is the service's word, and nothing that the stranger can compare.
  const {capability} = envelope;
  const question = questionOf(asked.credentials, envelope);
  const found = verify(answer.proof.proof, {question, keys, audience, nonce: utf8(challenge), now, capability});
  asked.credentials.forEach((_, index) => checkStatus(file(`status-${index}.json`), envelope.status[index]));
  check(found.unchecked.length === 0, 'something is left open');
}

const verdicts = JSON.parse(readFileSync(0, 'utf8')).map(folder => {
  try {
    accepts(folder);
    return {accepts: true};
  } catch(error) {
    if(!(error instanceof Refused)) throw error;
    return {accepts: false, reason: error.message};
  }
});
console.log(JSON.stringify(verdicts));
