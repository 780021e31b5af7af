// Reads cases [{name, publicKey, header, presentationHeader, proof, disclosedIndexes, disclosedMessages}] (hex) from standard
// input and prints {name: verdict}; a verdict is true, false, or the text of an error.
import {readFileSync} from 'node:fs';
import * as bbs from '@digitalbazaar/bbs-signatures';

const octets = hex => new Uint8Array(Buffer.from(hex, 'hex'));
const verdicts = {};
for(const one of JSON.parse(readFileSync(0, 'utf8'))) {
  try {
    verdicts[one.name] = await bbs.verifyProof({
      publicKey: octets(one.publicKey),
      header: octets(one.header),
      presentationHeader: octets(one.presentationHeader),
      proof: octets(one.proof),
      disclosedMessageIndexes: one.disclosedIndexes,
      disclosedMessages: one.disclosedMessages.map(octets),
      ciphersuite: 'BLS12-381-SHA-256'
    });
  } catch(error) {
    verdicts[one.name] = String(error);
  }
}
console.log(JSON.stringify(verdicts));
