// Reads cases [{text, question, keys, audience, nonce, now, agentKey?, capability?}] (octets in hex) from standard input and
// prints for each a verdict: {holds: true, …} or {holds: false, reason}. Errors of any other kind end the run.
import {readFileSync} from 'node:fs';
import {Refused} from './presentation_statement.mjs';
import {verify} from './presentation_verifier.mjs';

const octets = hex => hex === undefined || hex === null ? null : Buffer.from(hex, 'hex');
const verdicts = [];
for(const one of JSON.parse(readFileSync(0, 'utf8'))) {
  const keys = Object.fromEntries(Object.entries(one.keys).map(([method, hex]) => [method, octets(hex)]));
  try {
    const expected = {...one, keys, nonce: octets(one.nonce), agentKey: octets(one.agentKey), capability: octets(one.capability)};
    verdicts.push({holds: true, ...verify(one.text, expected)});
  } catch(error) {
    if(!(error instanceof Refused)) {
      throw error;
    }
    verdicts.push({holds: false, reason: error.message});
  }
}
console.log(JSON.stringify(verdicts));
