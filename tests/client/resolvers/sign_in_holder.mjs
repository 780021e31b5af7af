// Standard input, a line each: {"issuer", "resource", "clientId", "key": JWK, "redirectUri", "url"}, and the URL that the holder's browser
// came back to. Standard output, a line each: where her browser is to go, and {"scope", "status", "claims", "again"}.
import { createInterface } from "node:readline";
import * as oauth from "oauth4webapi";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const asked = JSON.parse((await lines.next()).value);
const insecure = { [oauth.allowInsecureRequests]: true };
const issuer = new URL(asked.issuer);
const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
const as = await oauth.processDiscoveryResponse(issuer, found);
const client = { client_id: asked.clientId };
const key = await crypto.subtle.importKey("jwk", asked.key, "Ed25519", false, ["sign"]);
const verifier = oauth.generateRandomCodeVerifier(), state = oauth.generateRandomState();
const place = new URL(as.authorization_endpoint);
place.search = new URLSearchParams({
  client_id: client.client_id,
  redirect_uri: asked.redirectUri,
  response_type: "code",
  scope: "delegations:read",
  resource: asked.resource,
  code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
  code_challenge_method: "S256",
  state,
});
console.log(place.href);
const parameters = oauth.validateAuthResponse(as, client, new URL((await lines.next()).value), state);

async function redeemed() {
  const answer = await oauth.authorizationCodeGrantRequest(as, client, oauth.PrivateKeyJwt(key), parameters, asked.redirectUri, verifier, insecure);
  return oauth.processAuthorizationCodeResponse(as, client, answer);
}

const token = await redeemed();
const request = new Request(asked.url, { headers: { authorization: `Bearer ${token.access_token}` } });
const claims = await oauth.validateJwtAccessToken(as, request, asked.resource, insecure);
const answer = await oauth.protectedResourceRequest(token.access_token, "GET", new URL(asked.url), undefined, undefined, insecure);
let again;
try {
  await redeemed();
} catch (error) {
  again = error.error;
}
console.log(JSON.stringify({ scope: token.scope, status: answer.status, claims, again }));
process.exit(0);
