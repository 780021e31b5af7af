// A wallet of @openid4vc/openid4vci collects what an offer grants; @sd-jwt/sd-jwt-vc verifies it, and shows a part of it to a verifier.
//
//   node wallet.mjs < {"offer": "openid-credential-offer://…", "issuerKey": <JWK>, "request": "openid4vp://…", "transactionCode"?}
import crypto from 'node:crypto';
import { text } from 'node:stream/consumers';
import { clientAuthenticationAnonymous, setGlobalConfig } from '@openid4vc/oauth2';
import { Openid4vciClient } from '@openid4vc/openid4vci';
import { SDJwtVcInstance } from '@sd-jwt/sd-jwt-vc';

// The service under test has no TLS.
setGlobalConfig({ allowInsecureUrls: true });
const { offer, issuerKey, request, transactionCode } = JSON.parse(await text(process.stdin));
const { privateKey, publicKey } = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
const publicJwk = publicKey.export({ format: 'jwk' });
const b64 = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
const sign = (data) => crypto.sign('sha256', Buffer.from(data), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');
const verifies = (jwk) => (data, signature) =>
  crypto.verify('sha256', Buffer.from(data), { key: crypto.createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'));
const hash = (data, algorithm) => crypto.createHash(algorithm.replace('-', '')).update(data).digest();

const client = new Openid4vciClient({
  callbacks: {
    fetch,
    hash,
    generateRandom: (count) => crypto.randomBytes(count),
    clientAuthentication: clientAuthenticationAnonymous(),
    signJwt: (_signer, { header, payload }) => {
      const input = `${b64(header)}.${b64(payload)}`;
      return { jwt: `${input}.${sign(input)}`, signerJwk: publicJwk };
    },
  },
});
const credentialOffer = await client.resolveCredentialOffer(offer);
const issuerMetadata = await client.resolveIssuerMetadata(credentialOffer.credential_issuer);
const [credentialConfigurationId] = credentialOffer.credential_configuration_ids;
const { accessTokenResponse } = await client.retrievePreAuthorizedCodeAccessTokenFromOffer({ credentialOffer, issuerMetadata, txCode: transactionCode });
const { c_nonce: nonce } = await client.requestNonce({ issuerMetadata });
const signer = { method: 'jwk', publicJwk, alg: 'ES256' };
const { jwt } = await client.createCredentialRequestJwtProof({ issuerMetadata, credentialConfigurationId, signer, nonce });
const { credentialResponse } = await client.retrieveCredentials({
  issuerMetadata, credentialConfigurationId, accessToken: accessTokenResponse.access_token, proofs: { jwt: [jwt] },
});
const [{ credential }] = credentialResponse.credentials;

const sdjwt = new SDJwtVcInstance({
  verifier: verifies(issuerKey), kbVerifier: async (data, signature, payload) => verifies(payload.cnf.jwk)(data, signature),
  hasher: hash, hashAlg: 'sha-256', kbSigner: sign, kbSignAlg: 'ES256', signer: sign, signAlg: 'ES256',
});
const collected = await sdjwt.verify(credential);

// The request object says what is asked for, and where the answer goes.
const found = await (await fetch(new URL(request).searchParams.get('request_uri'))).text();
const asked = JSON.parse(Buffer.from(found.split('.')[1], 'base64url'));
const shown = await sdjwt.present(credential, { age_equal_or_over: { 18: true } }, {
  kb: { payload: { iat: Math.floor(Date.now() / 1000), aud: asked.client_id, nonce: asked.nonce } },
});
const [{ id }] = asked.dcql_query.credentials;
const answer = await fetch(asked.response_uri, {
  method: 'POST', body: new URLSearchParams({ vp_token: JSON.stringify({ [id]: [shown] }), state: asked.state }),
});
console.log(JSON.stringify({ claims: collected.payload, status: answer.status, answer: await answer.json() }));
