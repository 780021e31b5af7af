// In the place of `vc-test-suite-implementations`: one implementation, from the file that IMPLEMENTATION names.
import { readFileSync } from "node:fs";

export function filterByTag() {
  const settings = JSON.parse(readFileSync(process.env.IMPLEMENTATION, "utf8"));
  return { match: new Map([[settings.name, { settings }]]), nonMatch: new Map() };
}
