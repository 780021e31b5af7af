// Standard input: {"url", "issuer", "tokens": {name: JWT}}. Verifies each with `jose` as a resource server does that knows the issuer and
// where its keys are. Standard output: {name: {"payload", "header"} or {"error": code}}.
import { text } from "node:stream/consumers";
import { createRemoteJWKSet, jwtVerify } from "jose";

const { url, issuer, tokens } = JSON.parse(await text(process.stdin));
const keys = createRemoteJWKSet(new URL(url));
const found = {};
for (const [name, token] of Object.entries(tokens)) {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys, { issuer, audience: issuer });
    found[name] = { payload, header: protectedHeader };
  } catch (error) {
    found[name] = { error: error.code };
  }
}
process.stdout.write(JSON.stringify(found));
