// Reads leads of presentations [{name, publicKey, header, presentationHeader, proof, disclosed: [[index, octets]], point}] (octets in
// hex) from standard input and prints {name: verdict}. One without a point, K', is a proof of the draft and goes to the public
// interface. One with a point has the base P1 + K' - H_0 and discloses the scalar 1 in slot 0: it goes to the same package's core
// verifier, with that base in its ciphersuite for P1 (PROTOCOL-2.md §5.3).
import {readFileSync} from 'node:fs';
import * as bbs from '@digitalbazaar/bbs-signatures';
import {CIPHERSUITES} from './node_modules/@digitalbazaar/bbs-signatures/lib/bbs/ciphersuites.js';
import {CoreProofVerify} from './node_modules/@digitalbazaar/bbs-signatures/lib/bbs/core.js';
import {TEXT_ENCODER, create_generators, messages_to_scalars} from './node_modules/@digitalbazaar/bbs-signatures/lib/bbs/util.js';

const octets = hex => new Uint8Array(Buffer.from(hex, 'hex'));
const SUITE = CIPHERSUITES.BLS12381_SHA256;
const api_id = TEXT_ENCODER.encode(`${SUITE.ciphersuite_id}H2G_HM2S_`);

function verifyConsented({publicKey, header, presentationHeader, proof, disclosed, point}) {
  const shown = messages_to_scalars({messages: disclosed.map(([, message]) => octets(message)), api_id, ciphersuite: SUITE});
  const hidden = (octets(proof).length - 272) / 32;
  const generators = create_generators({count: hidden + shown.length + 2, api_id, ciphersuite: SUITE});
  const base = SUITE.P1.add(SUITE.octets_to_point_E1(octets(point))).subtract(generators[1]);
  return CoreProofVerify({
    PK: octets(publicKey), proof: octets(proof), generators, header: octets(header), ph: octets(presentationHeader),
    disclosed_messages: [1n, ...shown], disclosed_indexes: [0, ...disclosed.map(([index]) => index)],
    api_id, ciphersuite: {...SUITE, P1: base}
  });
}

const verdicts = {};
for(const one of JSON.parse(readFileSync(0, 'utf8'))) {
  try {
    verdicts[one.name] = one.point ? verifyConsented(one) : await bbs.verifyProof({
      publicKey: octets(one.publicKey),
      header: octets(one.header),
      presentationHeader: octets(one.presentationHeader),
      proof: octets(one.proof),
      disclosedMessageIndexes: one.disclosed.map(([index]) => index),
      disclosedMessages: one.disclosed.map(([, message]) => octets(message)),
      ciphersuite: 'BLS12-381-SHA-256'
    });
  } catch(error) {
    verdicts[one.name] = String(error);
  }
}
console.log(JSON.stringify(verdicts));
