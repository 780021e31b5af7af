// Standard input: {"issuer", "resource", "clientId", "key": JWK, "url"}. Signs in with `oauth4webapi` as the client of the key, and asks `url`.
// Standard output: {"scope", "status", "claims", "broken", "resourceMetadata", "refused"}.
import { text } from "node:stream/consumers";
import * as oauth from "oauth4webapi";

const asked = JSON.parse(await text(process.stdin));
const insecure = { [oauth.allowInsecureRequests]: true };
const resource = new URL(asked.resource);
const protectedResource = await oauth.processResourceDiscoveryResponse(resource, await oauth.resourceDiscoveryRequest(resource, insecure));
const issuer = new URL(protectedResource.authorization_servers[0]);
if (issuer.origin !== new URL(asked.issuer).origin) throw new Error("another issuer");
const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
const as = await oauth.processDiscoveryResponse(new URL(asked.issuer), found);
const client = { client_id: asked.clientId };
const key = await crypto.subtle.importKey("jwk", asked.key, "Ed25519", false, ["sign"]);

async function grant(scope) {
  const parameters = new URLSearchParams({ scope, resource: asked.resource });
  const answer = await oauth.clientCredentialsGrantRequest(as, client, oauth.PrivateKeyJwt(key), parameters, insecure);
  return oauth.processClientCredentialsResponse(as, client, answer);
}

async function asking(token) {
  return oauth.protectedResourceRequest(token, "GET", new URL(asked.url), undefined, undefined, insecure);
}

const token = await grant("delegations:read");
const answer = await asking(token.access_token);
const request = new Request(asked.url, { headers: { authorization: `Bearer ${token.access_token}` } });
const claims = await oauth.validateJwtAccessToken(as, request, asked.resource, insecure);
let broken, refused;
try {
  await asking(`${token.access_token}A`);
} catch (error) {
  const { parameters } = error.cause.find(({ scheme }) => scheme === "bearer");
  broken = { error: parameters.error, resource_metadata: parameters.resource_metadata };
}
try {
  await grant("everything");
} catch (error) {
  refused = error.error;
}
const resourceMetadata = `${asked.issuer}/.well-known/oauth-protected-resource${resource.pathname}`;
process.stdout.write(JSON.stringify({ scope: token.scope, status: answer.status, claims, broken, resourceMetadata, refused }));
