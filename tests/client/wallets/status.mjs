// @sd-jwt/sd-jwt-vc verifies a copy as it comes, which makes it fetch the list that the copy names, and verify that by the same key.
//
//   node status.mjs < {"credential": "<SD-JWT>", "issuerKey": <JWK>}
import crypto from 'node:crypto';
import { text } from 'node:stream/consumers';
import { SDJwtVcInstance } from '@sd-jwt/sd-jwt-vc';

const { credential, issuerKey } = JSON.parse(await text(process.stdin));
const key = crypto.createPublicKey({ key: issuerKey, format: 'jwk' });
const fetched = [];
const plain = globalThis.fetch;
globalThis.fetch = async (url, ...more) => {
  const answer = await plain(url, ...more);
  fetched.push([String(url), answer.status, answer.headers.get('content-type')]);
  return answer;
};
const sdjwt = new SDJwtVcInstance({
  verifier: (data, signature) =>
    crypto.verify('sha256', Buffer.from(data), { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url')),
  hasher: (data, algorithm) => crypto.createHash(algorithm.replace('-', '')).update(data).digest(), hashAlg: 'sha-256', signAlg: 'ES256',
});
let error = null;
try {
  await sdjwt.verify(credential);
} catch (refused) {
  error = refused.message;
}
console.log(JSON.stringify({ error, fetched }));
