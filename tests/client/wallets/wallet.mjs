// A wallet of @openid4vc/openid4vci collects what an offer grants, and @sd-jwt/sd-jwt-vc verifies it. @openid4vc/openid4vp reads what a
// verifier asks for, dcql says what of the credential answers, and jose encrypts it where the request says so.
//
//   node wallet.mjs < {"offer": "openid-credential-offer://…", "issuerKey": <JWK>, "request": "openid4vp://…",
//                      "verifierKeys": {<DID URL>: <JWK>}, "transactionCode"?}
import crypto from 'node:crypto';
import { text } from 'node:stream/consumers';
import { clientAuthenticationAnonymous, setGlobalConfig } from '@openid4vc/oauth2';
import { Openid4vciClient } from '@openid4vc/openid4vci';
import { Openid4vpClient } from '@openid4vc/openid4vp';
import { SDJwtVcInstance } from '@sd-jwt/sd-jwt-vc';
import { DcqlQuery } from 'dcql';
import { CompactEncrypt, importJWK } from 'jose';

// The service under test has no TLS.
setGlobalConfig({ allowInsecureUrls: true });
const { offer, issuerKey, request, verifierKeys, transactionCode } = JSON.parse(await text(process.stdin));
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

// The request object is fetched and its signature verified; the query says which claims of which credential, and what of it is enough.
const wallet = new Openid4vpClient({
  callbacks: {
    fetch,
    hash,
    verifyJwt: (signer, { compact }) => {
      const [header, payload, signature] = compact.split('.');
      const key = verifierKeys[signer.didUrl];
      return key && verifies(key)(`${header}.${payload}`, signature) ? { verified: true, signerJwk: key } : { verified: false };
    },
    encryptJwe: async ({ publicJwk: key, alg, enc, apu, apv }, data) => {
      const header = { alg, enc, kid: key.kid, apu, apv };
      const jwe = await new CompactEncrypt(new TextEncoder().encode(data)).setProtectedHeader(header).encrypt(await importJWK(key, alg));
      return { encryptionJwk: key, jwe };
    },
  },
});
const { params } = wallet.parseOpenid4vpAuthorizationRequest({ authorizationRequest: request });
const { authorizationRequestPayload, client: verifier, dcql } = await wallet.resolveOpenId4vpAuthorizationRequest({ authorizationRequestPayload: params });
const query = DcqlQuery.parse(dcql.query);
DcqlQuery.validate(query);
const held = { credential_format: 'dc+sd-jwt', vct: collected.payload.vct, claims: collected.payload, cryptographic_holder_binding: true };
const matches = DcqlQuery.query(query, [held]);
const enough = matches.credential_sets?.map((set) => set.matching_options?.[0] ?? []).flat() ?? query.credentials.map(({ id }) => id);
// What is disclosed of an object is a frame with true at each leaf.
const frame = (claims) => Object.fromEntries(Object.entries(claims).map(([name, value]) => [name, value && typeof value === 'object' ? frame(value) : true]));
const vp_token = {};
for (const id of enough) {
  const { output } = matches.credential_matches[id].valid_credentials[0].claims.valid_claim_sets[0];
  const bound = { iat: Math.floor(Date.now() / 1000), aud: authorizationRequestPayload.client_id, nonce: authorizationRequestPayload.nonce };
  vp_token[id] = [await sdjwt.present(credential, frame(output), { kb: { payload: bound } })];
}
const encryption = { nonce: b64('a nonce of the wallet') };
const serverMetadata = { authorization_encryption_alg_values_supported: ['ECDH-ES'], authorization_encryption_enc_values_supported: ['A256GCM', 'A128GCM'] };
const made = await wallet.createOpenid4vpAuthorizationResponse({
  authorizationRequestPayload,
  authorizationResponsePayload: { vp_token },
  jarm: authorizationRequestPayload.response_mode === 'direct_post.jwt' ? { encryption, serverMetadata } : undefined,
});
const { responseMode, response } = await wallet.submitOpenid4vpAuthorizationResponse({ authorizationRequestPayload, ...made });
console.log(JSON.stringify({
  claims: collected.payload, verifier: verifier.effective ?? verifier.identifier, prefix: verifier.prefix, canBeSatisfied: matches.can_be_satisfied,
  shown: enough, responseMode, status: response.status, answer: await response.json(),
}));
