// Standard input: {"url", "dids": [DID], "methods": [name]}. Resolves each DID over `url` as an application does that was told the address
// of a Universal Resolver: Veramo's driver, alone and below `did-resolver`. Standard output: {DID: {"driver", "resolver"}}.
import { text } from "node:stream/consumers";
import { getUniversalResolverFor } from "@veramo/did-resolver";
import { Resolver } from "did-resolver";

const { url, dids, methods } = JSON.parse(await text(process.stdin));
const drivers = getUniversalResolverFor(methods, url);
const resolver = new Resolver(drivers);
const found = {};
for (const did of dids) {
  const method = did.split(":")[1];
  found[did] = {
    driver: await drivers[method](did),
    resolver: await resolver.resolve(did),
  };
}
process.stdout.write(JSON.stringify(found));
